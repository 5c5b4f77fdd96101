package simulator

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Truth is what really happened in one device, counted where it happened.
type Truth struct {
	Serial    string                  `json:"serial"`
	Class     Class                   `json:"class"`
	BootID    string                  `json:"bootId"`
	Boots     int                     `json:"boots"`
	Commands  map[string]CommandTruth `json:"commands"`
	Actuators map[string][]Change     `json:"actuators"` // real changes only, in order
	Readings  []ReadingTruth          `json:"readings"`
	Faults    map[string]int          `json:"faults"`  // how often each fault really struck
	Ignored   map[string]int          `json:"ignored"` // requests that could not be understood, by reason
	Forgotten int                     `json:"forgotten"`
}

// CommandTruth is the life of one commandId in the device.
type CommandTruth struct {
	Received       int            `json:"received"`       // copies that came off the wire, dropped ones included
	Dropped        int            `json:"dropped"`        // copies the drop fault hid from the device
	Attempts       []int          `json:"attempts"`       // as the copies named them; -1: none
	Executed       int            `json:"executed"`       // physical executions, whether or not a value changed
	ExecutedByBoot map[string]int `json:"executedByBoot"` // the same, by bootId
	ByActuator     map[string]int `json:"byActuator"`
	Accepted       int            `json:"accepted"` // accepting answers handed to the wire
	Answers        int            `json:"answers"`  // answers of every kind handed to the wire
	Reports        int            `json:"reports"`  // state reports with this commandId handed to the wire
	Status         string         `json:"status"`   // last result decided: rejected, succeeded or failed
	ResultCode     string         `json:"resultCode"`
	Tombstoned     bool           `json:"tombstoned"`
	FirstReceived  time.Time      `json:"firstReceived"`
	LastExecuted   time.Time      `json:"lastExecuted"`
}

// Change is one real change of an actuator.
type Change struct {
	At        time.Time `json:"at"`
	From      any       `json:"from"`
	To        any       `json:"to"`
	CommandID string    `json:"commandId,omitempty"` // empty: a hand at the device, or a reset at boot
	BootID    string    `json:"bootId"`
}

// ReadingTruth is one reading that was taken. (BootID, Seq) is its identity, even if it is not sent along.
type ReadingTruth struct {
	Seq    int64          `json:"seq"`
	BootID string         `json:"bootId"`
	TS     time.Time      `json:"ts"`
	Values map[string]any `json:"values"`
	Fault  string         `json:"fault,omitempty"` // how a message with it was spoilt or misdirected
	Acked  bool           `json:"acked"`           // the broker acknowledged a message with it
	Lost   string         `json:"lost,omitempty"`  // why it never left, as far as the device knows
}

// Kinds of Event.
const (
	eventBoot       = "boot"
	eventReceived   = "received"
	eventDropped    = "dropped"
	eventIgnored    = "ignored"
	eventFault      = "fault"
	eventExecuted   = "executed"
	eventChanged    = "changed"
	eventResult     = "result"
	eventTombstoned = "tombstoned"
	eventAnswered   = "answered"
	eventReported   = "reported"
	eventReading    = "reading"
	eventSpoilt     = "spoilt"
	eventAcked      = "acked"
	eventLost       = "lost"
)

// Event is one line of the truth log; a Truth is the sum of its events.
type Event struct {
	At        time.Time      `json:"at"`
	Serial    string         `json:"serial"`
	Kind      string         `json:"kind"`
	BootID    string         `json:"bootId,omitempty"`
	Class     Class          `json:"class,omitempty"`
	CommandID string         `json:"commandId,omitempty"`
	Attempt   *int           `json:"attempt,omitempty"`
	Actuators []string       `json:"actuators,omitempty"`
	From      any            `json:"from,omitempty"`
	To        any            `json:"to,omitempty"`
	Status    string         `json:"status,omitempty"`
	Code      string         `json:"code,omitempty"`
	Name      string         `json:"name,omitempty"` // of a fault, or a reason
	Seq       int64          `json:"seq,omitempty"`
	TS        time.Time      `json:"ts,omitzero"`
	Values    map[string]any `json:"values,omitempty"`
}

func newTruth(serial string) *Truth {
	return &Truth{
		Serial: serial, Commands: map[string]CommandTruth{}, Actuators: map[string][]Change{},
		Faults: map[string]int{}, Ignored: map[string]int{},
	}
}

