// Package automation decides the device half: what a reading means, whether a rule fires, whether a command
// may be sent, and what became of it, all inside the message's own savepoint. Follow a reading through four
// steps: it is ingested (ingest.go, ordered by order.go), its rules are evaluated (evaluate.go, condition.go), its
// command is dispatched (dispatch.go, gates.go, wire.go), and answers, evidence and silence are reconciled
// (reconcile.go, evidence.go, timers.go). People come in by hand.go and configure.go.
//
// Every function takes the savepoint and facts and changes rows only through plant's moves. It never reads
// a clock, waits, or publishes: a publish is an action of the fence's commit, carried out by a worker.
//
// Correlation of what devices say, one test per row (TestCorrelation in package loop):
//
//	answer to                        becomes        moves
//	the current attempt              timely         yes
//	an earlier attempt, positive     timely         yes: one command id, one execution
//	an earlier attempt, negative     earlier        no: the current attempt is still out
//	an attempt that cannot be told   timely         negative after a later fence: uncertain
//	a command that said so before    duplicate      no
//	a command that has ended         late           no; contradicting it: contradiction
//	a command surely never sent      contradiction  no
//	no command of this device        foreign        no
package automation
