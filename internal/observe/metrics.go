package observe

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// Health is what the loop tells about itself when the metrics are read, without waiting.
type Health struct {
	LastTurn                          time.Time
	DatabaseAway                      bool
	Person, Worker, Device, Telemetry int64 // undecided messages by source
}

// Metrics counts what was committed. Labels take only words of our own vocabulary, so that nothing from outside
// can make a series.
type Metrics struct {
	registry *prometheus.Registry
	commands openCommands
	asked    open[struct{}] // questions

	readings, events, turns, timeouts, retries, uncertain  prometheus.Counter
	finished, verdicts, dispatch, ended, receipts, answers *prometheus.CounterVec
	rejected, ignored, stale, logRows, holds, uncounted    *prometheus.CounterVec
	ackLatency, appliedLatency, batch                      prometheus.Histogram
	actions, parts, questions, alarms                      *prometheus.CounterVec
	links                                                  *prometheus.GaugeVec
	epoch, seq                                             prometheus.Gauge
}

// latencies are buckets from a local broker's milliseconds to the deadline of a command.
var latencies = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// NewMetrics makes a registry of its own. health may be nil.
func NewMetrics(version string, health func() Health) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry()}
	m.commands.begin()
	m.asked.begin()
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &m.commands)

	m.readings = m.counter("readings_total", "Readings stored.")
	m.events = m.counter("endpoint_events_total", "Endpoint events stored: the ingest rate.")
	m.finished = m.counters("endpoint_events_finished_total", "Endpoint events that reached an end, by status.", "status")
	m.verdicts = m.counters("rule_verdicts_total", "Verdicts of rules, repeated ones included: the match rate is fired over all.", "outcome")
	m.dispatch = m.counters("dispatch_results_total", "Attempts by what became of the publish: sent, not_sent, unknown.", "result")
	m.ackLatency = m.histogram("command_ack_latency_seconds", "From the fence of the last attempt to the device's acceptance.", latencies)
	m.appliedLatency = m.histogram("command_applied_latency_seconds", "From the decision to the proof that the target holds.", latencies)
	m.timeouts = m.counter("command_timeouts_total", "Attempts that brought no answer in time.")
	m.retries = m.counter("command_retries_total", "Attempts after the first one of their command.")
	m.uncertain = m.counter("command_uncertain_total", "Commands that became uncertain.")
	m.ended = m.counters("commands_ended_total", "Commands that reached an end, by state.", "state")
	m.receipts = m.counters("receipts_total", "Raw evidence stored, by type.", "type")
	m.answers = m.counters("answers_total", "Answers and reports of devices by how they were matched.", "correlation")
	m.rejected = m.counters("inputs_rejected_total", "Input that is not of the contract, by reason.", "reason")
	m.ignored = m.counters("inputs_ignored_total", "Readings and reports that change nothing, by reason.", "reason")
	m.stale = m.counters("results_stale_total", "Results of workers that came after their attempt had ended.", "result")
	m.uncounted = m.counters("worker_counts_total", "What workers tell outside a turn: broker connections, messages refused or dropped, publishes by result.", "name", "label")
	m.logRows = m.counters("log_rows_total", "Rows of the event log, by outcome.", "outcome")
	m.holds = m.counters("holds_total", "Holds placed, by reason.", "reason")
	m.actions = m.counters("actions_total", "Actions of the cell that left RUNNING, by kind and state; UNKNOWN is no end and counts too.", "kind", "state")
	m.parts = m.counters("parts_ended_total", "Parts of orders that ended, by how.", "state")
	m.questions = m.counters("questions_total", "Questions opened to a person, by finding.", "finding")
	m.Watch("questions_open", "Questions to a person that are open.", func() float64 { return float64(m.asked.count()) })
	m.alarms = m.counters("alarms_total", "Activations of alarms, by type.", "type")
	m.turns = m.counter("loop_turns_total", "Turns of the loop that were shown.")
	m.batch = m.histogram("loop_batch_changes", "Rows changed in one turn.", []float64{1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000})
	m.links = m.gauges("link_up", "Broker connections: 1 up, 0 down.", "link")
	m.epoch = m.gauge("epoch", "Number of this process life.")
	m.seq = m.gauge("log_seq", "Seq of the newest row of the event log.")
	m.gauges("build_info", "Always 1; the version is the label.", "version").WithLabelValues(version).Set(1)
	m.begin()
	if health != nil {
		m.watchHealth(health)
	}
	return m
}

// begin makes every series that may come, at zero: a rate over a series that appears with its first failure
// misses that failure.
func (m *Metrics) begin() {
	start := func(v *prometheus.CounterVec, words []string) {
		for _, w := range words {
			v.WithLabelValues(w)
		}
	}
	start(m.finished, []string{"processed", "discarded", "failed"})
	start(m.verdicts, term.ExecutionOutcome("").Values())
	start(m.dispatch, []string{"sent", "not_sent", "unknown"})
	start(m.ended, []string{"applied", "failed", "expired"})
	start(m.receipts, term.ReceiptType("").Values())
	start(m.answers, term.Correlation("").Values())
	start(m.stale, []string{"sent", "not_sent", "unknown"})
	start(m.logRows, []string{"accepted", "refused", "parked"})
	for _, kind := range term.TaskKind("").Values() {
		for _, state := range []term.TaskState{term.TaskSucceeded, term.TaskFailed, term.TaskCancelled, term.TaskUnknown} {
			m.actions.WithLabelValues(kind, string(state))
		}
	}
	start(m.parts, []string{"COMPLETED", "SCRAPPED", "CANCELLED"})
	start(m.questions, term.Finding("").Values())
	start(m.alarms, term.AlarmKind("").Values())
	start(m.holds, term.HoldReason("").Values())
	start(m.rejected, append([]string{"other"}, rejections...))
	start(m.ignored, append([]string{"other"}, ignorances...))
}