// add folds one event in. It is the only way a Truth changes, in the device and when a log is read back.
func (t *Truth) add(e Event) {
	switch e.Kind {
	case eventBoot:
		t.BootID, t.Class = e.BootID, e.Class
		t.Boots++
	case eventIgnored:
		t.Ignored[e.Name]++
	case eventFault:
		t.Faults[e.Name]++
	case eventChanged:
		for _, a := range e.Actuators {
			t.Actuators[a] = append(t.Actuators[a], Change{At: e.At, From: e.From, To: e.To, CommandID: e.CommandID, BootID: e.BootID})
		}
	case eventReading:
		t.Readings = append(t.Readings, ReadingTruth{Seq: e.Seq, BootID: e.BootID, TS: e.TS, Values: e.Values})
	case eventSpoilt, eventAcked, eventLost:
		t.addReadingFate(e)
	default:
		c := t.Commands[e.CommandID]
		c.add(e)
		t.Commands[e.CommandID] = c
	}
}

func (c *CommandTruth) add(e Event) {
	switch e.Kind {
	case eventReceived:
		c.Received++
		attempt := -1
		if e.Attempt != nil {
			attempt = *e.Attempt
		}
		c.Attempts = append(c.Attempts, attempt)
		if c.FirstReceived.IsZero() {
			c.FirstReceived = e.At
		}
	case eventDropped:
		c.Dropped++
	case eventExecuted:
		c.Executed++
		c.LastExecuted = e.At
		if c.ExecutedByBoot == nil {
			c.ExecutedByBoot, c.ByActuator = map[string]int{}, map[string]int{}
		}
		c.ExecutedByBoot[e.BootID]++
		for _, a := range e.Actuators {
			c.ByActuator[a]++
		}
	case eventResult:
		c.Status, c.ResultCode = e.Status, e.Code
	case eventTombstoned:
		c.Tombstoned = true
	case eventAnswered:
		c.Answers++
		if e.Status == statusAccepted {
			c.Accepted++
		}
	case eventReported:
		c.Reports++
	}
}

// addReadingFate looks from the end: what happens to a reading happens soon after it was taken.
func (t *Truth) addReadingFate(e Event) {
	for i := len(t.Readings) - 1; i >= 0; i-- {
		r := &t.Readings[i]
		if r.Seq != e.Seq || r.BootID != e.BootID {
			continue
		}
		switch e.Kind {
		case eventSpoilt:
			r.Fault = e.Name
		case eventAcked:
			r.Acked = true
			r.Lost = ""
		case eventLost:
			if !r.Acked {
				r.Lost = e.Name
			}
		}
		return
	}
}

// trim forgets the oldest once a list holds twice its bound, so that trimming costs little.
func (t *Truth) trim(size int, oldestCommands func(n int) []string) {
	if len(t.Readings) > 2*size {
		t.Forgotten += len(t.Readings) - size
		t.Readings = slices.Clone(t.Readings[len(t.Readings)-size:])
	}
	for a, changes := range t.Actuators {
		if len(changes) > 2*size {
			t.Forgotten += len(changes) - size
			t.Actuators[a] = slices.Clone(changes[len(changes)-size:])
		}
	}
	if n := len(t.Commands); n > 2*size {
		for _, id := range oldestCommands(n - size) {
			t.Forgotten++
			delete(t.Commands, id)
		}
	}
}

func (t *Truth) clone() Truth {
	c := *t
	c.Commands = make(map[string]CommandTruth, len(t.Commands))
	for id, command := range t.Commands {
		command.Attempts = slices.Clone(command.Attempts)
		command.ExecutedByBoot = maps.Clone(command.ExecutedByBoot)
		command.ByActuator = maps.Clone(command.ByActuator)
		c.Commands[id] = command
	}
	c.Actuators = make(map[string][]Change, len(t.Actuators))
	for a, changes := range t.Actuators {
		c.Actuators[a] = slices.Clone(changes)
	}
	// A reading's Values are never written to again once it is recorded, so they may be shared.
	c.Readings = slices.Clone(t.Readings)
	c.Faults, c.Ignored = maps.Clone(t.Faults), maps.Clone(t.Ignored)
	return c
}

// recorder keeps one device's Truth, and hands each event to the log before it counts.
type recorder struct {
	mu      sync.Mutex
	truth   *Truth
	order   []string // commandIds, the first received first
	size    int
	log     *TruthLog
	changed chan struct{} // closed and replaced at each event
}

func newRecorder(serial string, size int, log *TruthLog) *recorder {
	return &recorder{truth: newTruth(serial), size: size, log: log, changed: make(chan struct{})}
}

// record is called before what the event speaks of can be seen outside the device.
func (r *recorder) record(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Serial = r.truth.Serial
	r.log.append(e)
	known := len(r.truth.Commands)
	r.truth.add(e)
	if len(r.truth.Commands) > known {
		r.order = append(r.order, e.CommandID)
	}
	r.truth.trim(r.size, func(n int) []string {
		oldest := r.order[:n]
		r.order = slices.Clone(r.order[n:])
		return oldest
	})
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) snapshot() (Truth, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.truth.clone(), r.changed
}

func (r *recorder) wait(ctx context.Context, until func(Truth) bool) error {
	for {
		truth, changed := r.snapshot()
		if until(truth) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
