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

// ResolveManualAction takes a person's answer. It is bound to what the person saw: another version or other readings
// mean that the question is another one now, and the answer is refused with it.
func ResolveManualAction(tx *plant.Tx, m message.Message, p message.ResolveManualAction, known message.Known) message.Outcome {
	q, open := tx.State().Question(p.Question)
	subject := plant.QuestionSubject(p.Question)
	switch {
	case !open:
		return message.Outcome{Code: message.NotFound, Reason: "unknown_question", Detail: "There is no open question with this id: it was answered, or the difference is gone.", Subject: subject}
	case p.Reason == "":
		return message.Outcome{Code: message.Invalid, Problems: []message.Problem{{Pointer: "/reason", Detail: "say how you know"}}}
	case p.Version != q.Version || p.Hash != q.Hash:
		return refuse(subject, "changed", string(q.State), "The question has changed since you saw it. Now: %s; %s.", q.Record, q.Machine)
	case !q.Offers(p.Answer):
		return message.Outcome{Code: message.Invalid, Problems: []message.Problem{{Pointer: "/answer", Detail: fmt.Sprintf("%q is none of the answers to this question", p.Answer)}}}
	case moved(tx, q):
		return refuse(subject, "changed", string(q.State), "What the machines say has just changed; the question follows in a moment.")
	case !steady(tx, *q):
		return refuse(subject, "unsteady", string(q.State), "What the machines say has not stood still for a second yet.")
	}
	if why := production.StillAtWork(tx, q); why != "" {
		return refuse(subject, "working", string(q.State), "%s", why)
	}
	resolve(tx, q, p.Answer, m.Actor, p.Reason) // first: whatever the answer leads to, it is this person's; refused undoes it
	a := answerer{tx: tx, q: q, actor: m.Actor, reason: p.Reason, known: known}
	if why := a.apply(p.Answer); why != "" {
		return refuse(subject, "impossible", string(q.State), "This cannot be so: %s.", why)
	}
	Look(tx)
	return message.Outcome{Code: message.Accepted, Subject: subject, ID: string(q.ID), State: p.Answer}
}

type answerer struct {
	tx            *plant.Tx
	q             *plant.Question
	actor, reason string
	known         message.Known
}

// apply carries an answer into the record; a text says why it cannot be so.
func (a answerer) apply(word string) string {
	switch word {
	case term.AnswerRemoved:
		return a.removed()
	case term.AnswerWithout:
		for _, t := range a.q.Touches {
			for _, e := range a.tx.State().Equipment() {
				if t == plant.EquipmentSubject(e.ID) {
					a.tx.PlaceHold(t, term.HoldDisabled, a.actor, a.reason)
				}
			}
		}
		return ""
	case term.AnswerScrap:
		return a.scrap()
	case term.AnswerRetry, term.AnswerDismiss, term.AnswerMistaken:
		return a.letGo(word)
	}
	switch a.q.Finding {
	case term.FindTaskUnknown:
		return a.task(word)
	case term.FindReportedPart:
		return a.report()
	case term.FindCounters:
		return a.recount()
	}
	return a.placeOrStep(word)
}

// letGo: nothing changes but that the subject is free again. A done that means nothing is acknowledged.
func (a answerer) letGo(word string) string {
	if word == term.AnswerDismiss && (a.q.Finding == term.FindUnexpected || a.q.Finding == term.FindJobMismatch) {
		production.DropDone(a.tx, a.equipment())
	}
	return ""
}

// equipment that the question is about.
func (a answerer) equipment() term.EquipmentID {
	for _, e := range a.tx.State().Equipment() {
		if slices.Contains(a.q.Touches, plant.EquipmentSubject(e.ID)) {
			return e.ID
		}
	}
	return ""
}

func (a answerer) removed() string {
	if a.q.TaskID != "" {
		if t, open := a.tx.State().Task(a.q.TaskID); open {
			a.tx.CancelTask(t.ID, "the part was taken out by "+a.actor)
			a.tx.ResolveAlarm(term.AlarmTaskUnknown, plant.EquipmentSubject(t.EquipmentID))
		}
	}
	j, open := a.tx.State().Job(a.q.JobID)
	if !open {
		return ""
	}
	if t, moving := a.tx.State().TaskOf(j.ID); moving {
		return fmt.Sprintf("action %d for it is %s", t.ActionNo, t.State)
	}
	TakeOut(a.tx, j, a.reason)
	return ""
}

