// Package supervisor tells the systemd that started this process how it is: ready, alive, stopping, and a line of
// text for a person. The protocol is one datagram of NAME=value lines to the socket that NOTIFY_SOCKET names (man
// sd_notify); a dozen lines of our own do it, where a library would open a socket for each and bring D-Bus along.
//
// It owns what each sign means. Ready: the database has confirmed this process life, and the HTTP interface
// listens. Alive: the loop has turned since the last sign. A loop that waits for an absent database turns, since a
// restart would bring no database; one that hangs in a decision or in code of ours does not, and is ended by
// systemd with the stacks of all goroutines in the journal. Stopping: the loop has ended. A drain is not yet an
// end: it takes as long as what is under way, and systemd would cut it off after TimeoutStopSec.
//
// It must never hold the process up, and never end it: without systemd it does nothing.
package supervisor
