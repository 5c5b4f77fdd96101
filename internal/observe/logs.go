package observe

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// logsRoom is how many turns may wait to be logged.
const logsRoom = 1024

// Logs writes one line for each stage of what was committed, with the ids of requirement D-20: eventId, ruleId,
// ruleExecutionId, commandIntentId, deviceCommandId, deviceId, serialNumber.
type Logs struct {
	log     *slog.Logger
	shown   chan plant.Committed
	dropped atomic.Int64

	mu      sync.Mutex
	serials map[term.DeviceID]string // bounded by the devices that there are
}

// NewLogs makes a feed of log lines; Run has to write them.
func NewLogs(log *slog.Logger) *Logs {
	return &Logs{log: log, shown: make(chan plant.Committed, logsRoom), serials: map[term.DeviceID]string{}}
}

// Learn tells the serial numbers of devices that were configured before this process began.
func (l *Logs) Learn(devices ...*plant.Device) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range devices {
		l.serials[d.ID] = d.Serial
	}
}

// Show takes a turn. It never waits: a log that cannot be written fast enough loses lines, and says how many.
func (l *Logs) Show(c plant.Committed) {
	select {
	case l.shown <- c:
	default:
		l.dropped.Add(1)
	}
}

// Run writes lines until the context ends, then those that wait.
func (l *Logs) Run(ctx context.Context) {
	for {
		select {
		case c := <-l.shown:
			l.write(c)
		case <-ctx.Done():
			for {
				select {
				case c := <-l.shown:
					l.write(c)
				default:
					l.sayDropped()
					return
				}
			}
		}
	}
}

func (l *Logs) sayDropped() {
	if n := l.dropped.Swap(0); n > 0 {
		l.log.Warn("the log was too slow; what happened is in the event log all the same", "turnsNotLogged", n)
	}
}

func (l *Logs) write(c plant.Committed) {
	l.sayDropped()
	t := turn{log: l.log, intents: map[term.IntentID]*plant.Intent{}}
	l.mu.Lock()
	for _, change := range c.Changes {
		switch r := change.After.(type) {
		case *plant.Intent:
			t.intents[r.ID] = r
		case *plant.Device:
			l.serials[r.ID] = r.Serial
		}
	}
	l.mu.Unlock()
	t.serial = func(id term.DeviceID) string {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.serials[id]
	}
	for _, change := range c.Changes {
		t.change(change)
	}
	for i := range c.Entries {
		t.entry(&c.Entries[i])
	}
	for _, count := range c.Counts {
		t.count(count)
	}
}

// turn writes the lines of one committed turn.
type turn struct {
	log     *slog.Logger
	intents map[term.IntentID]*plant.Intent // changed in this turn, to name what belongs to them
	serial  func(term.DeviceID) string
}

func (t turn) line(level slog.Level, stage string, k keys, more ...any) {
	if t.log.Enabled(context.Background(), level) {
		t.log.Log(context.Background(), level, stage, append(k.attrs(t.serial), more...)...)
	}
}

// change writes the stage that a changed row stands for.
func (t turn) change(c plant.Change) {
	if t.cell(c) {
		return
	}
	switch r := c.After.(type) {
	case *plant.Telemetry:
		t.line(slog.LevelDebug, "reading stored", keys{device: r.DeviceID}, "telemetryId", r.ID, "seq", r.Seq)
	case *plant.Event:
		level := slog.LevelDebug
		if r.Status == term.EventFailed {
			level = slog.LevelWarn
		}
		t.line(level, "endpoint event", keys{event: r.ID, device: r.DeviceID}, "endpoint", r.EndpointID, "status", r.Status,
			"reason", r.Reason, "value", r.Value.String())
	case *plant.Execution:
		t.execution(c, r)
	case *plant.Intent:
		t.intent(c, r)
	case *plant.Attempt:
		t.attempt(c, r)
	case *plant.Receipt:
		t.receipt(r)
	case *plant.Device:
		t.line(slog.LevelInfo, "device changed", keys{device: r.ID}, "move", c.Move, "status", r.Status, "bootId", r.BootID)
	case *plant.Hold:
		id, _ := strings.CutPrefix(r.Subject, plant.DeviceSubject(""))
		stage, level := "held", slog.LevelWarn
		if !r.Open() {
			stage, level = "hold released", slog.LevelInfo
		}
		if id == r.Subject {
			id = ""
		}
		t.line(level, stage, keys{device: term.DeviceID(id)}, "subject", r.Subject, "hold", r.Reason, "by", r.By, "why", r.Why,
			"endedBy", r.EndedBy, "endWhy", r.EndWhy)
	case *plant.Parked:
		t.line(slog.LevelWarn, "message parked", keys{}, "messageId", r.ID, "type", r.Type, "source", r.Source, "reason", r.Reason)
	}
}

// execution: a repeated verdict is a reading's business, a new one is news.
func (t turn) execution(c plant.Change, r *plant.Execution) {
	level := slog.LevelInfo
	switch {
	case r.Outcome == term.ExecutionFailed:
		level = slog.LevelWarn
	case c.Before != nil:
		level = slog.LevelDebug
	}
	event := r.EventID
	if c.Before != nil && r.LastEventID != "" {
		event = r.LastEventID
	}
	t.line(level, "rule verdict", t.named(r.IntentID, keys{event: event, rule: r.RuleID, execution: r.ID, device: deviceOf(r.TargetID)}),
		"source", r.Source, "endpoint", r.TargetID, "outcome", r.Outcome, "reason", r.Reason, "count", r.Count)
}

