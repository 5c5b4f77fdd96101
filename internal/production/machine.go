package production

import (
	"fmt"
	"slices"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// MachineDone takes the end of a machine's cycle (C-13). Done is a level: the same one is told from the next one by
// the machine's counter where it has one, and by the latch.
func MachineDone(tx *plant.Tx, p message.MachineDone) message.Outcome {
	e, ok := tx.State().EquipmentByID(p.Machine)
	if !ok || e.Type != term.KindMachine {
		tx.Count("done_ignored", "unknown_machine")
		return ignored("unknown_machine")
	}
	subject := plant.EquipmentSubject(e.ID)
	if p.Pass != "pass" && p.Pass != "fail" {
		p.Pass = "" // not said
	}
	if repeated(e, p) {
		tx.Count("done_ignored", "repeated")
		if e.Latch == term.LatchNone { // raised again for a cycle that is stored: the machine waits for an answer
			tx.LatchDone(e.ID, p.Cycle, p.Counted)
		} else { // it may not have heard our acknowledgement
			tx.AcknowledgeDone(e.ID)
		}
		return message.Outcome{Code: message.Accepted, Subject: subject, Reason: "repeated", State: string(term.LatchSeen)}
	}
	slots, why := finished(tx, e, p)
	if len(slots) == 0 {
		return unexpectedDone(tx, e, p, why)
	}
	if p.Job != "" && (len(slots) != 1 || slots[0].JobID != p.Job) {
		return otherJob(tx, e, slots, p)
	}
	tx.LatchDone(e.ID, p.Cycle, p.Counted)
	if t, open := tx.State().StartOf(e.ID); open && slices.ContainsFunc(slots, func(s *plant.Slot) bool { return s.StartedAt.IsZero() }) {
		started(tx, t) // the cycle itself proves its start
	}
	for _, s := range slots {
		finishSlot(tx, e, s, p)
	}
	closeFindings(tx, e.ID, slots)
	return message.Outcome{Code: message.Accepted, Subject: subject, ID: string(e.ID), Changed: len(slots)}
}

// repeated tells whether a done is one that was stored before.
func repeated(e *plant.Equipment, p message.MachineDone) bool {
	if p.Counted && e.HasCycle {
		if p.Cycle == e.Cycle {
			return true
		}
		if term.NumberNewer(e.Cycle, p.Cycle) {
			return false // decides first: whatever the latch says, this is another cycle
		}
	}
	return e.Latch != term.LatchNone
}

// finished finds the slots that a done is about: all occupied ones of a batch machine; the only one; with several the
// one that is named, else the earliest occupied one. Only parts whose start was confirmed, or is in doubt, count.
func finished(tx *plant.Tx, e *plant.Equipment, p message.MachineDone) (slots []*plant.Slot, why string) {
	t, starting := tx.State().StartOf(e.ID)
	var working []*plant.Slot
	for _, s := range tx.State().SlotsOf(e.ID) {
		if s.State != term.SlotOccupied {
			continue
		}
		if s.StartedAt.IsZero() && !(starting && covers(t, s)) {
			why = fmt.Sprintf("slot %d holds %s, and no start of it was confirmed", s.Number, s.JobID)
			continue
		}
		working = append(working, s)
	}
	switch {
	case len(working) == 0 && why == "":
		return nil, "no slot holds a part that is being worked on"
	case len(working) == 0:
		return nil, why
	case e.Config.Batch:
		return working, ""
	case e.Config.Slots > 1 && (p.SlotNo > 1 || p.Exact && p.SlotNo == 1):
		for _, s := range working {
			if s.Number == p.SlotNo {
				return []*plant.Slot{s}, ""
			}
		}
		return nil, fmt.Sprintf("slot %d holds no part that is being worked on", p.SlotNo)
	}
	first := working[0]
	for _, s := range working[1:] {
		if s.EnteredAt.Before(first.EnteredAt) {
			first = s
		}
	}
	return []*plant.Slot{first}, ""
}

// finishSlot ends the step of the part in a slot, by what the machine says of it.
func finishSlot(tx *plant.Tx, e *plant.Equipment, s *plant.Slot, p message.MachineDone) {
	j, ok := tx.State().Job(s.JobID)
	if !ok || j.Position != term.SlotPlace(s.ID) { // a contradiction in the record: the recovery shows it
		tx.FinishSlotIfOccupied(s.ID)
		return
	}
	r := term.StepResult{Equipment: e.ID, Cycle: p.Cycle, Pass: p.Pass}
	o, _ := tx.State().Order(j.OrderID)
	step, _ := o.Step(j)
	if step.Kind == term.StepInspection && p.Pass == "" {
		return // ends with a result of the same cycle; until then the part waits in place
	}
	if p.Pass == "fail" {
		failedInspection(tx, j, s, step, r)
		return
	}
	tx.FinishSlotIfOccupied(s.ID)
	tx.CompleteStep(j.ID, r)
}

// failedInspection decides what becomes of a part that is not good: by the route scrap, rework within its limit, or a
// person's judgement. A plain machine that says fail always asks.
func failedInspection(tx *plant.Tx, j *plant.Job, s *plant.Slot, step term.Step, r term.StepResult) {
	r.Pass = "fail"
	tx.FinishSlotIfOccupied(s.ID)
	switch {
	case j.Disposition != term.DispositionNone: // it leaves anyway
		tx.CompleteStep(j.ID, r)
	case step.Kind == term.StepInspection && (step.OnFail == "" || step.OnFail == "scrap"):
		tx.CompleteStep(j.ID, r)
		tx.DisposeOfJob(j.ID, term.DispositionScrap, "failed inspection")
	case step.Kind == term.StepInspection && step.OnFail == "rework" && j.Context.Reworks < step.ReworkLimit:
		tx.CompleteStep(j.ID, r)
		tx.ReworkJob(j.ID, step.ReworkTo-1)
	default:
		tx.AwaitJudgement(j.ID, r)
		askJudgement(tx, j, "the machine says that the part is not good")
	}
}

func askJudgement(tx *plant.Tx, j *plant.Job, machine string) {
	tx.OpenQuestion(plant.Question{Finding: term.FindJudgement, Subject: plant.JobSubject(j.ID), JobID: j.ID,
		Record: fmt.Sprintf("%s is at %s, step %d", j.ID, j.Position, j.StepIndex+1), Machine: machine,
		Answers: []term.Answer{
			{Word: term.AnswerGood, Effect: "The part is good: its step counts as done and it goes on."},
			{Word: term.AnswerScrap, Effect: "The part is carried to the exit as scrap."},
		}})
}

// InspectionResult ends an inspection step of the part in a slot.
func InspectionResult(tx *plant.Tx, p message.InspectionResult) message.Outcome {
	e, ok := tx.State().EquipmentByID(p.Machine)
	if !ok {
		return ignored("unknown_machine")
	}
	for _, s := range tx.State().SlotsOf(e.ID) {
		j, ok := tx.State().Job(s.JobID)
		if !ok || j.State != term.Processing || p.SlotNo > 0 && s.Number != p.SlotNo || p.Job != "" && p.Job != j.ID {
			continue
		}
		o, _ := tx.State().Order(j.OrderID)
		step, _ := o.Step(j)
		if step.Kind != term.StepInspection || s.StartedAt.IsZero() {
			continue
		}
		r := term.StepResult{Equipment: e.ID, Data: p.Data, Pass: "pass"}
		if p.Pass {
			tx.FinishSlotIfOccupied(s.ID)
			tx.CompleteStep(j.ID, r)
		} else {
			failedInspection(tx, j, s, step, r)
		}
		closeFindings(tx, e.ID, []*plant.Slot{s})
		return accepted(plant.JobSubject(j.ID), string(j.ID), "")
	}
	return refused(plant.EquipmentSubject(e.ID), "stale", string(e.Status), "No part in %s waits for an inspection result.", e.ID)
}

// unexpectedDone: a done that no start of ours explains changes nothing. With a part in the machine a person is
// asked; without one the done is acknowledged, so that the machine can go on.
func unexpectedDone(tx *plant.Tx, e *plant.Equipment, p message.MachineDone, why string) message.Outcome {
	subject := plant.EquipmentSubject(e.ID)
	tx.RaiseAlarm(term.AlarmUnexpected, subject, fmt.Sprintf("%s says done, but %s", e.ID, why))
	occupied := false
	for _, s := range tx.State().SlotsOf(e.ID) {
		occupied = occupied || s.State == term.SlotOccupied
	}
	if !occupied {
		tx.LatchDone(e.ID, p.Cycle, p.Counted)
		tx.ResolveAlarm(term.AlarmUnexpected, subject) // stays until it is acknowledged
		return message.Outcome{Code: message.Accepted, Subject: subject, Reason: "not_expected"}
	}
	_, asked := tx.OpenQuestion(plant.Question{Finding: term.FindUnexpected, Subject: subject, Record: why,
		Machine: fmt.Sprintf("done, slot %d, cycle %d", p.SlotNo, p.Cycle),
		Answers: []term.Answer{
			{Word: term.AnswerFinished, Effect: "The machine has finished the parts in it: their step counts as done."},
			{Word: term.AnswerDismiss, Effect: "The signal means nothing: it is acknowledged, the parts stay as they are."},
		}})
	if !asked && !tx.Changed() {
		return ignored("asked")
	}
	return message.Outcome{Code: message.Accepted, Subject: subject, Reason: "not_expected"}
}

// otherJob: the machine believes in another part than the record. Nothing changes, and a person is asked (C-13).
func otherJob(tx *plant.Tx, e *plant.Equipment, slots []*plant.Slot, p message.MachineDone) message.Outcome {
	subject := plant.EquipmentSubject(e.ID)
	record := ""
	touches := []string{subject}
	for _, s := range slots {
		record += fmt.Sprintf("slot %d holds %s; ", s.Number, s.JobID)
		touches = append(touches, plant.JobSubject(s.JobID))
	}
	tx.RaiseAlarm(term.AlarmJobMismatch, subject, fmt.Sprintf("%s says done for %s, but %s", e.ID, p.Job, record))
	_, asked := tx.OpenQuestion(plant.Question{Finding: term.FindJobMismatch, Subject: subject, Touches: touches, Record: record,
		Machine: "done for " + string(p.Job),
		Answers: []term.Answer{
			{Word: term.AnswerFinished, Effect: "The machine has finished the part that the record names: its step counts as done."},
			{Word: term.AnswerDismiss, Effect: "The signal means nothing: it is acknowledged, the parts stay as they are."},
		}})
	if !asked && !tx.Changed() {
		return ignored("asked")
	}
	return message.Outcome{Code: message.Accepted, Subject: subject, Reason: "job_mismatch"}
}

// closeFindings closes what was asked about a step that has now ended by itself.
func closeFindings(tx *plant.Tx, id term.EquipmentID, slots []*plant.Slot) {
	for _, s := range slots {
		if now, _ := tx.State().Slot(s.ID); now.State != term.SlotOccupied { // else it still waits for its inspection result
			CloseStepQuestions(tx, s.JobID, "the machine has finished the part")
		}
	}
	tx.ResolveAlarm(term.AlarmUnexpected, plant.EquipmentSubject(id))
}

// StepTimeout: an action or a step has not ended in its time. Nothing is assumed about it: a person is asked.
func StepTimeout(tx *plant.Tx, p message.StepTimeout) message.Outcome {
	switch p.Due.Kind {
	case plant.KindTask:
		t, open := tx.State().Task(term.TaskID(p.Due.Key))
		if !open || t.Version != p.Due.Version || t.State != term.TaskRunning {
			return ignored("over")
		}
		doubt(tx, t, "no result came in its time")
		return accepted(plant.TaskSubject(t.ID), string(t.ID), string(term.TaskUnknown))
	case plant.KindSlot:
		s, ok := tx.State().Slot(term.SlotID(p.Due.Key))
		if !ok || s.Version != p.Due.Version {
			return ignored("over")
		}
		return overdue(tx, s)
	}
	return ignored("unknown timer")
}

func overdue(tx *plant.Tx, s *plant.Slot) message.Outcome {
	tx.PostponeSlot(s.ID, time.Time{}, false)
	j, ok := tx.State().Job(s.JobID)
	if !ok {
		return accepted(plant.EquipmentSubject(s.EquipmentID), string(s.ID), "")
	}
	subject := plant.JobSubject(j.ID)
	if _, asked := tx.State().QuestionOf(term.FindNotRunning, subject); asked {
		giveTime(tx, j) // one question is enough: whether the machine works on it at all
		return accepted(subject, string(j.ID), "")
	}
	tx.RaiseAlarm(term.AlarmOverdue, subject, fmt.Sprintf("%s has been in %s since %s and is not done", j.ID, s.ID, s.StartedAt.Format(time.RFC3339)))
	o, _ := tx.State().Order(j.OrderID)
	step, _ := o.Step(j)
	answers := []term.Answer{
		{Word: term.AnswerWait, Effect: fmt.Sprintf("It gets %s more.", time.Duration(step.Timeout))},
		{Word: term.AnswerFinished, Effect: "The machine has finished the part: its step counts as done."},
		{Word: term.AnswerScrap, Effect: "The part counts as not good: it is carried out when the machine lets it go."},
	}
	if step.Kind == term.StepInspection {
		answers = append(answers, term.Answer{Word: term.AnswerGood, Effect: "The part is good: its step counts as done."})
	}
	tx.OpenQuestion(plant.Question{Finding: term.FindOverdue, Subject: subject, JobID: j.ID,
		Record: fmt.Sprintf("%s is processed in %s, step %d", j.ID, s.ID, j.StepIndex+1), Machine: "no done came in its time", Answers: answers})
	return accepted(subject, string(j.ID), "")
}

// giveTime gives the step of a part in a slot its time once more.
func giveTime(tx *plant.Tx, j *plant.Job) {
	o, _ := tx.State().Order(j.OrderID)
	if step, ok := o.Step(j); ok && step.Timeout > 0 {
		tx.PostponeSlot(term.SlotID(j.Position.Ref), tx.Now().Add(time.Duration(step.Timeout)), false)
	}
}

// NotOverdue takes back the question whether a step takes too long: it was found that the machine does not work on it.
func NotOverdue(tx *plant.Tx, id term.JobID) {
	subject := plant.JobSubject(id)
	if q, open := tx.State().QuestionOf(term.FindOverdue, subject); open {
		tx.ResolveQuestion(q, term.AnswerEvidence, "surehand", "the machine does not work on it")
		tx.ResolveAlarm(term.AlarmOverdue, subject)
		if j, in := tx.State().Job(id); in && j.Position.Type == term.OnEquipment {
			giveTime(tx, j)
		}
	}
}

// Shelf ends a shelving whose time is over.
func Shelf(tx *plant.Tx, d plant.Due) message.Outcome {
	a, open := tx.State().Alarm(term.AlarmID(d.Key))
	if !open || a.Version != d.Version {
		return ignored("over")
	}
	tx.UnshelveAlarm(a)
	return accepted(plant.AlarmSubject(a.ID), string(a.ID), string(a.State))
}
