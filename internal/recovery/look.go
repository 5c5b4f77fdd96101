package recovery

import (
	"fmt"
	"slices"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/production"
	"surehand/internal/term"
)

// compared are the findings that a comparison opens and closes by itself.
var compared = []term.Finding{term.FindJobSlot, term.FindSlotJob, term.FindSharedPlace, term.FindPlaceRange, term.FindTwoPlaces, term.FindCounters,
	term.FindNotRunning, term.FindPartMissing, term.FindPartForeign, term.FindGripper, term.FindGripperEmpty, term.FindEchoUnknown,
	term.FindUnreachable, term.FindFault, term.FindFlapping}

// Started begins a process life: what was under way is in doubt, and the cell stands until it has been compared.
func Started(tx *plant.Tx) {
	if _, ok := tx.State().Cell(); !ok {
		return
	}
	tx.Session().SetCompared(false)
	for _, t := range tx.State().Tasks() {
		if t.State == term.TaskRunning {
			tx.DoubtTask(t.ID, "the process ended before its result came")
		}
	}
	tx.PlaceHold(plant.CellSubject, term.HoldRecovery, "surehand", "the process was started; the machines are compared with the record first")
	tx.WatchEquipment()
	for _, e := range tx.State().Equipment() {
		if e.Latch != term.LatchNone {
			tx.AcknowledgeDone(e.ID)
		}
	}
}

// Travelled: the database went back in time, so any machine may know more than it. Everything is read and compared
// anew, when what was handed out in the lost commits can begin no more.
func Travelled(tx *plant.Tx) {
	if _, ok := tx.State().Cell(); !ok {
		return
	}
	for _, t := range tx.State().Tasks() {
		if t.State == term.TaskRunning {
			tx.DoubtTask(t.ID, "the database went back in time")
		}
	}
	tx.Session().LoseRecord(tx.Now())
	tx.MarkCellUsed()
	tx.PlaceHold(plant.CellSubject, term.HoldRecovery, "surehand", "the database went back in time; the machines are compared with the record first")
	tx.PlaceHold(plant.CellSubject, term.HoldQuarantine, "surehand", "the database went back in time; a person confirms the recovery")
}

// CompareCell starts a comparison on request: no new action begins until it is confirmed.
func CompareCell(tx *plant.Tx, m message.Message) message.Outcome {
	if _, ok := tx.State().Cell(); !ok {
		return message.Outcome{Code: message.NotFound, Reason: "no_cell", Detail: "No plant file has been imported."}
	}
	tx.PlaceHold(plant.CellSubject, term.HoldRecovery, m.Actor, "a comparison was asked for")
	tx.Session().SetCompared(false)
	Look(tx)
	return message.Outcome{Code: message.Accepted, Subject: plant.CellSubject, State: string(term.HoldRecovery)}
}

// Observed takes a reading and keeps the questions equal to what the machines say.
func Observed(tx *plant.Tx, p message.EquipmentStatusChanged) message.Outcome {
	e := production.Observed(tx, p)
	if e == nil {
		return message.Outcome{Code: message.Ignored, Reason: "not_ours"}
	}
	Look(tx)
	if !tx.Decided() {
		return message.Outcome{Code: message.Noted}
	}
	return message.Outcome{Code: message.Accepted, Subject: plant.EquipmentSubject(e.ID), ID: string(e.ID), State: string(e.Status)}
}

// Look compares what has to be compared now: the cell while it is held for recovery, each equipment that returned, and
// the readings that open questions are bound to.
func Look(tx *plant.Tx) {
	for _, j := range tx.State().Placed() { // whatever was asked about it may be over
		production.Rest(tx, j.ID)
	}
	askAboutTasks(tx)
	bindAnew(tx)
	seen := Seen(tx.Session().Observed)
	if _, held := tx.State().Held(plant.CellSubject, term.HoldRecovery); held {
		if tx.Session().Compared() || ready(tx) {
			keep(tx, Compare(tx.State(), seen, tx.Now(), ""), "")
			first := !tx.Session().Compared()
			tx.Session().SetCompared(true)
			for _, e := range tx.State().Equipment() { // compared with the rest: nothing else to wait for
				if o, ok := seen(e.ID); ok && o.Reading.Reached && o.Steady(tx.Now()) && len(tx.State().AskedAbout(plant.EquipmentSubject(e.ID))) == 0 {
					tx.LiftHoldIfHeld(plant.EquipmentSubject(e.ID), term.HoldRecovery, "surehand", "compared")
				}
			}
			if first {
				releaseByItself(tx)
			}
		}
		return
	}
	for _, e := range tx.State().Equipment() {
		subject := plant.EquipmentSubject(e.ID)
		_, held := tx.State().Held(subject, term.HoldRecovery)
		o, ok := seen(e.ID)
		if !ok || !held && !asked(tx, subject) || !o.Reading.Reached || !o.Steady(tx.Now()) {
			continue
		}
		found := Compare(tx.State(), seen, tx.Now(), e.ID)
		keep(tx, found, e.ID)
		if held && len(found) == 0 {
			tx.LiftHoldIfHeld(subject, term.HoldRecovery, "surehand", "it returned and says what the record says")
		}
	}
}