// TakeOut ends a part that a person took out of the cell.
func TakeOut(tx *plant.Tx, j *plant.Job, why string) {
	if j.Disposition == term.DispositionNone {
		j = tx.DisposeOfJob(j.ID, term.DispositionScrap, why)
	}
	for _, id := range tx.State().AskedAbout(plant.JobSubject(j.ID)) {
		if q, open := tx.State().Question(id); open && q.Subject == plant.JobSubject(j.ID) {
			resolve(tx, q, term.AnswerRemoved, "surehand", "the part was taken out")
		}
	}
	tx.FinishJob(j.ID, term.OutRemoved)
}

func (a answerer) scrap() string {
	j, open := a.tx.State().Job(a.q.JobID)
	if !open {
		return "the part has ended"
	}
	if t, ok := a.tx.State().Task(a.q.TaskID); ok { // a tool's action in doubt: the part is in the gripper
		a.tx.FailTask(t.ID, term.PartGripper, "answered by "+a.actor)
		a.tx.ResolveAlarm(term.AlarmTaskUnknown, plant.EquipmentSubject(t.EquipmentID))
	}
	if j.Disposition == term.DispositionNone {
		j = a.tx.DisposeOfJob(j.ID, term.DispositionScrap, a.reason)
	}
	switch {
	case a.q.Finding == term.FindNotRunning && j.State == term.Processing, j.State == term.WaitingJudgement:
		production.StepByPerson(a.tx, j, "fail", a.actor)
	case a.q.Finding == term.FindOverdue && j.State == term.Processing: // else nobody would ask again
		return a.wait(j)
	}
	return ""
}

// task: what became of an action in doubt.
func (a answerer) task(word string) string {
	t, open := a.tx.State().Task(a.q.TaskID)
	if !open {
		return "the action has ended"
	}
	return production.AnswerTask(a.tx, t, word, a.actor)
}

// placeOrStep: where a part is, or whether its step is done.
func (a answerer) placeOrStep(word string) string {
	j, open := a.tx.State().Job(a.q.JobID)
	switch word {
	case term.AnswerAccept: // echo
		for _, b := range a.q.Readings {
			if o, seen := a.tx.Session().Observed(b.Equipment); seen {
				a.tx.AcceptEcho(o.Reading.Echo)
			}
		}
		return ""
	case term.AnswerClear:
		a.tx.EmptySlot(a.q.Slot())
		return ""
	case term.AnswerFinished:
		if a.q.Finding == term.FindUnexpected || a.q.Finding == term.FindJobMismatch {
			production.DoneByPerson(a.tx, a.equipment(), a.q, a.actor)
			return ""
		}
	}
	if !open {
		return "the part has ended"
	}
	switch word {
	case term.AnswerHome:
		return correct(a.tx, j, term.BufferPlace(j.TempSlotNo), false)
	case term.AnswerNewPlace:
		return correct(a.tx, j, a.q.Place, false)
	case term.AnswerThere:
		if a.q.Finding == term.FindTwoPlaces {
			return correct(a.tx, j, term.SlotPlace(a.q.Slot()), false)
		}
		return correct(a.tx, j, j.Position, j.State == term.WaitingUnload || j.State == term.WaitingJudgement)
	case term.AnswerDone: // a late success
		if a.q.Place.Type == term.Out {
			if t, moving := a.tx.State().TaskOf(j.ID); moving {
				return fmt.Sprintf("action %d for it is %s", t.ActionNo, t.State)
			}
			a.tx.FinishJob(j.ID, term.OutExit)
			return ""
		}
		return correct(a.tx, j, a.q.Place, false)
	}
	return a.step(word, j)
}

// step: what becomes of the step of a part. It is over when the part has left its slot or the machine has finished it.
func (a answerer) step(word string, j *plant.Job) string {
	s, inSlot := a.tx.State().Slot(term.SlotID(j.Position.Ref))
	working := inSlot && j.State == term.Processing && s.JobID == j.ID && s.State == term.SlotOccupied
	switch {
	case word == term.AnswerGood, word == term.AnswerFinished:
		if !working && a.q.Finding != term.FindJudgement {
			return fmt.Sprintf("%s is %s at %s", j.ID, j.State, j.Position)
		}
		production.StepByPerson(a.tx, j, "", a.actor)
		return ""
	case !working:
		return fmt.Sprintf("%s is %s at %s", j.ID, j.State, j.Position)
	case word == term.AnswerRestart:
		a.tx.PostponeSlot(s.ID, time.Time{}, true)
		return ""
	case word == term.AnswerWait:
		return a.wait(j)
	}
	return "there is no such answer"
}