func (m *Metrics) watchHealth(health func() Health) {
	inbox := "inbox_messages"
	for source, count := range map[string]func(Health) int64{
		"person": func(h Health) int64 { return h.Person }, "worker": func(h Health) int64 { return h.Worker },
		"device": func(h Health) int64 { return h.Device }, "telemetry": func(h Health) int64 { return h.Telemetry },
	} {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "surehand", Name: inbox,
			Help: "Undecided messages, by source.", ConstLabels: prometheus.Labels{"source": source}},
			func() float64 { return float64(count(health())) }))
	}
	m.Watch("database_away", "1 while the loop waits for the database.", func() float64 {
		if health().DatabaseAway {
			return 1
		}
		return 0
	})
	m.Watch("loop_last_turn_timestamp_seconds", "When the loop last turned, in seconds since 1970 UTC.", func() float64 {
		return float64(health().LastTurn.UnixMicro()) / 1e6
	})
}

// Watch adds a gauge that is read when the metrics are, such as the number of open streams.
func (m *Metrics) Watch(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "surehand", Name: name, Help: help}, read))
}

// Handler serves /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// LoadCommands and LoadQuestions tell which were open when this process began, in any number of pages. They may come
// after the first turns: what is newer stands.
func (m *Metrics) LoadCommands(open ...*plant.Intent) {
	for _, r := range open {
		m.commands.load(string(r.ID), r.Version, openCommand{r.State, r.WaitingFor})
	}
}

// LoadQuestions is LoadCommands for questions.
func (m *Metrics) LoadQuestions(open ...*plant.Question) {
	for _, r := range open {
		m.asked.load(string(r.ID), r.Version, struct{}{})
	}
}

// Loaded ends the loading: nothing older than the turns shown comes any more.
func (m *Metrics) Loaded() {
	m.commands.loaded()
	m.asked.loaded()
}

// Show counts one turn.
func (m *Metrics) Show(c plant.Committed) {
	m.turns.Inc()
	m.batch.Observe(float64(len(c.Changes)))
	m.epoch.Set(float64(c.Fence.Epoch))
	m.seq.Set(float64(c.Fence.Seq))
	for i := range c.Entries {
		m.logRows.WithLabelValues(oneOf(c.Entries[i].Outcome, "accepted", "refused", "parked")).Inc()
	}
	for _, change := range c.Changes {
		m.change(change)
	}
	for _, count := range c.Counts {
		m.count(count)
	}
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "surehand", Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "surehand", Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "surehand", Name: name, Help: help})
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) gauges(name, help, label string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "surehand", Name: name, Help: help}, []string{label})
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "surehand", Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

// oneOf keeps a label to known words.
func oneOf(word string, known ...string) string {
	if slices.Contains(known, word) {
		return word
	}
	return "other"
}

var (
	// rejections are the reasons that the receiving side gives; ignorances those of the deciders.
	rejections = []string{"bad_id", "bad_key", "bad_time", "bad_attempt", "bad_seq", "bad_topic", "bad_word", "duplicate_key", "empty", "malformed", "missing",
		"not_finite", "nul", "overflow", "oversize", "parser_fault", "retained", "too_deep", "too_long", "too_many", "unknown_device",
		"utf8", "wrong_type"}
	ignorances = []string{"retained", "repeated", "unknown_key"}
)

// word lets only a short word of letters, digits and '_' be a label: workers label with words of our own, and a
// mistake there must not let text from outside make a series.
func word(label string) string {
	if len(label) > 32 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
		return "other"
	}
	return label
}

func (m *Metrics) count(c plant.Count) {
	switch c.Name {
	case "input_rejected":
		m.rejected.WithLabelValues(oneOf(c.Label, rejections...)).Inc()
	case "answer":
		if c.Label == string(term.CorrelationForeign) { // all others leave a receipt, which is counted
			m.answers.WithLabelValues(c.Label).Inc()
		}
	case "telemetry_ignored", "state_ignored":
		m.ignored.WithLabelValues(oneOf(c.Label, ignorances...)).Inc()
	case "result_stale":
		m.stale.WithLabelValues(oneOf(c.Label, "sent", "not_sent", "unknown")).Inc()
	case "link":
		link, word, _ := strings.Cut(c.Label, " ")
		up := map[string]float64{"up": 1}[word]
		m.links.WithLabelValues(oneOf(link, string(plant.LinkTelemetry), string(plant.LinkAnswers), string(plant.LinkCommands))).Set(up)
	default:
		m.uncounted.WithLabelValues(c.Name, word(c.Label)).Inc() // names are words of our code
	}
}