// asked tells whether a comparison has an open question about an equipment.
func asked(tx *plant.Tx, subject string) bool {
	return slices.ContainsFunc(tx.State().AskedAbout(subject), func(id term.QuestionID) bool {
		q, _ := tx.State().Question(id)
		return slices.Contains(compared, q.Finding)
	})
}

// ready tells whether every equipment has been read and stands still, is surely not reachable, or keeps flapping.
func ready(tx *plant.Tx) bool {
	return tx.Session().MayCompare(tx.Now()) && len(Unread(tx.State(), tx.Session(), tx.Now())) == 0
}

// Unread lists the equipment that a comparison still waits for.
func Unread(s *plant.State, session *plant.Session, now time.Time) []term.EquipmentID {
	var unread []term.EquipmentID
	for _, e := range s.Equipment() {
		if _, disabled := s.Held(plant.EquipmentSubject(e.ID), term.HoldDisabled); disabled {
			continue
		}
		if o, seen := session.Observed(e.ID); !seen || !o.Steady(now) && o.Changes < flapping {
			unread = append(unread, e.ID)
		}
	}
	return unread
}

// askAboutTasks keeps the question about each action in doubt equal to what the machines say. A reading that does not
// stand still yet changes nothing: the answer is refused meanwhile.
func askAboutTasks(tx *plant.Tx) {
	for _, t := range tx.State().Tasks() {
		if t.State != term.TaskUnknown {
			continue
		}
		q, open := tx.State().QuestionOf(term.FindTaskUnknown, plant.TaskSubject(t.ID))
		if open && !moved(tx, q) {
			continue
		}
		// Asked first when the equipment stands still: its own number may answer by then.
		// One that a person has put out of use, because it never does, is asked about all the same.
		if o, seen := tx.Session().Observed(t.EquipmentID); (!seen || !o.Steady(tx.Now())) && !disabled(tx, t.EquipmentID) {
			continue
		}
		if t.Type == term.TaskStartMachine && !open {
			if production.ProveStart(tx, t.EquipmentID); !inDoubt(tx, t.ID) {
				continue
			}
		}
		production.AskAboutTask(tx, t)
	}
}

// disabled: a person lets the cell run without it, so what it says binds no answer.
func disabled(tx *plant.Tx, id term.EquipmentID) bool {
	_, held := tx.State().Held(plant.EquipmentSubject(id), term.HoldDisabled)
	return held
}

func inDoubt(tx *plant.Tx, id term.TaskID) bool {
	t, open := tx.State().Task(id)
	return open && t.State == term.TaskUnknown
}

// bindAnew shows the readings of now with a question that no comparison keeps: a report of a person.
func bindAnew(tx *plant.Tx) {
	for _, q := range tx.State().Questions() {
		if q.Finding != term.FindReportedPart || !moved(tx, q) || !steady(tx, *q) {
			continue
		}
		n := *q
		n.Readings = nil
		for _, b := range q.Readings {
			n.Readings = append(n.Readings, production.Bound(tx, b.Equipment)...)
		}
		tx.OpenQuestion(n)
	}
}

// moved tells whether a question is bound to readings that are not those of now.
func moved(tx *plant.Tx, q *plant.Question) bool {
	for _, b := range q.Readings {
		if o, seen := tx.Session().Observed(b.Equipment); seen && o.Reading.Predicates() != b.Predicates && !disabled(tx, b.Equipment) {
			return true
		}
	}
	if len(q.Readings) == 0 && q.TaskID != "" {
		t, open := tx.State().Task(q.TaskID)
		if open && t.Type != term.TaskScan {
			_, seen := tx.Session().Observed(t.EquipmentID)
			return seen
		}
	}
	return false
}

// keep opens, revises and closes questions so that those of a comparison are exactly what was found. About an
// equipment that does not stand still nothing is changed.
func keep(tx *plant.Tx, found []plant.Question, only term.EquipmentID) {
	is := map[string]bool{}
	for _, q := range found {
		is[string(q.Finding)+"\x00"+q.Subject] = true
		if q.Finding != term.FindFlapping && !steady(tx, q) {
			continue
		}
		if o, opened := tx.OpenQuestion(q); opened {
			if o.Finding == term.FindNotRunning {
				production.NotOverdue(tx, o.JobID)
			}
			tx.RaiseAlarm(term.AlarmRecovery, o.Subject, fmt.Sprintf("%s: %s; %s", o.Finding, o.Record, o.Machine))
		}
	}
	for _, q := range tx.State().Questions() {
		if !slices.Contains(compared, q.Finding) || is[string(q.Finding)+"\x00"+q.Subject] || !steady(tx, *q) {
			continue
		}
		if only != "" && !slices.Contains(q.Touches, plant.EquipmentSubject(only)) || stillCounted(tx, q) {
			continue
		}
		resolve(tx, q, term.AnswerVanished, "surehand", "the difference is gone by itself")
	}
}

