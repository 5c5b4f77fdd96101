package looptest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// LogRow is one row of the event log.
type LogRow struct {
	Generation string
	plant.Entry
}

// Commit is one commit that the database still has. Changes are those that were written: an ignored insert is
// not among them.
type Commit struct {
	Before, After plant.Fence
	Now           time.Time
	Entries       []plant.Entry
	Changes       []plant.Change
}

// step is one move of the fence row: a commit of the loop, or a start, a stop or a new generation.
type step struct {
	Commit
	start bool // a process life begins here
	batch bool // a commit of the loop
	log   int  // length of the log before it
}

// Database is what all handles share. Its methods may be called from any goroutine.
type Database struct {
	mu          sync.Mutex
	fence       plant.Fence
	generations int // made so far; a restore does not take it back
	rows        map[rowID]plant.Row
	open        map[rowID]plant.Row
	claims      map[claim]rowID
	attempts    map[term.IntentID][]term.AttemptID
	jobs        map[term.OrderID][]term.JobID
	log         []LogRow
	history     []step
	commits     int // of the loop, in history
	// classes counts how often each device was written with each class: what was allowed then is not judged now.
	classes map[term.DeviceID]map[term.DeviceClass]int
	drained bool // the last life stopped and had written everything

	script []Fault
	draw   func(plant.Batch) Fault
	away   int
	late   []plant.Batch
}

// NewDatabase is an empty, migrated database.
func NewDatabase() *Database {
	db := &Database{rows: map[rowID]plant.Row{}, open: map[rowID]plant.Row{}, claims: map[claim]rowID{},
		attempts: map[term.IntentID][]term.AttemptID{}, jobs: map[term.OrderID][]term.JobID{}, classes: map[term.DeviceID]map[term.DeviceClass]int{}}
	db.fence = plant.Fence{Installation: plant.DerivedID(time.Time{}, "installation"), Generation: db.nextGeneration()}
	return db
}

func (db *Database) nextGeneration() string {
	db.generations++
	return plant.DerivedID(time.Time{}, "generation", strconv.Itoa(db.generations))
}

// Store is a new handle: what another process would hold.
func (db *Database) Store() *Memory { return &Memory{db: db} }

// Fence is the stored fence row.
func (db *Database) Fence() plant.Fence {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.fence
}

// Drained tells whether the last process life ended cleanly with everything written.
func (db *Database) Drained() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.drained
}

// Rows are all rows, closed ones too, in the order of plant.Kinds and by key.
func (db *Database) Rows() []plant.Row {
	db.mu.Lock()
	defer db.mu.Unlock()
	return sorted(db.rows)
}

// Row finds one row, open or closed.
func (db *Database) Row(kind plant.Kind, key string) (plant.Row, bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	r, ok := db.rows[rowID{kind, key}]
	return r, ok
}

