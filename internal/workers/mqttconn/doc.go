// Package mqttconn is one MQTT 5 connection to the broker, from CONNECT to its end, for drivers that must know what
// became of each publish.
//
// It owns the dial, the packets of one connection, and the answer to each publish: sent, surely not sent, or it may
// have left. Of paho it uses the client for CONNECT, keepalive and reading. Its session state is replaced (session.go),
// since that one resends by itself, acknowledges on a timer and leaves callers waiting.
//
// It must never send anything again, nor later than its caller allows right before the write, and it never dials by
// itself: who owns it asks first whether this process life goes on. A client id belongs to one process: a new one cuts
// off a forgotten one at the broker.
package mqttconn
