package production

import (
	"fmt"
	"slices"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// ActionEnded takes a worker's result. It counts while its task is RUNNING, or UNKNOWN with its question open; for a
// task that has ended it is stale and changes nothing (C-7), unless it says that something happened which was taken
// for not done.
func ActionEnded(tx *plant.Tx, p message.ActionEnded) message.Outcome {
	t, known := tx.FindTask(p.Task)
	p = understood(p)
	switch {
	case !known:
		tx.Count("result_stale", "unknown_task")
		return refused(plant.TaskSubject(p.Task), "stale", "", "There is no task %s.", p.Task)
	case t.Attempt != p.Attempt || t.Epoch != p.Epoch || t.Type != p.Kind:
		tx.Count("result_stale", "other_attempt")
		return refused(plant.TaskSubject(t.ID), "stale", string(t.State), "The result is of another attempt or process life.")
	case t.State.Ended():
		return afterTheEnd(tx, t, p)
	case t.State == term.TaskUnknown && p.Outcome == term.Unknown:
		return ignored("unknown already")
	}
	switch {
	case p.Outcome == term.Unknown:
		doubt(tx, t, p.Error)
	case t.Type == term.TaskStartMachine && p.Outcome == term.Done:
		started(tx, t)
	case t.Type == term.TaskStartMachine:
		startEnded(tx, t, p)
	case t.Type == term.TaskMove:
		moved(tx, t, p)
	default:
		toolEnded(tx, t, p)
	}
	state := term.TaskUnknown
	if t, _ = tx.FindTask(t.ID); t != nil {
		state = t.State
	}
	return accepted(plant.TaskSubject(t.ID), string(t.ID), string(state))
}

// understood is a result of which nothing is believed that is not one of the known words: what cannot be read has an
// unknown outcome. What was not even tried leaves the part where it was.
func understood(p message.ActionEnded) message.ActionEnded {
	if p.Outcome != term.Done && p.Outcome != term.NotDone || p.Unsent && p.Outcome == term.Done {
		p.Outcome, p.Unsent = term.Unknown, false
	}
	switch {
	case p.Unsent:
		p.PartAt = term.PartAtFrom
	case p.PartAt != term.PartAtFrom && p.PartAt != term.PartGripper && p.PartAt != term.PartAtTo:
		p.PartAt = term.PartUnknown
	}
	return p
}

// landed is where a move left its part; why says what is not believed of that. A part that was held up before a tool
// is in the gripper, and that is where it was to go.
func landed(tx *plant.Tx, t *plant.Task, p message.ActionEnded) (at term.PartAt, why string) {
	at = p.PartAt
	if p.Outcome == term.Done && at == term.PartGripper && t.To.Type == term.OnRobot {
		at = term.PartAtTo
	}
	switch {
	case at == term.PartUnknown:
		return at, "the robot does not say where the part is: " + p.Error
	case p.Outcome == term.Done && at != term.PartAtTo:
		return at, fmt.Sprintf("the robot says that it is done, and that the part is at: %s", p.PartAt)
	}
	return at, canLand(tx, t, at)
}

// placeOf is the place that a word about a part after an action means.
func placeOf(t *plant.Task, at term.PartAt) term.Place {
	switch {
	case at == term.PartAtFrom:
		return t.From
	case at == term.PartGripper, t.To.Type == term.OnRobot:
		return term.GripperPlace()
	}
	return t.To
}

// afterTheEnd: a result that contradicts what the task ended with means that the record may be wrong about a part: a
// success of what was taken for not done, or another place than the one that was recorded. The cell is held by the
// question and a person says where the part is.
func afterTheEnd(tx *plant.Tx, t *plant.Task, p message.ActionEnded) message.Outcome {
	tx.Count("result_stale", string(t.State))
	if !contradicts(t, p) {
		return refused(plant.TaskSubject(t.ID), "stale", string(t.State), "The task is %s; the result changes nothing.", t.State)
	}
	subject := plant.TaskSubject(t.ID)
	to := placeOf(t, p.PartAt)
	says := "success"
	if p.Outcome == term.Done && p.PartAt == term.PartUnknown {
		to = placeOf(t, term.PartAtTo)
	} else if p.Outcome != term.Done {
		says = "no success"
	}
	tx.RaiseAlarm(term.AlarmLateEvidence, subject, fmt.Sprintf("the move of %s from %s to %s ended otherwise than recorded: %s, part at %s", t.JobID, t.From, t.To, says, p.PartAt))
	place := "is out"
	answers := []term.Answer{{Word: term.AnswerDismiss, Effect: "The record is right, or the part was reported otherwise: nothing changes."}}
	if j, open := tx.State().Job(t.JobID); open {
		place = "is on " + j.Position.String()
		if CanStand(tx, j, to) == "" {
			answers = append([]term.Answer{{Word: term.AnswerDone, Effect: fmt.Sprintf("The part is at %s: the record follows.", to)}}, answers...)
		}
	}
	_, asked := tx.OpenQuestion(plant.Question{Finding: term.FindLateSuccess, Subject: subject, TaskID: t.ID, JobID: t.JobID, Place: to,
		Touches: []string{plant.CellSubject, plant.JobSubject(t.JobID)},
		Record:  fmt.Sprintf("action %d is %s; %s %s", t.ActionNo, t.State, t.JobID, place), Machine: says + ": part at " + string(p.PartAt), Answers: answers})
	if !asked {
		return ignored("asked")
	}
	return message.Outcome{Code: message.Accepted, Reason: "late_success", Subject: subject, State: string(t.State)}
}

// contradicts tells whether a result of a move that has ended says something else than what it ended with.
func contradicts(t *plant.Task, p message.ActionEnded) bool {
	switch {
	case t.Type != term.TaskMove || p.Outcome == term.Unknown || p.Unsent:
		return false
	case p.Outcome == term.Done && t.State != term.TaskSucceeded:
		return true
	}
	elsewhere := p.PartAt != term.PartUnknown && t.PartAt != term.PartUnknown && placeOf(t, p.PartAt) != placeOf(t, t.PartAt)
	return elsewhere && (p.Outcome == term.NotDone || t.State == term.TaskSucceeded)
}

// doubt: it may have happened. The robot or the machine stays taken until evidence or a person says what did.
func doubt(tx *plant.Tx, t *plant.Task, why string) {
	if t.State == term.TaskRunning {
		t = tx.DoubtTask(t.ID, why)
	}
	if proveMark(tx, t.EquipmentID) {
		return
	}
	AskAboutTask(tx, t)
}

// started: a machine works on the parts in the slots of a start.
func started(tx *plant.Tx, t *plant.Task) {
	tx.FinishTask(t.ID, "")
	for _, n := range t.Slots {
		s, ok := tx.State().Slot(term.NewSlotID(t.EquipmentID, n))
		if !ok || !covers(t, s) || !s.StartedAt.IsZero() {
			continue
		}
		due := time.Time{}
		if j, ok := tx.State().Job(s.JobID); ok {
			o, _ := tx.State().Order(j.OrderID)
			if step, ok := o.Step(j); ok && step.Timeout > 0 {
				due = tx.Now().Add(time.Duration(step.Timeout))
			}
		}
		tx.StartSlot(s.ID, due)
	}
	closeTaskQuestion(tx, t, "the machine echoes the number of this start")
	settled(tx, plant.EquipmentSubject(t.EquipmentID))
}

// covers tells whether a start is about the part that is in a slot now: a part that came later is not started by it.
func covers(t *plant.Task, s *plant.Slot) bool {
	return s.State == term.SlotOccupied && s.EquipmentID == t.EquipmentID && slices.Contains(t.Slots, s.Number) && !s.EnteredAt.After(t.CreatedAt)
}

// startEnded: a start surely did not happen.
func startEnded(tx *plant.Tx, t *plant.Task, p message.ActionEnded) {
	if p.Unsent {
		tx.FailTask(t.ID, "", p.Error)
		closeTaskQuestion(tx, t, "nothing was sent")
		return
	}
	startFailed(tx, t, p.Error)
}

func startFailed(tx *plant.Tx, t *plant.Task, why string) {
	tx.FailTask(t.ID, "", why)
	closeTaskQuestion(tx, t, why)
	subject := plant.EquipmentSubject(t.EquipmentID)
	tx.RaiseAlarm(term.AlarmTaskFailed, subject, fmt.Sprintf("%s did not start: %s", t.EquipmentID, why))
	tx.OpenQuestion(plant.Question{Finding: term.FindActionFailed, Subject: subject, TaskID: t.ID,
		Record: fmt.Sprintf("start %d of slots %v surely did not happen", t.ActionNo, t.Slots), Machine: why,
		Answers: []term.Answer{
			{Word: term.AnswerRetry, Effect: "The cause is gone: the machine is started again, with a new number."},
			{Word: term.AnswerWithout, Effect: "The cell runs without this machine; parts in it stay until they are reported."},
		}})
}

// settled ends the alarms about an action of a subject.
func settled(tx *plant.Tx, subject string) {
	tx.ResolveAlarm(term.AlarmTaskFailed, subject)
	tx.ResolveAlarm(term.AlarmTaskUnknown, subject)
}

// moved: the robot says where the part is. What it says and cannot be so leaves the action in doubt.
func moved(tx *plant.Tx, t *plant.Task, p message.ActionEnded) {
	at, why := landed(tx, t, p)
	if why != "" {
		doubt(tx, t, why)
		return
	}
	if p.Outcome == term.Done {
		tx.FinishTask(t.ID, p.PartAt)
	} else {
		tx.FailTask(t.ID, p.PartAt, p.Error)
	}
	place(tx, t, at)
	closeTaskQuestion(tx, t, "the robot's own result: part at "+string(p.PartAt))
	robot := plant.EquipmentSubject(t.EquipmentID)
	if p.Outcome == term.Done || p.Unsent {
		settled(tx, robot)
		endOnDock(tx, t.JobID)
		return
	}
	tx.RaiseAlarm(term.AlarmTaskFailed, robot, fmt.Sprintf("the move of %s from %s to %s failed: %s", t.JobID, t.From, t.To, p.Error))
	subject := plant.JobSubject(t.JobID)
	answers := []term.Answer{
		{Word: term.AnswerRetry, Effect: "The cause is gone: the robot may go on."},
		{Word: term.AnswerScrap, Effect: "The robot may go on, and carries the part to the exit as scrap."},
		{Word: term.AnswerRemoved, Effect: "You have taken the part out of the cell: it ends as scrap."},
	}
	tx.OpenQuestion(plant.Question{Finding: term.FindActionFailed, Subject: subject, Touches: []string{robot}, TaskID: t.ID, JobID: t.JobID,
		Record: fmt.Sprintf("action %d from %s to %s", t.ActionNo, t.From, t.To), Machine: fmt.Sprintf("%s; the part is at: %s", p.Error, p.PartAt), Answers: answers})
}

// place lets the record follow a part to where its action, or an answer about it, left it.
func place(tx *plant.Tx, t *plant.Task, at term.PartAt) {
	switch {
	case at == term.PartAtFrom:
		tx.ReturnJobToRest(t.JobID)
	case at == term.PartGripper:
		tx.MoveJobToGripper(t.JobID, "")
	case t.To.Type == term.OnRobot:
		tx.MoveJobToGripper(t.JobID, term.EquipmentID(t.To.Ref))
	case t.To.Type == term.OnBuffer:
		tx.MoveJobToBuffer(t.JobID)
	case t.To.Type == term.OnEquipment:
		tx.MoveJobToEquipment(t.JobID, term.SlotID(t.To.Ref))
	case t.To.Type == term.Out:
		tx.FinishJob(t.JobID, term.OutExit)
	}
}

// toolEnded: a scan or a mark. The part is still in the gripper.
func toolEnded(tx *plant.Tx, t *plant.Task, p message.ActionEnded) {
	tool := plant.EquipmentSubject(t.EquipmentID)
	if p.Outcome == term.Done {
		tx.FinishTask(t.ID, term.PartGripper)
		tx.CompleteStep(t.JobID, term.StepResult{Equipment: t.EquipmentID, Code: p.Code, Data: marked(tx, t)})
		closeTaskQuestion(tx, t, "the tool's own result")
		settled(tx, tool)
		return
	}
	tx.FailTask(t.ID, term.PartGripper, p.Error)
	closeTaskQuestion(tx, t, p.Error)
	if p.Unsent {
		return
	}
	tx.RaiseAlarm(term.AlarmTaskFailed, tool, fmt.Sprintf("%s of %s failed: %s", t.Type, t.JobID, p.Error))
	tx.OpenQuestion(plant.Question{Finding: term.FindActionFailed, Subject: plant.JobSubject(t.JobID), TaskID: t.ID, JobID: t.JobID,
		Record: fmt.Sprintf("%s by %s, action %d", t.Type, t.EquipmentID, t.ActionNo), Machine: p.Error,
		Answers: []term.Answer{
			{Word: term.AnswerRetry, Effect: "The part is shown to the tool again."},
			{Word: term.AnswerScrap, Effect: "The part is carried to the exit as scrap."},
		}})
}

// closeTaskQuestion closes the question about a task in doubt: its own result has come.
func closeTaskQuestion(tx *plant.Tx, t *plant.Task, why string) {
	if q, open := tx.State().QuestionOf(term.FindTaskUnknown, plant.TaskSubject(t.ID)); open {
		tx.ResolveQuestion(q, term.AnswerEvidence, "surehand", why)
	}
	tx.ResolveAlarm(term.AlarmTaskUnknown, plant.EquipmentSubject(t.EquipmentID))
}

// CanStand says why a part may not be recorded on a place; empty: it may.
func CanStand(tx *plant.Tx, j *plant.Job, p term.Place) string {
	cell, ok := tx.State().Cell()
	if !ok {
		return "there is no cell"
	}
	if other, taken := tx.State().JobAt(p); taken && other.ID != j.ID {
		return fmt.Sprintf("%s is recorded there", other.ID)
	}
	for _, t := range tx.State().Tasks() {
		if t.To == p && t.JobID != j.ID && p.Occupies() {
			return fmt.Sprintf("an action for %s is to bring a part there", t.JobID)
		}
	}
	switch p.Type {
	case term.OnBuffer:
		n := p.Number()
		if p != term.BufferPlace(n) {
			return "a buffer place is a number from 1"
		}
		if n < 1 || n > cell.Config.Buffer.Count {
			return fmt.Sprintf("the buffer has places 1 to %d", cell.Config.Buffer.Count)
		}
		for _, o := range tx.State().Placed() {
			if o.ID != j.ID && o.TempSlotNo == n {
				return fmt.Sprintf("it is %s's own place", o.ID)
			}
		}
	case term.OnEquipment:
		s, ok := tx.State().Slot(term.SlotID(p.Ref))
		if !ok {
			return "there is no such slot"
		}
		if s.JobID != "" && s.JobID != j.ID {
			return fmt.Sprintf("%s is recorded in it", s.JobID)
		}
	case term.OnDock:
		if j.Position.Type != term.OnDock || j.Position != p {
			return "parts come to the dock only on their pallet"
		}
	case term.OnRobot:
		if p != term.GripperPlace() {
			return "the robot has gripper 1"
		}
		if t, busy := tx.State().RobotTask(); busy && t.JobID != j.ID {
			return fmt.Sprintf("an action for %s has the robot", t.JobID)
		}
		if j.TempSlotNo == 0 {
			return "the part has no buffer place of its own that it could be put on"
		}
	case term.Out:
	default:
		return "no place in the cell"
	}
	return ""
}
