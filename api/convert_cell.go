package api

import (
	"slices"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// stops are the holds and the open questions, by what they stop.
type stops struct {
	holds map[string][]*plant.Hold
	asked map[string][]*plant.Question
}

func newStops(holds []*plant.Hold, questions []*plant.Question) stops {
	s := stops{holds: map[string][]*plant.Hold{}, asked: map[string][]*plant.Question{}}
	for _, h := range holds {
		s.holds[h.Subject] = append(s.holds[h.Subject], h)
	}
	for _, q := range questions {
		for _, t := range q.Touches {
			s.asked[t] = append(s.asked[t], q)
		}
	}
	return s
}

func (s stops) holdsOf(subjects ...string) []Hold {
	held := []Hold{}
	for _, subject := range subjects {
		held = append(held, convert(s.holds[subject], holdJSON)...)
	}
	return held
}

func (s stops) actionsOf(subject string) []term.QuestionID {
	return convert(s.asked[subject], func(q *plant.Question) term.QuestionID { return q.ID })
}

// placeInDoubt tells of each finding whether nobody can say where the part is that it touches. Where the place is
// known, the part only waits for the answer.
var placeInDoubt = map[term.Finding]bool{
	term.FindJobSlot: true, term.FindSlotJob: true, term.FindSharedPlace: true, term.FindPlaceRange: true, term.FindTwoPlaces: true,
	term.FindPartMissing: true, term.FindPartForeign: true, term.FindGripper: true, term.FindGripperEmpty: true,
	term.FindTaskUnknown: true, term.FindEchoUnknown: true, term.FindJobMismatch: true, term.FindReportedPart: true, term.FindLateSuccess: true,

	term.FindCounters: false, term.FindNotRunning: false, term.FindUnreachable: false, term.FindFault: false, term.FindFlapping: false,
	term.FindActionFailed: false, term.FindUnexpected: false, term.FindOverdue: false, term.FindJudgement: false, term.FindParkedMessage: false,
}

// The customer's words for a part that something stops: its state stays beside them, so that it knows where to go on.
const (
	shownSuspended = "SUSPENDED" // its place is known
	shownError     = "ERROR"     // its place is in doubt
)

// shownState is the state of a part as people know it.
func (s stops) shownState(j *plant.Job) string {
	asked := s.asked[plant.JobSubject(j.ID)]
	switch {
	case j.State.Ended():
	case slices.ContainsFunc(asked, func(q *plant.Question) bool { return placeInDoubt[q.Finding] }):
		return shownError
	case len(asked) > 0, len(s.holds[plant.JobSubject(j.ID)]) > 0, len(s.holds[plant.OrderSubject(j.OrderID)]) > 0:
		return shownSuspended
	}
	return string(j.State)
}

func (s stops) orderJSON(r *plant.Order) Order {
	subject := plant.OrderSubject(r.ID)
	return Order{ID: r.ID, Version: r.Version, Product: r.Product, RouteID: r.RouteID, RouteRevision: r.RouteRevision, Steps: orEmpty(r.Steps),
		Priority: r.Priority, State: r.State, Inside: r.Inside, Planned: r.Planned, Completed: r.Completed, Scrapped: r.Scrapped,
		Cancelled: r.Cancelled, Left: r.Left(), Holds: s.holdsOf(subject), ManualActions: s.actionsOf(subject), Actor: r.Actor,
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt}
}

func (s stops) jobJSON(r *plant.Job) Job {
	return Job{ID: r.ID, Version: r.Version, OrderID: r.OrderID, Number: r.Number, State: r.State, ShownState: s.shownState(r),
		PositionType: r.Position.Type, PositionRefID: r.Position.Ref, TempSlotNo: r.TempSlotNo, StepIndex: r.StepIndex, Disposition: r.Disposition,
		PresentedTo: r.Presented, Context: r.Context, Holds: s.holdsOf(plant.JobSubject(r.ID), plant.OrderSubject(r.OrderID)),
		ManualActions: s.actionsOf(plant.JobSubject(r.ID)), EnteredAt: r.EnteredAt, EndedAt: r.EndedAt}
}

func (s stops) equipmentJSON(r *plant.Equipment, slots []*plant.Slot) Equipment {
	subject := plant.EquipmentSubject(r.ID)
	e := Equipment{ID: r.ID, Version: r.Version, Name: r.Name, Kind: r.Type, Status: r.Status, DoneLatch: r.Latch, Config: r.Config.WithDefaults(r.ID),
		Slots: []Slot{}, Holds: s.holdsOf(subject), ManualActions: s.actionsOf(subject)}
	if r.HasCycle {
		e.Cycle = &r.Cycle
	}
	for _, l := range slots {
		if l.EquipmentID == r.ID {
			e.Slots = append(e.Slots, slotJSON(l))
		}
	}
	slices.SortFunc(e.Slots, func(a, b Slot) int { return a.Number - b.Number })
	return e
}

func slotJSON(r *plant.Slot) Slot {
	return Slot{ID: r.ID, Version: r.Version, Number: r.Number, State: r.State, CurrentJobID: r.JobID, EnteredAt: r.EnteredAt,
		StartedAt: r.StartedAt, DueAt: r.DueAt}
}

func taskJSON(r *plant.Task) Task {
	return Task{ID: r.ID, Version: r.Version, Type: r.Type, JobID: r.JobID, OrderID: r.OrderID, EquipmentID: r.EquipmentID,
		From: placeJSON(r.From), To: placeJSON(r.To), Slot: r.Slot, Slots: r.Slots, Program: r.Program, State: r.State, ActionNo: r.ActionNo,
		Attempt: r.Attempt, Epoch: r.Epoch, PartAt: r.PartAt, Error: r.Error, Plan: r.Plan, DueAt: r.DueAt, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
}

func placeJSON(p term.Place) *term.Place {
	if p == (term.Place{}) {
		return nil
	}
	return &p
}

func palletJSON(r *plant.Pallet) Pallet {
	return Pallet{ID: r.ID, Version: r.Version, OrderID: r.OrderID, Places: r.Places, ArrivedAt: r.ArrivedAt, LeftAt: r.LeftAt}
}

func questionJSON(r *plant.Question) ManualAction {
	return ManualAction{ID: r.ID, Version: r.Version, Hash: r.Hash, State: r.State, Kind: r.Finding, Subject: r.Subject, Touches: orEmpty(r.Touches),
		Record: r.Record, Machine: r.Machine, Readings: orEmpty(r.Readings), Answers: orEmpty(r.Answers), Suggested: r.Suggested, TaskID: r.TaskID,
		JobID: r.JobID, Place: placeJSON(r.Place), OpenedAt: r.OpenedAt, BlocksRecovery: r.Open() && r.Finding.BlocksRecovery(), Answer: r.Answer, By: r.By, Reason: r.Reason, EndedAt: r.EndedAt}
}

func alarmJSON(r *plant.Alarm) Alarm {
	return Alarm{ID: r.ID, Version: r.Version, Kind: r.Type, Subject: r.Subject, State: r.State, Active: r.State.Active(), Text: r.Text, Count: r.Count,
		FirstOut: r.FirstOut, Shelvable: r.Type.Shelvable(), ShelvedUntil: r.ShelvedUntil, ShelvedBy: r.ShelvedBy, ShelveReason: r.ShelveReason,
		RaisedAt: r.RaisedAt, ClearedAt: r.ClearedAt, AckedBy: r.AckedBy, AckedAt: r.AckedAt, EndedAt: r.EndedAt}
}

func routeJSON(r *plant.Route) Route {
	return Route{ID: r.ID, Version: r.Version, Revision: r.Revision, Name: r.Name, Steps: orEmpty(r.Steps)}
}
