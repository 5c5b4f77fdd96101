package observe

import (
	"surehand/internal/plant"
	"surehand/internal/term"
)

// change counts what one changed row stands for. A row that was changed twice in a turn comes once, before and
// after the turn; receipts are never changed, so what must not be missed is counted by them.
func (m *Metrics) change(c plant.Change) {
	switch r := c.After.(type) {
	case *plant.Telemetry:
		m.readings.Inc()
	case *plant.Event:
		if c.Before == nil {
			m.events.Inc()
		}
		if r.Status != term.EventPending {
			m.finished.WithLabelValues(string(r.Status)).Inc()
		}
	case *plant.Execution:
		m.execution(c, r)
	case *plant.Intent:
		m.intent(c, r)
		m.commands.put(string(r.ID), r.Version, r.Open(), openCommand{r.State, r.WaitingFor})
	case *plant.Attempt:
		if c.Before == nil && r.Number > 1 {
			m.retries.Inc()
		}
		if r.Outcome != term.AttemptOpen {
			m.dispatch.WithLabelValues(string(r.Outcome)).Inc()
		}
	case *plant.Receipt:
		m.receipts.WithLabelValues(string(r.Type)).Inc()
		switch r.Type {
		case term.ReceiptTimeout:
			m.timeouts.Inc()
		case term.ReceiptAck, term.ReceiptResult, term.ReceiptStateReport:
			m.answers.WithLabelValues(string(r.Correlation)).Inc()
		}
	case *plant.Task:
		if r.State != term.TaskRunning {
			m.actions.WithLabelValues(string(r.Type), string(r.State)).Inc()
		}
	case *plant.Job:
		if r.State.Ended() {
			m.parts.WithLabelValues(string(r.State)).Inc()
		}
	case *plant.Question:
		m.question(c, r)
	case *plant.Alarm:
		m.alarm(c, r)
	case *plant.Hold:
		if c.Before == nil {
			m.holds.WithLabelValues(string(r.Reason)).Inc()
		}
	}
}

// execution counts verdicts of rules: a verdict that stays the same is one row that counts up.
func (m *Metrics) execution(c plant.Change, r *plant.Execution) {
	if r.Source != term.SourceRule {
		return
	}
	n := r.Count
	if before, ok := c.Before.(*plant.Execution); ok {
		n -= before.Count
	}
	if n > 0 {
		m.verdicts.WithLabelValues(string(r.Outcome)).Add(float64(n))
	}
}

func (m *Metrics) intent(c plant.Change, r *plant.Intent) {
	before, ok := c.Before.(*plant.Intent)
	if !ok {
		before = &plant.Intent{}
	}
	if !r.AckedAt.IsZero() && !r.AckedAt.Equal(before.AckedAt) && !r.FencedAt.IsZero() {
		m.ackLatency.Observe(r.AckedAt.Sub(r.FencedAt).Seconds())
	}
	if r.State == before.State {
		return
	}
	if r.State == term.Uncertain {
		m.uncertain.Inc()
	}
	if !r.State.Ended() {
		return
	}
	m.ended.WithLabelValues(string(r.State)).Inc()
	if r.State == term.Applied {
		m.appliedLatency.Observe(r.EndedAt.Sub(r.CreatedAt).Seconds())
	}
}

func (m *Metrics) question(c plant.Change, r *plant.Question) {
	if c.Before == nil {
		m.questions.WithLabelValues(string(r.Finding)).Inc()
	}
	m.asked.put(string(r.ID), r.Version, r.Open(), struct{}{})
}

func (m *Metrics) alarm(c plant.Change, r *plant.Alarm) {
	n := r.Count
	if before, ok := c.Before.(*plant.Alarm); ok {
		n -= before.Count
	}
	if n > 0 {
		m.alarms.WithLabelValues(string(r.Type)).Add(float64(n))
	}
}
