// Package pgproxy stands between a PostgreSQL client and its server and can lose a COMMIT, or only the
// answer to it, in every way that a network can.
//
// It understands just enough of the protocol to see a COMMIT go by, as a simple query or as a prepared
// one, and to know when the server has answered it. A Trap waits for the next COMMIT and does one thing
// with it; everything else passes unchanged. Connections can be cut and refused at will, and all of it
// is counted and signalled, so that a test waits for what happened and never for a time.
//
// It is for tests and crash runs. It must never alter what it forwards, and it knows nothing of Surehand.
package pgproxy
