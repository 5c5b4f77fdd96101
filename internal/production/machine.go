package production

import (
	"fmt"
	"slices"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Observed takes one reading of an equipment: its status, its alarms, the end of a done, and what it proves about a
// start in doubt. It tells whether the predicates changed.
func Observed(tx *plant.Tx, p message.EquipmentStatusChanged) (e *plant.Equipment, changed bool) {
	e, ok := tx.State().EquipmentByID(p.Equipment)
	if !ok || p.Epoch != tx.State().Fence().Epoch {
		tx.Count("reading_ignored", string(p.Equipment))
		return nil, false
	}
	if !p.Reading.Reached { // what was read last stays, with its age
		if o, seen := tx.Session().Observed(e.ID); seen {
			last := o.Reading
			last.Reached, last.Error = false, p.Reading.Error
			p.Reading = last
		}
	}
	before, _ := tx.Session().Observed(e.ID)
	changed = tx.Session().Observe(e.ID, p.Reading, tx.Now())
	if changed || before.Reading.ReadySlots != p.Reading.ReadySlots { // a door that opens is no difference, and lets a part in
		tx.TouchCell()
	}
	subject := plant.EquipmentSubject(e.ID)
	tx.SetEquipmentStatus(e.ID, statusOf(p.Reading))
	switch {
	case !p.Reading.Reached:
		tx.RaiseAlarm(term.AlarmOffline, subject, fmt.Sprintf("%s cannot be reached: %s", e.ID, p.Reading.Error))
		if _, disabled := tx.State().Held(subject, term.HoldDisabled); !disabled {
			tx.PlaceHold(subject, term.HoldRecovery, "surehand", "its link was lost; it is compared when it returns")
		}
	default:
		tx.ResolveAlarm(term.AlarmOffline, subject)
	}
	if p.Reading.Reached && p.Reading.Fault != 0 {
		tx.RaiseAlarm(term.AlarmFault, subject, fmt.Sprintf("%s reports fault %d", e.ID, p.Reading.Fault))
	} else if p.Reading.Reached {
		tx.ResolveAlarm(term.AlarmFault, subject)
	}
	if e.Type == term.KindMachine && p.Reading.Reached {
		followLatch(tx, e.ID, p.Reading)
		proveStart(tx, e.ID, p.Reading)
	}
	if e.Type == term.KindRobot {
		acknowledgeEnd(tx, e.ID, p.Reading)
	}
	e, _ = tx.State().EquipmentByID(p.Equipment)
	return e, changed
}

// acknowledgeEnd takes go back from an ended action that nobody waits for any more: its driver leaves what the robot
// shows of an action in doubt, as evidence, and a robot that shows an error takes no other action.
func acknowledgeEnd(tx *plant.Tx, id term.EquipmentID, r term.Reading) {
	o, _ := tx.Session().Observed(id)
	if _, busy := tx.State().RobotTask(); busy || !r.Reached || !r.Go || r.Busy || !r.Ended && r.Fault == 0 || !o.Steady(tx.Now()) {
		return
	}
	tx.AcknowledgeEnd(id)
}

func statusOf(r term.Reading) term.EquipmentStatus {
	switch {
	case !r.Reached:
		return term.Offline
	case r.Fault != 0 || r.State == term.MachineFault:
		return term.EquipmentFault
	case r.Busy || r.Running != 0 || r.State == term.MachineRunning:
		return term.EquipmentRunning
	case r.Done || r.State == term.MachineDone:
		return term.EquipmentDone
	}
	return term.EquipmentIdle
}

// doneOverAfter: a done that is stored and reads 0 for so long is over, although nobody reported its acknowledgement:
// the machine takes done back only when it was told, or has lost it.
const doneOverAfter = 5 * time.Second

// followLatch ends a done when it reads 0 after our acknowledgement.
func followLatch(tx *plant.Tx, id term.EquipmentID, r term.Reading) {
	e, _ := tx.State().EquipmentByID(id)
	if r.Done || e.Latch == term.LatchNone {
		return
	}
	o, _ := tx.Session().Observed(id)
	if e.Latch == term.LatchAcked || tx.Now().Sub(o.Since) >= doneOverAfter {
		tx.ReleaseLatch(id)
	}
}

// proveStart resolves a start in doubt by the number that the machine echoes.
func proveStart(tx *plant.Tx, id term.EquipmentID, r term.Reading) {
	t, open := tx.State().StartOf(id)
	if !open || t.State != term.TaskUnknown {
		return
	}
	o, _ := tx.Session().Observed(id)
	switch {
	case r.Echo == t.ActionNo && r.StartResult == term.StartRunning:
		started(tx, t)
	case r.Echo == t.ActionNo && r.StartResult == term.StartRefused:
		startFailed(tx, t, "the machine refused it")
	case forgot(tx, id, r):
	case term.NumberNewer(r.Echo, t.ActionNo) && !r.Go && o.Steady(tx.Now()):
		tx.FailTask(t.ID, term.PartUnknown, "it surely did not start: go is off and the machine echoes an older number")
		closeTaskQuestion(tx, t, "the machine's own number shows that it did not start")
	}
}

// forgot tells whether a machine that has begun a start of ours before shows none: it was restarted and has lost its
// memory, so that its silence about a number says nothing.
func forgot(tx *plant.Tx, id term.EquipmentID, r term.Reading) bool {
	if r.Echo != 0 {
		return false
	}
	e, _ := tx.State().EquipmentByID(id)
	for _, s := range tx.State().SlotsOf(id) {
		if !s.StartedAt.IsZero() {
			return true
		}
	}
	return e.HasCycle
}

// DoneAcknowledged: the machine was told that its done is stored.
func DoneAcknowledged(tx *plant.Tx, p message.DoneAcknowledged) message.Outcome {
	tx.DoneAcknowledged(p.Machine)
	if o, seen := tx.Session().Observed(p.Machine); seen && o.Reading.Reached && tx.Changed() {
		followLatch(tx, p.Machine, o.Reading) // done may have been read as 0 before this was said
	}
	if !tx.Changed() {
		return ignored("not awaited")
	}
	return accepted(plant.EquipmentSubject(p.Machine), string(p.Machine), string(term.LatchAcked))
}

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

// Shelf ends a shelving whose time is over.
func Shelf(tx *plant.Tx, d plant.Due) message.Outcome {
	a, open := tx.State().Alarm(term.AlarmID(d.Key))
	if !open || a.Version != d.Version {
		return ignored("over")
	}
	tx.UnshelveAlarm(a)
	return accepted(plant.AlarmSubject(a.ID), string(a.ID), string(a.State))
}
