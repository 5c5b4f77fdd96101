package plant

import (
	"slices"
	"time"

	"surehand/internal/term"
)

// boundAlarms acknowledges the alarm that has been over for longest when MaxOpenAlarms are open: where nobody ever
// acknowledges, the picture must not grow for ever. Active ones are bounded by what there is to alarm about.
func (tx *Tx) boundAlarms() {
	if len(tx.w.state.alarms) < MaxOpenAlarms {
		return
	}
	var oldest *Alarm
	for _, a := range tx.w.state.Alarms() {
		if a.State == term.AlarmReturned && (oldest == nil || a.ClearedAt.Before(oldest.ClearedAt)) {
			oldest = a
		}
	}
	if oldest != nil {
		tx.AcknowledgeAlarm(oldest, "surehand: too many open alarms")
	}
}

// RaiseAlarm activates an alarm. Active already: only a new text is stored. Returned but not seen: it counts
// one more activation on the same row.
func (tx *Tx) RaiseAlarm(kind term.AlarmKind, subject, text string) {
	text = Printable(text)
	a, open := tx.w.state.AlarmOf(kind, subject)
	switch {
	case !open:
		tx.boundAlarms()
		tx.put("RaiseAlarm", nil, &Alarm{ID: term.AlarmID(tx.NewID()), Version: 1, Type: kind, Subject: subject, State: term.AlarmUnacknowledged,
			Text: text, Count: 1, FirstOut: !slices.ContainsFunc(tx.w.state.Alarms(), func(o *Alarm) bool { return o.State.Active() }), RaisedAt: tx.Now()})
	case a.State == term.AlarmReturned:
		tx.moveAlarm(alarmAgain, a, func(n *Alarm) { n.Count++; n.Text, n.RaisedAt, n.ClearedAt = text, tx.Now(), time.Time{} })
	case a.Text != text:
		n := *a
		n.Version++
		n.Text = text
		tx.put("RetextAlarm", a, &n)
	}
}

// ResolveAlarm: the cause is gone.
func (tx *Tx) ResolveAlarm(kind term.AlarmKind, subject string) {
	a, open := tx.w.state.AlarmOf(kind, subject)
	if !open || !a.State.Active() {
		return
	}
	m := alarmClear
	if a.State == term.AlarmAcknowledged {
		m = alarmDone
	}
	tx.moveAlarm(m, a, func(n *Alarm) { n.ClearedAt = tx.Now() })
}

// AcknowledgeAlarm: a person has seen it.
func (tx *Tx) AcknowledgeAlarm(a *Alarm, by string) *Alarm {
	m := alarmAck
	if a.State == term.AlarmReturned {
		m = alarmAckR
	}
	return tx.moveAlarm(m, a, func(n *Alarm) { n.AckedBy, n.AckedAt = Printable(by), tx.Now() })
}

// ShelveAlarm puts an alarm aside until a time.
func (tx *Tx) ShelveAlarm(a *Alarm, until time.Time, by, why string) *Alarm {
	return tx.moveAlarm(alarmShelf, a, func(n *Alarm) {
		n.ShelvedUntil, n.ShelvedBy, n.ShelveReason = Micros(until), Printable(by), Printable(why)
	})
}

// UnshelveAlarm brings it back.
func (tx *Tx) UnshelveAlarm(a *Alarm) *Alarm { return tx.moveAlarm(alarmBack, a, unshelved) }

func unshelved(n *Alarm) { n.ShelvedUntil, n.ShelvedBy, n.ShelveReason = time.Time{}, "", "" }

func (tx *Tx) moveAlarm(m Move[term.AlarmState], a *Alarm, set func(*Alarm)) *Alarm {
	m.check(string(a.ID), a.State)
	n := *a
	n.Version++
	if m.To != "" {
		n.State = m.To
	}
	if set != nil {
		set(&n)
	}
	if n.State == term.AlarmUnacknowledged {
		n.AckedBy, n.AckedAt = "", time.Time{}
	}
	if n.State == term.AlarmNormal {
		n.EndedAt = tx.Now()
		unshelved(&n)
	}
	tx.put(m.Name, a, &n)
	return &n
}

// OpenQuestion asks a person. One question of a finding and subject is open at a time: a changed one is revised.
// It tells whether anything was written.
func (tx *Tx) OpenQuestion(q Question) (*Question, bool) {
	q.Record, q.Machine, q.Readings = Printable(q.Record), Printable(q.Machine), slices.Clone(q.Readings)
	for i := range q.Readings {
		q.Readings[i].At = Micros(q.Readings[i].At)
	}
	if !slices.Contains(q.Touches, q.Subject) {
		q.Touches = append([]string{q.Subject}, q.Touches...)
	}
	q.Hash = q.bind()
	old, open := tx.w.state.QuestionOf(q.Finding, q.Subject)
	if open {
		if old.Hash == q.Hash {
			return old, false
		}
		q.ID, q.Version, q.OpenedAt, q.State = old.ID, old.Version+1, old.OpenedAt, old.State
		tx.put("ReviseQuestion", old, &q)
		return &q, true
	}
	q.ID, q.Version, q.State, q.OpenedAt = term.QuestionID(tx.NewID()), 1, term.QuestionOpen, tx.Now()
	tx.put("OpenQuestion", nil, &q)
	return &q, true
}

// bind hashes what an answer rests on: the finding, the record and the discrete readings. No times.
func (q *Question) bind() string {
	parts := []string{string(q.Finding), q.Subject, q.Record, q.Suggested, string(q.JobID), q.Place.String()}
	if len(q.Readings) == 0 { // then what the machine said is in the words alone
		parts = append(parts, q.Machine)
	}
	for _, r := range q.Readings {
		parts = append(parts, string(r.Equipment), r.Predicates)
	}
	for _, a := range q.Answers {
		parts = append(parts, a.Word, a.Effect)
	}
	return Hash(parts...)
}

// ResolveQuestion closes a question with its answer; by is a person, or "surehand" when it resolved itself.
func (tx *Tx) ResolveQuestion(q *Question, answer, by, reason string) {
	n := *q
	n.Version++
	n.State, n.Answer, n.By, n.Reason, n.EndedAt = term.QuestionResolved, answer, Printable(by), Printable(reason), tx.Now()
	tx.put("ResolveQuestion", q, &n)
}
