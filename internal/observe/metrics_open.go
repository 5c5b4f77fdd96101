package observe

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"surehand/internal/term"
)

// open are the rows of one kind that are open, with what is shown of each. It is fed by turns, and by what was there
// before the first turn; the two may come in any order.
type open[V any] struct {
	mu   sync.Mutex
	byID map[string]openRow[V]
	gone map[string]int64 // versions of rows that ended before loaded, so that load does not bring them back
}

type openRow[V any] struct {
	version int64
	shown   V
}

func (o *open[V]) begin() { o.byID, o.gone = map[string]openRow[V]{}, map[string]int64{} }

// put takes a row as a turn left it.
func (o *open[V]) put(id string, version int64, isOpen bool, shown V) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if isOpen {
		o.byID[id] = openRow[V]{version, shown}
		return
	}
	delete(o.byID, id)
	if o.gone != nil {
		o.gone[id] = version
	}
}

// load takes an open row as it was read from the database.
func (o *open[V]) load(id string, version int64, shown V) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, ok := o.byID[id]; ok && known.version >= version || o.gone[id] >= version {
		return
	}
	o.byID[id] = openRow[V]{version, shown}
}

func (o *open[V]) loaded() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.gone = nil
}

func (o *open[V]) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.byID)
}

// openCommands are the commands of the picture by state and by what they wait for.
type openCommands struct{ open[openCommand] }

type openCommand struct {
	state   term.CommandState
	waiting term.Gate
}

var (
	commandsDesc = prometheus.NewDesc("surehand_commands", "Open commands, by state; an expired one is open while it holds its endpoint.", []string{"state"}, nil)
	waitingDesc  = prometheus.NewDesc("surehand_commands_waiting", "Commands that wait for a gate, by gate: the backlog.", []string{"gate"}, nil)
)

func (o *openCommands) Describe(descs chan<- *prometheus.Desc) {
	descs <- commandsDesc
	descs <- waitingDesc
}

func (o *openCommands) Collect(metrics chan<- prometheus.Metric) {
	states, gates := map[term.CommandState]int{}, map[term.Gate]int{}
	o.mu.Lock()
	for _, c := range o.byID {
		states[c.shown.state]++
		if c.shown.waiting != term.GateNone {
			gates[c.shown.waiting]++
		}
	}
	o.mu.Unlock()
	for _, s := range term.CommandStates() {
		if s == term.Applied || s == term.Failed {
			continue // these are never open
		}
		metrics <- prometheus.MustNewConstMetric(commandsDesc, prometheus.GaugeValue, float64(states[s]), string(s))
	}
	for _, g := range term.WaitingGates() {
		metrics <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(gates[g]), string(g))
	}
}
