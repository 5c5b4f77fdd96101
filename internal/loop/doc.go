// Package loop is the ProductionEventLoop: the one goroutine that decides and writes (K-1).
//
// A turn can be read top to bottom in turn.go: take what is queued, ask the store once, decide each message
// on its own savepoint, commit once, and only after a known commit release: replies, then the stream, then
// actions to workers. What is durable before what is visible is written there, beside the code that does it.
//
// The loop declares what it needs of the world (Store, Hands, Feed, Clock) and knows no implementation of
// it. It never waits for hardware or for a client. While the database is away it waits for the database and
// nothing is dispatched. In run.go and inbox.go alone are there goroutines and channels.
package loop