// stillCounted: counters that were found wrong stay wrong, however many parts are left, until they are counted anew.
func stillCounted(tx *plant.Tx, q *plant.Question) bool {
	return q.Finding == term.FindCounters && slices.ContainsFunc(tx.State().Orders(), func(o *plant.Order) bool { return plant.OrderSubject(o.ID) == q.Subject })
}

// steady tells whether everything that a question is bound to has stood still for long enough.
func steady(tx *plant.Tx, q plant.Question) bool {
	for _, b := range q.Readings {
		if o, seen := tx.Session().Observed(b.Equipment); seen && !o.Steady(tx.Now()) && !disabled(tx, b.Equipment) {
			return false
		}
	}
	return true
}

// resolve closes a question, and its alarm when nothing else of its kind is asked about the subject.
func resolve(tx *plant.Tx, q *plant.Question, word, by, why string) {
	tx.ResolveQuestion(q, word, by, why)
	if !asked(tx, q.Subject) {
		tx.ResolveAlarm(term.AlarmRecovery, q.Subject)
	}
	if len(tx.State().AskedAbout(q.Subject)) == 0 {
		for _, kind := range []term.AlarmKind{term.AlarmTaskFailed, term.AlarmLateEvidence, term.AlarmOverdue, term.AlarmUnexpected, term.AlarmJobMismatch} {
			tx.ResolveAlarm(kind, q.Subject)
		}
	}
	for _, t := range q.Touches { // the robot's or tool's alarm about the same action
		if len(tx.State().AskedAbout(t)) == 0 {
			tx.ResolveAlarm(term.AlarmTaskFailed, t)
		}
	}
}

// releaseByItself ends a recovery in which nothing was found, where the plant file allows it or the last stop was a
// clean drain.
func releaseByItself(tx *plant.Tx) {
	cell, _ := tx.State().Cell()
	for _, half := range []string{plant.CellSubject, plant.DevicesSubject} { // of the devices: the start came before Travelled was decided
		if _, lost := tx.State().Held(half, term.HoldQuarantine); lost {
			return // the database went back in time: somebody has to look
		}
	}
	if (cell.Config.Options.AutomaticRelease || cell.Clean) && open(tx) == 0 && len(tx.State().Tasks()) == 0 {
		tx.LiftHoldIfHeld(plant.CellSubject, term.HoldRecovery, "surehand", "nothing was found")
	}
}

// open counts the questions that a recovery has to wait for: where parts are, and what the machines do.
func open(tx *plant.Tx) int {
	n := 0
	for _, q := range tx.State().Questions() {
		if q.Finding.BlocksRecovery() {
			n++
		}
	}
	for _, t := range tx.State().Tasks() { // in doubt, and its question comes with the next reading
		if _, asked := tx.State().QuestionOf(term.FindTaskUnknown, plant.TaskSubject(t.ID)); !asked && t.State == term.TaskUnknown {
			n++
		}
	}
	return n
}

func openQuestions(n int) string {
	if n == 1 {
		return "1 question is open"
	}
	return fmt.Sprintf("%d questions are open", n)
}

// ConfirmRecovery brings the cell back into scheduling. Refused while the comparison is not over or a finding is open.
func ConfirmRecovery(tx *plant.Tx, m message.Message, p message.ConfirmRecovery) message.Outcome {
	if _, held := tx.State().Held(plant.CellSubject, term.HoldRecovery); !held {
		return refuse(plant.CellSubject, "not_in_recovery", tx.State().HeldFor(plant.CellSubject), "The cell is not in recovery.")
	}
	if !tx.Session().Compared() {
		// It is made with the next reading and not here: what a refusal finds would be dropped with it.
		if unread := Unread(tx.State(), tx.Session(), tx.Now()); len(unread) > 0 {
			return refuse(plant.CellSubject, "comparing", string(term.HoldRecovery), "Not everything has been read and stands still yet: %v.", unread)
		}
		return refuse(plant.CellSubject, "comparing", string(term.HoldRecovery), "The machines are being compared; ask again in a moment.")
	}
	if n := open(tx); n > 0 {
		return refuse(plant.CellSubject, "findings_open", string(term.HoldRecovery), "%s; answer first.", openQuestions(n))
	}
	tx.LiftHoldIfHeld(plant.CellSubject, term.HoldRecovery, m.Actor, p.Reason)
	tx.LiftHoldIfHeld(plant.CellSubject, term.HoldQuarantine, m.Actor, p.Reason)
	if p.Release != nil && !*p.Release {
		tx.PlaceHold(plant.CellSubject, term.HoldPaused, m.Actor, "not released with the recovery")
	}
	return message.Outcome{Code: message.Accepted, Subject: plant.CellSubject, State: tx.State().HeldFor(plant.CellSubject)}
}

func refuse(subject, reason, state, format string, args ...any) message.Outcome {
	return message.Outcome{Code: message.Refused, Reason: reason, State: state, Subject: subject, Detail: fmt.Sprintf(format, args...)}
}