// Intents are all commands, ended ones too, by id.
func (db *Database) Intents() []*plant.Intent {
	db.mu.Lock()
	defer db.mu.Unlock()
	var all []*plant.Intent
	for _, r := range db.rows {
		if i, ok := r.(*plant.Intent); ok {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b *plant.Intent) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Log is the event log.
func (db *Database) Log() []LogRow {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Clone(db.log)
}

// History is every commit of the loop that the database still has, oldest first.
func (db *Database) History() []Commit {
	db.mu.Lock()
	defer db.mu.Unlock()
	var all []Commit
	for _, s := range db.history {
		if s.batch {
			all = append(all, s.Commit)
		}
	}
	return all
}

// Restore puts a backup back: the database loses its last commits, starts of processes among them included.
// It returns how many commits of the loop were lost.
func (db *Database) Restore(commits int) int {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.goBack(commits, 0)
}

// goBack undoes commits until n are undone or the history has only floor steps left.
func (db *Database) goBack(n, floor int) int {
	undone := 0
	for undone < n && len(db.history) > floor {
		last := db.history[len(db.history)-1]
		db.history = db.history[:len(db.history)-1]
		for _, c := range last.Changes {
			db.release(c.After)
		}
		for _, c := range slices.Backward(last.Changes) {
			db.put(c.After, c.Before)
			db.countClass(c.After, -1)
		}
		db.log = db.log[:last.log]
		db.fence = last.Before
		if last.batch {
			undone++
			db.commits--
		}
	}
	return undone
}

// lifeStart is the length of the history right after the start of the current process life.
func (db *Database) lifeStart() int {
	for n := len(db.history); n > 0; n-- {
		if db.history[n-1].start {
			return n
		}
	}
	return 0
}

// moveFence writes the fence row outside a commit of the loop.
func (db *Database) moveFence(after plant.Fence, start bool) {
	db.history = append(db.history, step{Commit: Commit{Before: db.fence, After: after}, start: start, log: len(db.log)})
	db.fence = after
}

// load builds the picture from the open rows.
func (db *Database) load() (*plant.State, error) {
	s, err := plant.Load(db.fence, sorted(db.open))
	if err != nil {
		return nil, &plant.Fault{Kind: plant.FaultBug, Err: err}
	}
	return s, nil
}

// write is the one transaction: everything is checked first, then everything is written.
func (db *Database) write(b plant.Batch) error {
	if err := db.checkFence(b); err != nil {
		return err
	}
	written, err := db.checkRows(b.Changes)
	if err != nil {
		return err
	}
	if err := db.checkClaims(written); err != nil {
		return err
	}
	db.history = append(db.history, step{batch: true, log: len(db.log), Commit: Commit{
		Before: b.Before, After: b.After, Now: b.Now, Entries: b.Entries, Changes: written}})
	for _, c := range written {
		if c.Before != nil {
			db.release(c.Before)
		}
	}
	for _, c := range written {
		db.put(c.Before, c.After)
		db.countClass(c.After, 1)
	}
	for _, e := range b.Entries {
		db.log = append(db.log, LogRow{Generation: b.After.Generation, Entry: e})
	}
	db.fence = b.After
	db.commits++
	return nil
}

func (db *Database) countClass(r plant.Row, n int) {
	d, ok := r.(*plant.Device)
	if !ok {
		return
	}
	if db.classes[d.ID] == nil {
		db.classes[d.ID] = map[term.DeviceClass]int{}
	}
	if db.classes[d.ID][d.Class] += n; db.classes[d.ID][d.Class] == 0 {
		delete(db.classes[d.ID], d.Class)
	}
}

// put stores after in the place of before and takes its claims; those of before are released already.
func (db *Database) put(before, after plant.Row) {
	if after == nil {
		id := idOf(before)
		delete(db.rows, id)
		delete(db.open, id)
		switch r := before.(type) {
		case *plant.Attempt:
			db.attempts[r.IntentID] = without(db.attempts[r.IntentID], r.ID)
		case *plant.Job:
			db.jobs[r.OrderID] = without(db.jobs[r.OrderID], r.ID)
		}
		return
	}
	id := idOf(after)
	db.rows[id] = after
	delete(db.open, id)
	if after.Open() {
		db.open[id] = after
	}
	if before == nil {
		switch r := after.(type) {
		case *plant.Attempt:
			db.attempts[r.IntentID] = append(db.attempts[r.IntentID], r.ID)
		case *plant.Job:
			db.jobs[r.OrderID] = append(db.jobs[r.OrderID], r.ID)
		}
	}
	for _, c := range claimsOf(after) {
		db.claims[c] = id
	}
}

func without[K comparable](list []K, k K) []K {
	at := slices.Index(list, k)
	return slices.Delete(slices.Clone(list), at, at+1)
}

func (db *Database) release(r plant.Row) {
	for _, c := range claimsOf(r) {
		delete(db.claims, c)
	}
}

type rowID struct {
	kind plant.Kind
	key  string
}

func (id rowID) String() string { return fmt.Sprintf("%s %s", id.kind, id.key) }

func idOf(r plant.Row) rowID { return rowID{r.Kind(), r.Key()} }

// kindRank is the place of each kind in the order in which a batch writes them.
var kindRank = func() map[plant.Kind]int {
	rank := map[plant.Kind]int{}
	for i, k := range plant.Kinds() {
		rank[k] = i
	}
	return rank
}()

func sorted(rows map[rowID]plant.Row) []plant.Row {
	return slices.SortedFunc(maps.Values(rows), func(a, b plant.Row) int {
		return cmp.Or(cmp.Compare(kindRank[a.Kind()], kindRank[b.Kind()]), cmp.Compare(a.Key(), b.Key()))
	})
}