func (t turn) intent(c plant.Change, r *plant.Intent) {
	before, _ := c.Before.(*plant.Intent)
	var from term.CommandState
	level := slog.LevelInfo
	switch {
	case before != nil && before.State == r.State && before.WaitingFor == r.WaitingFor && before.AttemptNumber == r.AttemptNumber &&
		before.HoldsEndpoint == r.HoldsEndpoint:
		level = slog.LevelDebug // a timer was moved
	case r.State == term.Uncertain, r.State == term.Expired:
		level = slog.LevelWarn
	}
	if before != nil {
		from = before.State
	}
	t.line(level, "command", t.named(r.ID, keys{}), "move", c.Move, "from", from, "state", r.State, "endpoint", r.EndpointID,
		"target", r.TargetValue.String(), "waitingFor", r.WaitingFor, "attempt", r.AttemptNumber, "actor", r.Actor, "lastError", r.LastError,
		"holdsEndpoint", r.HoldsEndpoint, "possiblyExecuted", r.PossiblyExecuted)
}

func (t turn) attempt(c plant.Change, r *plant.Attempt) {
	stage, level := "attempt fenced", slog.LevelInfo
	if r.Outcome != term.AttemptOpen {
		stage = "attempt ended"
	}
	if r.Outcome == term.AttemptUnknown && !t.provenMeanwhile(r) {
		level = slog.LevelWarn
	}
	t.line(level, stage, t.named(r.IntentID, keys{command: r.CommandID}), "move", c.Move, "attemptId", r.ID, "attempt", r.Number,
		"outcome", r.Outcome, "topic", r.Topic, "qos", r.QoS, "error", r.Error)
}

// provenMeanwhile: the device's own word came before the broker's, so that nothing is in doubt.
func (t turn) provenMeanwhile(r *plant.Attempt) bool {
	i := t.intents[r.IntentID]
	return i != nil && (i.State == term.Acknowledged || i.State == term.Applied)
}

func (t turn) receipt(r *plant.Receipt) {
	level := slog.LevelInfo
	switch {
	case r.Correlation == term.CorrelationContradiction, r.Type == term.ReceiptTimeout:
		level = slog.LevelWarn
	case r.Type == term.ReceiptTelemetry:
		level = slog.LevelDebug
	}
	t.line(level, "receipt", t.named(r.IntentID, keys{device: r.DeviceID, serial: r.Serial}), "receiptId", r.ID, "type", r.Type,
		"correlation", r.Correlation, "correlationKey", r.CorrelationKey, "reason", r.Reason)
}

// entry writes what people asked for and what was refused or parked; the rest is in the lines of its rows.
func (t turn) entry(e *plant.Entry) {
	level := slog.LevelDebug
	switch {
	case e.Outcome == "parked":
		level = slog.LevelWarn
	case e.Actor != "", e.Outcome != "accepted", e.Type == "LinkChanged", e.Type == "ProcessStarted":
		level = slog.LevelInfo
	}
	k := keys{}
	if id, ok := strings.CutPrefix(e.Subject, "intent:"); ok {
		k = t.named(term.IntentID(id), k)
	}
	if id, ok := strings.CutPrefix(e.Subject, plant.DeviceSubject("")); ok {
		k.device = term.DeviceID(id)
	}
	t.line(level, "decided", k, "seq", e.Seq, "messageId", e.MessageID, "type", e.Type, "source", e.Source, "actor", e.Actor,
		"outcome", e.Outcome, "reason", e.Reason, "subject", e.Subject)
}

func (t turn) count(c plant.Count) {
	level := slog.LevelDebug
	if c.Name == "link" || c.Name == "input_rejected" {
		level = slog.LevelInfo
	}
	t.line(level, "counted", keys{}, "name", c.Name, "label", c.Label)
}

// keys are the ids of D-20; those that a stage has are written.
type keys struct {
	event     term.EventID
	rule      term.RuleID
	execution term.ExecutionID
	intent    term.IntentID
	command   term.CommandID
	device    term.DeviceID
	serial    string
}

// named adds what is known of a command; what the row itself says stands.
func (t turn) named(id term.IntentID, k keys) keys {
	k.intent = id
	i, ok := t.intents[id]
	if !ok {
		return k
	}
	fill(&k.event, i.EventID)
	fill(&k.rule, i.RuleID)
	fill(&k.execution, i.ExecutionID)
	fill(&k.command, i.CommandID)
	fill(&k.device, i.DeviceID)
	fill(&k.serial, i.Serial)
	return k
}

func fill[K ~string](k *K, v K) {
	if *k == "" {
		*k = v
	}
}

func (k keys) attrs(serial func(term.DeviceID) string) []any {
	if k.serial == "" && k.device != "" {
		k.serial = serial(k.device)
	}
	var attrs []any
	add := func(name, value string) {
		if value != "" {
			attrs = append(attrs, name, value)
		}
	}
	add("eventId", string(k.event))
	add("ruleId", string(k.rule))
	add("ruleExecutionId", string(k.execution))
	add("commandIntentId", string(k.intent))
	add("deviceCommandId", string(k.command))
	add("deviceId", string(k.device))
	add("serialNumber", k.serial)
	return attrs
}

func deviceOf(id term.EndpointID) term.DeviceID {
	device, _, _ := strings.Cut(string(id), "/")
	return term.DeviceID(device)
}