// wait gives a step its time once more.
func (a answerer) wait(j *plant.Job) string {
	o, _ := a.tx.State().Order(j.OrderID)
	if step, ok := o.Step(j); ok && step.Timeout > 0 {
		a.tx.PostponeSlot(term.SlotID(j.Position.Ref), a.tx.Now().Add(time.Duration(step.Timeout)), false)
	}
	return ""
}

// correct lets the record follow a person's word about a place.
func correct(tx *plant.Tx, j *plant.Job, p term.Place, stepDone bool) string {
	if t, moving := tx.State().TaskOf(j.ID); moving {
		return fmt.Sprintf("action %d for it is %s", t.ActionNo, t.State)
	}
	if why := production.CanStand(tx, j, p); why != "" {
		return why
	}
	if p.Type == term.Out {
		TakeOut(tx, j, "reported as removed")
		return ""
	}
	if j.Position != p {
		production.CloseStepQuestions(tx, j.ID, fmt.Sprintf("%s is at %s", j.ID, p))
	}
	tx.CorrectJobPlace(j.ID, p, stepDone)
	return ""
}

func (a answerer) report() string {
	j, open := a.tx.State().Job(a.q.JobID)
	if !open {
		return "the part has ended"
	}
	return correct(a.tx, j, a.q.Place, false)
}

func (a answerer) recount() string {
	for _, o := range a.tx.State().Orders() {
		if plant.OrderSubject(o.ID) != a.q.Subject {
			continue
		}
		ends, ok := a.known.Ends[o.ID]
		if !ok {
			return "the ended parts could not be counted"
		}
		a.tx.RecountOrder(o.ID, ends.Completed, ends.Scrapped, ends.Cancelled)
	}
	return ""
}

// ReportPart opens a question that shows what a person's report would change. It may be asked at any time.
func ReportPart(tx *plant.Tx, p message.ReportPart) message.Outcome {
	j, open := tx.State().Job(p.Job)
	subject := plant.JobSubject(p.Job)
	switch {
	case !open:
		return message.Outcome{Code: message.NotFound, Reason: "unknown_job", Detail: fmt.Sprintf("There is no open part %s.", p.Job)}
	case p.Reason == "":
		return message.Outcome{Code: message.Invalid, Problems: []message.Problem{{Pointer: "/reason", Detail: "say how you know"}}}
	case j.State == term.NotArrived:
		return refuse(subject, "not_arrived", string(j.State), "Part %s has not arrived; it comes with its pallet.", j.ID)
	}
	if t, moving := tx.State().TaskOf(j.ID); moving {
		return refuse(subject, "in_action", string(t.State), "Action %d for %s is %s. Wait for its end, or answer the question about it.", t.ActionNo, j.ID, t.State)
	}
	if p.Place.Type == term.Out {
		p.Place = term.OutPlace(term.OutRemoved)
	}
	if why := production.CanStand(tx, j, p.Place); why != "" {
		return message.Outcome{Code: message.Invalid, Problems: []message.Problem{{Pointer: "/place", Detail: fmt.Sprintf("%s cannot be at %s: %s", j.ID, p.Place, why)}}}
	}
	effect := fmt.Sprintf("The record follows: %s is at %s.", j.ID, p.Place)
	if p.Place.Type == term.Out {
		effect = fmt.Sprintf("%s ends as scrap: it was taken out of the cell.", j.ID)
	}
	id, n := p.Place.Slot()
	q := plant.Question{Finding: term.FindReportedPart, Subject: subject, JobID: j.ID, Place: p.Place,
		Record: fmt.Sprintf("%s is at %s (%s)", j.ID, j.Position, j.State), Machine: fmt.Sprintf("a person reports it at %s: %s", p.Place, p.Reason),
		Answers: []term.Answer{{Word: term.AnswerAccept, Effect: effect}, {Word: term.AnswerMistaken, Effect: "The report was wrong: nothing changes."}}}
	if n > 0 {
		q.Readings = production.Bound(tx, id)
	}
	opened, _ := tx.OpenQuestion(q)
	return message.Outcome{Code: message.Accepted, Subject: subject, ID: string(opened.ID), State: string(opened.State)}
}
