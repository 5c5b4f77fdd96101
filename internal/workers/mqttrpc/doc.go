// Package mqttrpc speaks the device wire contract over MQTT 5: telemetry, answers, state and status come in,
// commands go out.
//
// It owns three connections, each on its own client id: telemetry and answers with sessions that outlive us,
// commands with a clean start and no store, so that nothing is ever sent again behind the loop's back. A new
// process with the same installation id cuts off a forgotten one at the broker.
//
// Every message is parsed and bounded here, posted to the loop, and acknowledged to the broker only after the
// loop's answer, which follows its commit. While the loop answers nothing, the broker holds back at the
// Receive Maximum. A marker that we publish to ourselves tells when what had queued has come in.
//
// A connection is mqttconn's. autopaho is not used: it hides on which connection a call runs.
//
// Nothing here decides, retries a command, or remembers one.
package mqttrpc
