package api

import (
	"context"

	"surehand/internal/dbstate/read"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// fakeCell is a small cell: a part in the mill, one in the gripper, one that came back to the buffer, one on the dock.
type fakeCell struct {
	cell      plant.Cell
	orders    []*plant.Order
	jobs      []*plant.Job
	tasks     []*plant.Task
	equipment []*plant.Equipment
	slots     []*plant.Slot
	pallets   []*plant.Pallet
	questions []*plant.Question
	alarms    []*plant.Alarm
	holds     []*plant.Hold
	absent    bool // no plant file was imported
	asked     read.JobFilter
}

func newFakeCell() *fakeCell {
	job := func(n int, state term.JobState, at term.Place, own int) *plant.Job {
		return &plant.Job{ID: term.NewJobID("WO-1", n), Version: 2, OrderID: "WO-1", Number: n, State: state, Position: at, TempSlotNo: own,
			Disposition: term.DispositionNone, EnteredAt: noon}
	}
	return &fakeCell{
		cell: plant.Cell{Version: 9, Name: "Cell 1", Revision: 2, File: "cell: {}\n", LastActionNo: 41, WaitingFor: "the robot moves",
			Config: term.CellConfig{Dock: term.PlaceRow{Count: 4, First: 1}, Buffer: term.PlaceRow{Count: 3, First: 21}, Exit: 90}},
		orders: []*plant.Order{{ID: "WO-1", Version: 3, RouteID: "housing", Steps: []term.Step{{Kind: term.StepMachine, Group: "mill"}},
			State: term.OrderRunning, Planned: 6, Completed: 1, CreatedAt: noon}},
		jobs: []*plant.Job{
			job(1, term.Processing, term.SlotPlace("mill:2"), 1), job(2, term.Moving, term.GripperPlace(), 2),
			job(3, term.Waiting, term.BufferPlace(3), 3), job(4, term.Queued, term.DockPlace(4), 0),
		},
		tasks: []*plant.Task{
			{ID: idA, Version: 2, Type: term.TaskMove, JobID: "WO-1.2", OrderID: "WO-1", EquipmentID: "robot", From: term.GripperPlace(), To: term.BufferPlace(2),
				State: term.TaskRunning, ActionNo: 41, Attempt: 1, Epoch: 7, CreatedAt: noon, DueAt: noon,
				Plan: &term.Plan{Policy: "priority", Why: "place: WO-1.2", Candidates: []term.PlanCandidate{{Generator: "place", Job: "WO-1.2", From: term.GripperPlace(), To: term.BufferPlace(2)},
					{Generator: "unload", Job: "WO-1.1", From: term.SlotPlace("mill:2"), Reason: "it is processed"}}}},
			{ID: idB, Version: 2, Type: term.TaskStartMachine, EquipmentID: "mill", Slots: []int{2}, State: term.TaskRunning, ActionNo: 40, CreatedAt: noon},
		},
		equipment: []*plant.Equipment{
			{ID: "mill", Version: 4, Name: "Mill", Type: term.KindMachine, Status: term.EquipmentRunning, Latch: term.LatchNone, Cycle: 8, HasCycle: true,
				Config: term.EquipmentConfig{Slots: 2, First: 41}},
			{ID: "robot", Version: 1, Name: "Robot", Type: term.KindRobot, Status: term.EquipmentIdle, Latch: term.LatchNone},
		},
		slots: []*plant.Slot{{ID: "mill:2", Version: 5, EquipmentID: "mill", Number: 2, State: term.SlotOccupied, JobID: "WO-1.1", EnteredAt: noon},
			{ID: "mill:1", Version: 1, EquipmentID: "mill", Number: 1, State: term.SlotEmpty}},
		pallets: []*plant.Pallet{{ID: "P7", Version: 1, OrderID: "WO-1", Places: 4, ArrivedAt: noon}},
		questions: []*plant.Question{{ID: idB, Version: 3, State: term.QuestionOpen, Finding: term.FindOverdue, Subject: "equipment:mill",
			Touches: []string{"equipment:mill"}, Record: "WO-1.1 is processed", Machine: "no done", Hash: "abc", JobID: "WO-1.1", OpenedAt: noon,
			Answers: []term.Answer{{Word: term.AnswerWait, Effect: "It gets 5m more."}}, Suggested: term.AnswerWait}},
		alarms: []*plant.Alarm{{ID: idA, Version: 1, Type: term.AlarmPartLost, Subject: "job:WO-1.2", State: term.AlarmUnacknowledged, Text: "where is it?",
			Count: 1, FirstOut: true, RaisedAt: noon}},
	}
}

// stop puts a question or a hold to a subject.
func (c *fakeCell) ask(f term.Finding, subject string) {
	c.questions = append(c.questions, &plant.Question{ID: idA, Version: 1, State: term.QuestionOpen, Finding: f, Subject: subject, Touches: []string{subject}})
}

func (c *fakeCell) hold(reason term.HoldReason, subject string) {
	c.holds = append(c.holds, &plant.Hold{ID: idB, Subject: subject, Reason: reason, By: "local", At: noon})
}

// pageIn is a page of what a fake has; a second page is empty.
func pageIn[T any](f *fakeReader, filter any, cursor string, rows []T) (read.Page[T], error) {
	if err := f.asked(filter); err != nil || cursor != "" {
		return read.Page[T]{}, err
	}
	return read.Page[T]{Items: rows, Next: "next"}, nil
}

// only finds one of what a fake has.
func only[T interface{ Key() string }](f *fakeReader, key string, rows []T) (row T, err error) {
	for _, r := range rows {
		if r.Key() == key {
			return found(f, true, r)
		}
	}
	return found(f, false, row)
}

var story = []read.TimelineItem{{At: noon, Seq: 4, Kind: "move", Text: "StartOrder", From: "draft", To: "ready"}}

func (f *fakeReader) Orders(_ context.Context, q read.OrderFilter) (read.Page[*plant.Order], error) {
	return pageIn(f, q, "", f.cell.orders)
}
func (f *fakeReader) Order(_ context.Context, id term.OrderID) (*plant.Order, error) {
	return only(f, string(id), f.cell.orders)
}
func (f *fakeReader) OrderTimeline(_ context.Context, id term.OrderID) ([]read.TimelineItem, error) {
	return found(f, id == "WO-1", story)
}
func (f *fakeReader) Jobs(_ context.Context, q read.JobFilter) (read.Page[*plant.Job], error) {
	f.cell.asked = q
	return pageIn(f, q, "", f.cell.jobs)
}
func (f *fakeReader) Job(_ context.Context, id term.JobID) (*plant.Job, error) {
	return only(f, string(id), f.cell.jobs)
}
func (f *fakeReader) JobTimeline(_ context.Context, id term.JobID) ([]read.TimelineItem, error) {
	return found(f, id == "WO-1.1", story)
}
func (f *fakeReader) Tasks(_ context.Context, q read.TaskFilter) (read.Page[*plant.Task], error) {
	return pageIn(f, q, "", f.cell.tasks)
}
func (f *fakeReader) Task(_ context.Context, id term.TaskID) (*plant.Task, error) {
	return only(f, string(id), f.cell.tasks)
}
func (f *fakeReader) Overview(context.Context) (read.CellOverview, error) {
	o := read.CellOverview{Cell: &f.cell.cell, Holds: f.cell.holds, Pallets: f.cell.pallets, Orders: f.cell.orders, Placed: f.cell.jobs,
		RobotTask: f.cell.tasks[0], Starts: f.cell.tasks[1:], Questions: len(f.cell.questions), Alarms: len(f.cell.alarms)}
	for _, e := range f.cell.equipment {
		v := read.EquipmentView{Equipment: e}
		if e.ID == "mill" {
			v.Slots = f.cell.slots
		}
		o.Equipment = append(o.Equipment, v)
	}
	if f.cell.absent {
		o = read.CellOverview{}
	}
	return o, f.asked(nil)
}
func (f *fakeReader) Cell(context.Context) (*plant.Cell, error) {
	return found(f, !f.cell.absent, &f.cell.cell)
}
func (f *fakeReader) Routes(context.Context) ([]*plant.Route, error) {
	return []*plant.Route{{ID: "housing", Version: 1, Revision: 2, Name: "Pump housing"}}, f.asked(nil)
}
func (f *fakeReader) Equipment(context.Context) ([]*plant.Equipment, error) {
	return f.cell.equipment, f.asked(nil)
}
func (f *fakeReader) Slots(context.Context) ([]*plant.Slot, error) {
	return f.cell.slots, f.asked(nil)
}
func (f *fakeReader) Questions(_ context.Context, q read.QuestionFilter) (read.Page[*plant.Question], error) {
	return pageIn(f, q, q.Cursor, f.cell.questions)
}
func (f *fakeReader) Question(_ context.Context, id term.QuestionID) (*plant.Question, error) {
	return only(f, string(id), f.cell.questions)
}
func (f *fakeReader) Alarms(_ context.Context, q read.AlarmFilter) (read.Page[*plant.Alarm], error) {
	return pageIn(f, q, "", f.cell.alarms)
}
