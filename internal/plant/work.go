package plant

import (
	"slices"
	"time"

	"surehand/internal/term"
)

// Mint draws what must not repeat or be guessed. It is an argument, so that a simulation owns the chance.
type Mint interface {
	// ID returns a new UUIDv7 for the given time.
	ID(now time.Time) string
	// Fraction returns a number in [0, 1).
	Fraction() float64
}

// Change is one row before and after one move. Before is nil for an insert. Rows are never deleted.
type Change struct {
	Move   string
	Before Row
	After  Row
}

// Note is a change as the event log keeps it.
type Note struct {
	Kind Kind   `json:"kind"`
	Key  string `json:"key"`
	Move string `json:"move"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// MaxNotes bounds the notes of one entry; an offline batch of readings may change more rows than that.
const MaxNotes = 64

// Entry is one row of the event log: one message that decided something. Seq is assigned by Keep.
type Entry struct {
	Seq           int64
	MessageID     term.MessageID
	Type          string
	Source        string
	Actor         string
	CorrelationID string
	CausationID   string
	At            time.Time // when it was decided
	CreatedAt     time.Time // when it was made
	Outcome       string    // accepted, refused, parked, failed
	Reason        string
	Subject       string // what it was about, for filters: "device:ID", "intent:ID" …
	Notes         []Note
	NotesLeftOut  int
}

// Publish is the one action of the device half: hand exactly these bytes to the broker, once.
type Publish struct {
	AttemptID   term.AttemptID
	IntentID    term.IntentID
	CommandID   term.CommandID
	DeviceID    term.DeviceID
	Serial      string
	Number      int
	Topic       string // below the prefix that the worker has been given
	Payload     []byte
	QoS         int
	Correlation string    // MQTT 5 correlation data
	FencedAt    time.Time // the turn's time: an action must not leave later than SendBefore after it
	DeadlineAt  time.Time // message expiry = time left until then
}

// Action is something a worker does after the commit of the row that it stands for.
type Action interface{ ActionKey() string }

func (p Publish) ActionKey() string { return "attempt:" + string(p.AttemptID) }

// Count is an input that was refused or dropped: counted, never a row of the event log.
type Count struct{ Name, Label string }

// Batch is what one commit writes: nothing of it is visible before, all of it after.
type Batch struct {
	Now           time.Time
	Before, After Fence
	Entries       []Entry
	Changes       []Change // folded: a row appears once, before the turn and after it
}

// Committed is what a turn made known, after its commit.
type Committed struct {
	Fence   Fence
	At      time.Time
	Entries []Entry
	Changes []Change
	Counts  []Count
}

// Work is one turn on the picture: write-through, with an undo journal.
type Work struct {
	state   *State
	session *Session
	mint    Mint
	now     time.Time

	journal []Change
	entries []Entry
	actions []Action
	counts  []Count
	seq     int64
	open    bool // a savepoint is open

	// Commands that left the picture, or were looked up outside it: late answers are matched here.
	closed          map[term.IntentID]*Intent
	closedByCommand map[term.CommandID]term.IntentID
	closedTasks     map[term.TaskID]*Task
	keys            map[string]bool // remembered in this turn
	evaluated       int
	evaluating      term.EventID
	events          map[term.EventID]bool // recorded in this turn
	touched         bool                  // something that the scheduler looks at changed in this turn
}

// Begin starts a turn. now is the turn's one time; known and tasks are ended commands and tasks that the store was
// asked for.
func (s *State) Begin(now time.Time, mint Mint, session *Session, known []*Intent, tasks []*Task) *Work {
	w := &Work{state: s, session: session, mint: mint, now: Micros(now), seq: s.fence.Seq,
		closed: map[term.IntentID]*Intent{}, closedByCommand: map[term.CommandID]term.IntentID{},
		closedTasks: map[term.TaskID]*Task{}, keys: map[string]bool{}, events: map[term.EventID]bool{}}
	for _, i := range known {
		if _, open := s.intents[i.ID]; !open {
			w.closed[i.ID] = i
			w.closedByCommand[i.CommandID] = i.ID
		}
	}
	for _, t := range tasks {
		if _, open := s.tasks[t.ID]; !open {
			w.closedTasks[t.ID] = t
		}
	}
	return w
}

// Tx is the savepoint of one message.
type Tx struct {
	w        *Work
	mark     int // journal length at the start
	actions  int
	counts   int
	receipts []*Receipt // kept also when the message is refused
}

// Tx opens the savepoint of the next message; Keep or Drop must close it first.
func (w *Work) Tx() *Tx {
	if w.open {
		broken(12, "a savepoint is still open")
	}
	w.open = true
	return &Tx{w: w, mark: len(w.journal), actions: len(w.actions), counts: len(w.counts)}
}

// Keep closes a savepoint whose message decided something and gives it the next seq.
func (w *Work) Keep(tx *Tx, e Entry) Entry {
	w.seq++
	e.Seq = w.seq
	e.At = w.now
	e.Actor, e.Reason, e.Subject = Printable(e.Actor), Printable(e.Reason), Printable(e.Subject)
	e.CorrelationID, e.CausationID = Printable(e.CorrelationID), Printable(e.CausationID)
	for _, c := range w.journal[tx.mark:] {
		n, worth := noteOf(c)
		if !worth {
			continue
		}
		if len(e.Notes) == MaxNotes {
			e.NotesLeftOut++
			continue
		}
		e.Notes = append(e.Notes, n)
	}
	w.entries = append(w.entries, e)
	w.open = false
	return e
}

// Close closes a savepoint whose message decided nothing worth a log row (a plain reading).
func (w *Work) Close(*Tx) { w.open = false }

// Drop undoes the changes and actions of a savepoint and keeps its receipts and counts: what a device said
// stays on record even when it was refused. The savepoint stays open for Keep or Close.
func (w *Work) Drop(tx *Tx) {
	w.undo(tx.mark)
	w.actions = w.actions[:tx.actions]
	kept := tx.receipts
	tx.receipts = nil
	for _, r := range kept {
		r2 := *r
		r2.IntentID = w.knownIntent(r.IntentID)
		tx.RecordReceipt(r2)
	}
}

// Abandon undoes everything of a savepoint, receipts and counts too, and closes it: after a panic.
func (w *Work) Abandon(tx *Tx) {
	w.undo(tx.mark)
	w.actions = w.actions[:tx.actions]
	w.counts = w.counts[:tx.counts]
	w.open = false
}

// knownIntent is empty for an intent that the dropped savepoint itself had created.
func (w *Work) knownIntent(id term.IntentID) term.IntentID {
	if _, ok := w.state.intents[id]; ok {
		return id
	}
	if _, ok := w.closed[id]; ok {
		return id
	}
	return ""
}

func (w *Work) undo(mark int) {
	for i := len(w.journal) - 1; i >= mark; i-- {
		w.apply(w.journal[i].After, w.journal[i].Before)
	}
	w.journal = w.journal[:mark]
}

// apply puts a change into the picture and into the overlay of closed commands.
func (w *Work) apply(before, after Row) {
	w.state.replace(before, after)
	if e, ok := after.(*Event); ok && e != nil && before == nil {
		w.events[e.ID] = true
	}
	if e, ok := before.(*Event); ok && e != nil && after == nil {
		delete(w.events, e.ID)
	}
	if k, ok := before.(*MessageKey); ok && k != nil {
		delete(w.keys, k.ID)
	}
	if k, ok := after.(*MessageKey); ok && k != nil {
		w.keys[k.ID] = true
	}
	if t, ok := before.(*Task); ok && t != nil {
		delete(w.closedTasks, t.ID)
	}
	if t, ok := after.(*Task); ok && t != nil && !t.Open() {
		w.closedTasks[t.ID] = t
	}
	if i, ok := before.(*Intent); ok && i != nil {
		delete(w.closed, i.ID)
		delete(w.closedByCommand, i.CommandID)
	}
	if i, ok := after.(*Intent); ok && i != nil && !i.Open() {
		w.closed[i.ID] = i
		w.closedByCommand[i.CommandID] = i.ID
	}
}

// Rollback undoes the whole turn.
func (w *Work) Rollback() {
	w.undo(0)
	w.entries, w.actions, w.counts, w.open = nil, nil, nil, false
}

// Empty tells whether there is nothing to commit.
func (w *Work) Empty() bool { return len(w.journal) == 0 && len(w.entries) == 0 }

// NextSeq is the seq that the next kept message gets.
func (w *Work) NextSeq() int64 { return w.seq + 1 }

// Batch is what the turn has to write.
func (w *Work) Batch() Batch {
	before := w.state.fence
	after := before
	after.Seq = w.seq
	after.Turn++
	return Batch{Now: w.now, Before: before, After: after, Entries: w.entries, Changes: fold(w.journal)}
}

// Accept makes the turn's fence the picture's, after a known commit, and returns what may now be shown and
// started.
func (w *Work) Accept(b Batch) (Committed, []Action) {
	w.state.fence = b.After
	return Committed{Fence: b.After, At: b.Now, Entries: b.Entries, Changes: b.Changes, Counts: w.counts}, w.actions
}

// Counts of a turn that had nothing to commit.
func (w *Work) Counts() []Count { return w.counts }

// fold makes one change of all changes of a row in a turn: first before, last after. The order is that of
// the first change of each row.
func fold(journal []Change) []Change {
	type id struct {
		kind Kind
		key  string
	}
	at := make(map[id]int, len(journal))
	folded := make([]Change, 0, len(journal))
	for _, c := range journal {
		k := id{c.After.Kind(), c.After.Key()}
		if i, ok := at[k]; ok {
			folded[i].After = c.After
			folded[i].Move = c.Move
			continue
		}
		at[k] = len(folded)
		folded = append(folded, c)
	}
	return folded
}

func noteOf(c Change) (Note, bool) {
	n := Note{Kind: c.After.Kind(), Key: c.After.Key(), Move: c.Move, To: stateWord(c.After)}
	if c.Before != nil {
		n.From = stateWord(c.Before)
	}
	switch c.After.(type) {
	case *Telemetry, *Endpoint, *MessageKey: // found through the event and the message; not worth a note each
		return n, false
	}
	return n, true
}

// stateWord is the one word that says where a row stands.
func stateWord(r Row) string {
	switch r := r.(type) {
	case *Device:
		return string(r.Status)
	case *Event:
		return string(r.Status)
	case *Execution:
		return string(r.Outcome)
	case *Intent:
		return string(r.State)
	case *Attempt:
		return string(r.Outcome)
	case *Receipt:
		return string(r.Correlation)
	case *Hold:
		if r.Open() {
			return "held"
		}
		return "released"
	case *Order:
		return string(r.State)
	case *Job:
		return string(r.State)
	case *Slot:
		return string(r.State)
	case *Equipment:
		return string(r.Status)
	case *Task:
		return string(r.State)
	case *Question:
		return string(r.State)
	case *Alarm:
		return string(r.State)
	}
	return ""
}

// put records a change. A row that breaks the law is a bug of ours: invariant 6 or 8 of docs/invariants.md.
func (tx *Tx) put(move string, before, after Row) {
	if err := Lawful(after); err != nil {
		broken(6, "%s: %v", move, err)
	}
	tx.w.journal = append(tx.w.journal, Change{Move: move, Before: before, After: after})
	switch after.Kind() {
	case KindCell, KindRoute, KindEquipment, KindPallet, KindOrder, KindSlot, KindJob, KindTask, KindQuestion, KindHold:
		tx.w.touched = true
	}
	tx.w.apply(before, after)
}

// TouchCell says that the scheduler has to look again although no row changed: a session fact did.
func (tx *Tx) TouchCell() { tx.w.touched = true }

// CellTouched tells whether the scheduler has to look in this turn, and forgets it.
func (w *Work) CellTouched() bool {
	touched := w.touched
	w.touched = false
	return touched
}

// State is the picture as this message sees it.
func (tx *Tx) State() *State { return tx.w.state }

// Session holds the facts of this process life.
func (tx *Tx) Session() *Session { return tx.w.session }

// Now is the turn's time.
func (tx *Tx) Now() time.Time { return tx.w.now }

// NewID mints an id.
func (tx *Tx) NewID() string { return tx.w.mint.ID(tx.w.now) }

// Fraction draws a number in [0, 1) for jitter.
func (tx *Tx) Fraction() float64 { return tx.w.mint.Fraction() }

// Start adds an action that is handed out after the commit.
func (tx *Tx) start(a Action) { tx.w.actions = append(tx.w.actions, a) }

// Count counts an input that changed nothing.
func (tx *Tx) Count(name, label string) { tx.w.counts = append(tx.w.counts, Count{name, label}) }

// Changed tells whether the message changed any row so far.
func (tx *Tx) Changed() bool { return len(tx.w.journal) > tx.mark }

// Decided tells whether the message changed more than what was observed: then it is a row of the event log.
func (tx *Tx) Decided() bool {
	for _, c := range tx.w.journal[tx.mark:] {
		switch c.After.Kind() {
		case KindTelemetry, KindEvent, KindEndpoint, KindReceipt, KindKey:
		case KindExecution:
			if c.Move != "RepeatExecution" {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// ChangedKind tells whether the message changed a row of one of the kinds.
func (tx *Tx) ChangedKind(kinds ...Kind) bool {
	for _, c := range tx.w.journal[tx.mark:] {
		if slices.Contains(kinds, c.After.Kind()) {
			return true
		}
	}
	return false
}

// KeyRemembered tells whether an earlier message of this turn, or this one, remembered a key.
func (tx *Tx) KeyRemembered(id string) bool { return tx.w.keys[id] }

// MayEvaluate tells whether one more event may be evaluated in this turn, counts it, and notes it as the one at
// work.
func (tx *Tx) MayEvaluate(id term.EventID) bool {
	tx.w.evaluated++
	tx.w.evaluating = id
	return tx.w.evaluated <= MaxEventsPerTurn
}

// Evaluating is the event at work, or the last one that was: the one at fault when a decider breaks.
func (w *Work) Evaluating() term.EventID { return w.evaluating }

// HasEvent tells whether an event is recorded in this turn or still pending from an earlier one.
func (tx *Tx) HasEvent(id term.EventID) bool {
	_, pending := tx.w.state.events[id]
	return pending || tx.w.events[id]
}

// FindIntent finds a command, open or ended: in the picture, or among those that this turn knows.
func (tx *Tx) FindIntent(id term.IntentID) (*Intent, bool) {
	if i, ok := tx.w.state.intents[id]; ok {
		return i, true
	}
	i, ok := tx.w.closed[id]
	return i, ok
}

// FindCommand finds a command by its id on the wire, open or ended.
func (tx *Tx) FindCommand(id term.CommandID) (*Intent, bool) {
	if i, ok := tx.w.state.IntentByCommand(id); ok {
		return i, true
	}
	return tx.FindIntent(tx.w.closedByCommand[id])
}

// FindTask finds a task, open or ended: in the picture, or among those that this turn knows.
func (tx *Tx) FindTask(id term.TaskID) (*Task, bool) {
	if t, ok := tx.w.state.tasks[id]; ok {
		return t, true
	}
	t, ok := tx.w.closedTasks[id]
	return t, ok
}
