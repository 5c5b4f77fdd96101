package looptest

import (
	"context"
	"slices"
	"time"

	"surehand/internal/loop"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Memory is one process's handle on a Database: a loop.Store. Opening another handle fences this one.
type Memory struct {
	db      *Database
	epoch   int64
	life    string
	stopped bool
}

var _ loop.Store = (*Memory)(nil)

// enter is what every call meets first: a database that is away, or a caller that has no time left.
func (m *Memory) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fault(plant.FaultAway, "no time left: %w", err)
	}
	if m.db.away > 0 {
		m.db.away--
		return fault(plant.FaultAway, "the database is away")
	}
	return nil
}

// owns tells whether this handle's life still owns the database.
func (m *Memory) owns() error {
	f := m.db.fence
	if m.stopped || f.Epoch != m.epoch || f.Life != m.life {
		return fault(plant.FaultFenced, "epoch %d of life %q owns the database, not epoch %d of life %q", f.Epoch, f.Life, m.epoch, m.life)
	}
	return nil
}

// Open starts a new epoch and fences every handle opened before.
func (m *Memory) Open(ctx context.Context, life string) (*plant.State, error) {
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	if m.epoch != 0 {
		return nil, fault(plant.FaultBug, "a handle is opened once")
	}
	f := m.db.fence
	f.Epoch++
	f.Life = life
	m.db.moveFence(f, true)
	m.db.drained = false
	m.epoch, m.life = f.Epoch, f.Life
	return m.db.load()
}

// Reload returns a fresh picture.
func (m *Memory) Reload(ctx context.Context) (*plant.State, error) {
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	if err := m.owns(); err != nil {
		return nil, err
	}
	return m.db.load()
}

// Known finds keys and commands, ended ones too.
func (m *Memory) Known(ctx context.Context, need message.Need) (message.Known, error) {
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return message.Known{}, err
	}
	known := message.Known{Keys: map[string]plant.MessageKey{}, Ends: map[term.OrderID]message.Ends{}, Pallets: map[term.PalletID]bool{}}
	for _, k := range need.Keys {
		if r, ok := m.db.rows[rowID{plant.KindKey, k}].(*plant.MessageKey); ok {
			known.Keys[k] = *r
		}
	}
	var ids []string
	for _, i := range need.Intents {
		ids = append(ids, string(i))
	}
	for _, c := range need.Commands {
		if id, ok := m.db.claims[claim{oneCommandID, string(c)}]; ok {
			ids = append(ids, id.key)
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if i, ok := m.db.rows[rowID{plant.KindIntent, id}].(*plant.Intent); ok {
			known.Intents = append(known.Intents, i)
		}
	}
	tasks := slices.Clone(need.Tasks)
	slices.Sort(tasks)
	for _, id := range slices.Compact(tasks) {
		if t, ok := m.db.rows[rowID{plant.KindTask, string(id)}].(*plant.Task); ok {
			known.Tasks = append(known.Tasks, t)
		}
	}
	for _, id := range need.Pallets {
		if _, ok := m.db.rows[rowID{plant.KindPallet, string(id)}]; ok {
			known.Pallets[id] = true
		}
	}
	for _, id := range need.Orders {
		if _, ok := m.db.rows[rowID{plant.KindOrder, string(id)}]; ok {
			known.Ends[id] = m.db.endsOf(id)
		}
	}
	return known, nil
}

// Commit writes the batch or meets the next fault.
func (m *Memory) Commit(ctx context.Context, b plant.Batch) error {
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return err
	}
	if err := m.owns(); err != nil {
		return err
	}
	switch f := m.db.nextFault(b); f.Mode {
	case FailBefore:
		return fault(plant.FaultAway, "injected: the connection broke before the commit was sent")
	case FailAfter:
		_ = m.db.write(b) // a refusal is lost with the reply as well; Settle finds out
		return fault(plant.FaultDoubt, "injected: the reply to the commit was lost")
	case FailLost:
		return fault(plant.FaultDoubt, "injected: the commit was lost")
	case Again:
		return fault(plant.FaultAgain, "injected: serialisation failure")
	case Conflict:
		return fault(plant.FaultConflict, "injected: a guard hit no row")
	case Late:
		m.db.late = append(m.db.late, b)
		return fault(plant.FaultDoubt, "injected: the commit hangs in the server")
	case Away:
		m.db.away = max(0, f.N-1)
		return fault(plant.FaultAway, "injected: the database is away")
	case Stale:
		m.db.goBack(f.N, m.db.lifeStart())
		return fault(plant.FaultDoubt, "injected: failover lost %d commits", f.N)
	}
	return m.db.write(b)
}

// Settle lets late commits land and tells the truth.
func (m *Memory) Settle(ctx context.Context, b plant.Batch) (plant.Settled, error) {
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return plant.Lost, err
	}
	m.db.land()
	if err := m.owns(); err != nil {
		return plant.Lost, err
	}
	switch m.db.fence {
	case b.After:
		return plant.Stands, nil
	case b.Before:
		return plant.Lost, nil
	}
	return plant.TimeTravel, nil
}

// NewGeneration is the answer to TimeTravel: from here on the numbers of the log mean something else. It
// returns the picture as the database has it.
func (m *Memory) NewGeneration(ctx context.Context) (*plant.State, error) {
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	if err := m.owns(); err != nil {
		return nil, err
	}
	f := m.db.fence
	f.Generation = m.db.nextGeneration()
	m.db.moveFence(f, false)
	hold := plant.TravelledHold(term.HoldID(plant.DerivedID(time.Time{}, "travelled", f.Generation)), time.Time{})
	if !m.db.heldAlready(hold) {
		m.db.put(nil, hold)
		last := &m.db.history[len(m.db.history)-1]
		last.Changes = append(last.Changes, plant.Change{Move: "PlaceHold", After: hold})
	}
	return m.db.load()
}

// Stop ends this life; the handle writes nothing more.
func (m *Memory) Stop(ctx context.Context, drained bool) error {
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	if err := m.enter(ctx); err != nil {
		return err
	}
	if err := m.owns(); err != nil {
		return err
	}
	m.stopped = true
	m.db.drained = drained
	return nil
}

// ReadRow finds one row, open or closed.
func (m *Memory) ReadRow(_ context.Context, kind plant.Kind, key string) (plant.Row, bool, error) {
	r, ok := m.db.Row(kind, key)
	return r, ok, nil
}

// ReadLog returns the entries of the current generation after seq.
func (m *Memory) ReadLog(_ context.Context, after int64) ([]plant.Entry, error) {
	var entries []plant.Entry
	generation := m.db.Fence().Generation
	for _, r := range m.db.Log() {
		if r.Generation == generation && r.Seq > after {
			entries = append(entries, r.Entry)
		}
	}
	return entries, nil
}
