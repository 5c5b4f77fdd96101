package api

import (
	"context"
	"time"

	"surehand/internal/dbstate/read"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Reader is what the API asks the database; *read.Reader is the one there is.
type Reader interface {
	Ping(context.Context) error
	Fence(context.Context) (plant.Fence, error)

	Commands(context.Context, read.CommandFilter) (read.Page[*plant.Intent], error)
	Command(context.Context, term.IntentID) (*plant.Intent, error)
	CommandTimeline(context.Context, term.IntentID) ([]read.TimelineItem, error)
	TopTimeouts(ctx context.Context, since time.Time, limit int) ([]read.Timeouts, error)

	Executions(context.Context, read.ExecutionFilter) (read.Page[*plant.Execution], error)
	Execution(context.Context, term.ExecutionID) (*plant.Execution, error)
	ExecutionTimeline(context.Context, term.ExecutionID) (read.ExecutionStory, error)
	Events(context.Context, read.EventFilter) (read.Page[*plant.Event], error)

	Organisations(context.Context) ([]*plant.Organisation, error)
	Farms(context.Context) ([]*plant.Farm, error)
	Profiles(context.Context) ([]*plant.Profile, error)
	Profile(context.Context, term.ProfileID) (*plant.Profile, error)
	Devices(context.Context, read.DeviceFilter) (read.Page[*plant.Device], error)
	Device(context.Context, term.DeviceID) (*plant.Device, error)
	EndpointsOf(context.Context, term.DeviceID) ([]*plant.Endpoint, error)
	Rules(context.Context, read.RuleFilter) (read.Page[*plant.Rule], error)
	Holds(context.Context) ([]*plant.Hold, error)

	LogAfter(ctx context.Context, generation string, seq int64, limit int) ([]plant.Entry, plant.Fence, error)
	LogPage(context.Context, read.LogFilter) (read.Page[*plant.Entry], error)
	Parked(ctx context.Context, cursor string, limit int) (read.Page[*plant.Parked], error)
}

var _ Reader = (*read.Reader)(nil)

// Wanted next, of the production half (api is written against these; the filters are of package read):
//
//	Orders(ctx, read.OrderFilter{States []term.OrderState; Cursor string; Limit int}) (read.Page[*plant.Order], error)  newest first
//	Order(ctx, term.OrderID) (*plant.Order, error)
//	OrderTimeline(ctx, term.OrderID) ([]read.TimelineItem, error)
//	Jobs(ctx, read.JobFilter{Order term.OrderID; States []term.JobState; Cursor; Limit}) (read.Page[*plant.Job], error)  by order and number
//	Job(ctx, term.JobID); JobTimeline(ctx, term.JobID)
//	Placed(ctx) ([]*plant.Job, error)  the parts in the cell
//	Tasks(ctx, read.TaskFilter{States []term.TaskState; Order; Job; Equipment; Cursor; Limit}) (read.Page[*plant.Task], error)  newest first
//	Task(ctx, term.TaskID)
//	Pallets(ctx) ([]*plant.Pallet, error)  at the dock
//	Cell(ctx) (*plant.Cell, error)  ErrNotFound before the first import
//	Routes(ctx) ([]*plant.Route, error); Equipment(ctx) ([]*plant.Equipment, error); Slots(ctx) ([]*plant.Slot, error)
//	Questions(ctx, read.QuestionFilter{OnlyOpen bool; Cursor; Limit}) (read.Page[*plant.Question], error); Question(ctx, term.QuestionID)
//	Alarms(ctx, read.AlarmFilter{OnlyOpen bool; Cursor; Limit}) (read.Page[*plant.Alarm], error)
