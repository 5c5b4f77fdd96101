// Package opcua carries the two blocks of the handshake over OPC UA, as variables of one machine (docs/drivers.md).
//
// It owns the client library (nothing else imports it), channel and session, and what a value must be to count. One
// value of OPC UA is read and written as a whole, so an array keeps together what belongs together, which a node for each
// word would not. go and done_ack are nodes of their own: a write of go that comes late carries no number, and the
// withdrawal of the handshake depends on that.
//
// It polls, and does not subscribe: a subscription can fall silent while its session is well, and then looks like a
// machine on which nothing changes. A poll is answered, or is not. The command block is read before the status block, in
// two requests: within one the order is the server's own, and a status that is older than go = 0 proves nothing. Silence,
// and a heartbeat that stands still, cost the session its place (Usable): a new one is made from the socket up.
//
// It must never repeat a request, mend a session by itself, use an index of a namespace on another connection than the
// one it was read on, or take a value whose status is not good. It must never wait for a server that closes slowly.
//
// The library encodes requests and names statuses. The channel (channel.go) and what takes answers apart (answer.go) are
// our own: the library decodes in a goroutine that nobody can guard, and believes the lengths it is sent, so a server could
// end the process. Here an answer that cannot be read is an error, and costs the connection.
package opcua
