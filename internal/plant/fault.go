package plant

import "errors"

// FaultKind says what an error of the store means for the turn.
type FaultKind int

const (
	// FaultDoubt: the commit may or may not have happened. Settle it.
	FaultDoubt FaultKind = iota
	// FaultAway: the database cannot be reached or takes no writes (08, 57P, 53, 25006 before the commit was
	// sent); surely nothing was committed. Wait and reconnect.
	FaultAway
	// FaultAgain: serialisation failure, deadlock or lock timeout (40001, 40P01, 55P03); nothing was
	// committed. The same decision again.
	FaultAgain
	// FaultConflict: a guard hit 0 rows, or the data (22xxx) or a constraint (23xxx) refused. Nothing was
	// committed. Reload, decide once more, then one message at a time.
	FaultConflict
	// FaultFenced: another process life owns the database. End.
	FaultFenced
	// FaultRefused: the server's version or settings cannot keep the promise, or it is not ours to use. End; a
	// person has to change something.
	FaultRefused
	// FaultBug: more than one row, or the statement itself is wrong (42xxx). End.
	FaultBug
)

func (k FaultKind) String() string {
	return [...]string{"in doubt", "away", "again", "conflict", "fenced", "refused", "bug"}[k]
}

// Fault is the one error type of a store.
type Fault struct {
	Kind FaultKind
	Err  error
}

func (f *Fault) Error() string {
	if f.Kind == FaultRefused { // a word to a person, who has nothing of our classes
		return f.Err.Error()
	}
	return "store (" + f.Kind.String() + "): " + f.Err.Error()
}
func (f *Fault) Unwrap() error { return f.Err }

// FaultOf classifies an error of a store. An error that is no Fault leaves the outcome in doubt.
func FaultOf(err error) FaultKind {
	var f *Fault
	if errors.As(err, &f) {
		return f.Kind
	}
	return FaultDoubt
}

// Ends tells whether a process must end on this fault: waiting or deciding again cannot mend it.
func (k FaultKind) Ends() bool { return k == FaultFenced || k == FaultRefused || k == FaultBug }

// Settled is the answer to a commit in doubt.
type Settled int

const (
	// Lost: the batch was not committed and never will be.
	Lost Settled = iota
	// Stands: the batch is committed.
	Stands
	// TimeTravel: the database is neither before nor after the batch: a failover or a restore lost commits.
	TimeTravel
)
