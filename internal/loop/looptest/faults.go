package looptest

import "surehand/internal/plant"

// Mode is one way in which a commit goes wrong.
type Mode int

const (
	None       Mode = iota // it works
	FailBefore             // surely nothing is written: FaultAway
	FailAfter              // it is written and the reply is lost: FaultDoubt, Settle says Stands
	FailLost               // it is not written and nobody says so: FaultDoubt, Settle says Lost
	Again                  // FaultAgain, nothing is written
	Conflict               // FaultConflict although the guards hold, nothing is written
	Late                   // FaultDoubt now; it lands when Settle is called, or Land
	Away                   // FaultAway for this and the next N-1 calls of any kind
	Stale                  // the database loses its last N commits and this one: FaultDoubt, Settle says TimeTravel
)

func (m Mode) String() string {
	return [...]string{"none", "fail before", "fail after", "fail lost", "again", "conflict", "late", "away", "stale"}[m]
}

// Fault is what one commit meets. N is for Away and Stale. A Stale fault goes back to the start of the current
// process life at most: a live process cannot meet a database from before its own epoch without being fenced.
type Fault struct {
	Mode Mode
	N    int
}

// Script queues what the next commits meet, one each; after them commits work again.
func (db *Database) Script(faults ...Fault) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.script = append(db.script, faults...)
}

// Draw asks draw for each commit that the script does not cover; nil stops that. draw must not call the
// database.
func (db *Database) Draw(draw func(plant.Batch) Fault) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.draw = draw
}

// Heal drops scripted and drawn faults and brings the database back. Late commits stay under way.
func (db *Database) Heal() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.script, db.draw, db.away = nil, nil, 0
}

// Land lets late commits land now, as long as the fence still lets them: before another process opens, say.
func (db *Database) Land() {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.land()
}

// land writes what is late. A late commit whose fence has moved on hits no row, as in PostgreSQL.
func (db *Database) land() {
	for _, b := range db.late {
		_ = db.write(b)
	}
	db.late = nil
}

func (db *Database) nextFault(b plant.Batch) Fault {
	if len(db.script) > 0 {
		f := db.script[0]
		db.script = db.script[1:]
		return f
	}
	if db.draw != nil {
		return db.draw(b)
	}
	return Fault{}
}
