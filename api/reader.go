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

	Orders(context.Context, read.OrderFilter) (read.Page[*plant.Order], error)
	Order(context.Context, term.OrderID) (*plant.Order, error)
	OrderTimeline(context.Context, term.OrderID) ([]read.TimelineItem, error)
	Jobs(context.Context, read.JobFilter) (read.Page[*plant.Job], error)
	Job(context.Context, term.JobID) (*plant.Job, error)
	JobTimeline(context.Context, term.JobID) ([]read.TimelineItem, error)
	Tasks(context.Context, read.TaskFilter) (read.Page[*plant.Task], error)
	Task(context.Context, term.TaskID) (*plant.Task, error)

	Overview(context.Context) (read.CellOverview, error)
	Cell(context.Context) (*plant.Cell, error)
	Routes(context.Context) ([]*plant.Route, error)
	Equipment(context.Context) ([]*plant.Equipment, error)
	Slots(context.Context) ([]*plant.Slot, error)
	Questions(context.Context, read.QuestionFilter) (read.Page[*plant.Question], error)
	Question(context.Context, term.QuestionID) (*plant.Question, error)
	Alarms(context.Context, read.AlarmFilter) (read.Page[*plant.Alarm], error)

	LogAfter(ctx context.Context, generation string, seq int64, limit int) ([]plant.Entry, plant.Fence, error)
	LogPage(context.Context, read.LogFilter) (read.Page[*plant.Entry], error)
	Parked(ctx context.Context, cursor string, limit int) (read.Page[*plant.Parked], error)
}

var _ Reader = (*read.Reader)(nil)
