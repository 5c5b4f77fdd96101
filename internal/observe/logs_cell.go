package observe

import (
	"log/slog"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// cell writes the stage that a changed row of the production half stands for; false: it is not of that half.
func (t turn) cell(c plant.Change) bool {
	say := func(level slog.Level, stage string, more ...any) { t.line(level, stage, keys{}, more...) }
	switch r := c.After.(type) {
	case *plant.Order:
		say(slog.LevelInfo, "order", "move", c.Move, "orderId", r.ID, "state", r.State, "planned", r.Planned, "completed", r.Completed,
			"scrapped", r.Scrapped, "cancelled", r.Cancelled)
	case *plant.Job:
		level := slog.LevelInfo
		if c.Before == nil {
			level = slog.LevelDebug // the order says how many there are
		}
		say(level, "part", "move", c.Move, "jobId", r.ID, "state", r.State, "position", r.Position.String(), "tempSlotNo", r.TempSlotNo,
			"step", r.StepIndex+1, "disposition", r.Disposition)
	case *plant.Task:
		level := slog.LevelInfo
		if r.State == term.TaskUnknown || r.State == term.TaskFailed {
			level = slog.LevelWarn
		}
		say(level, "action", "move", c.Move, "taskId", r.ID, "type", r.Type, "jobId", r.JobID, "equipment", r.EquipmentID, "from", r.From.String(),
			"to", r.To.String(), "actionNo", r.ActionNo, "state", r.State, "partAt", r.PartAt, "error", r.Error)
	case *plant.Slot:
		say(slog.LevelInfo, "slot", "move", c.Move, "slot", r.ID, "state", r.State, "jobId", r.JobID)
	case *plant.Equipment:
		level := slog.LevelInfo
		if before, ok := c.Before.(*plant.Equipment); ok && before.Status != r.Status && (r.Status == term.Offline || r.Status == term.EquipmentFault) {
			level = slog.LevelWarn
		}
		say(level, "equipment", "move", c.Move, "equipment", r.ID, "status", r.Status, "latch", r.Latch)
	case *plant.Question:
		level := slog.LevelWarn
		if !r.Open() {
			level = slog.LevelInfo
		}
		say(level, "question", "move", c.Move, "questionId", r.ID, "finding", r.Finding, "subject", r.Subject, "state", r.State, "record", r.Record,
			"machine", r.Machine, "answer", r.Answer, "by", r.By, "reason", r.Reason)
	case *plant.Alarm:
		level := slog.LevelInfo
		if r.State == term.AlarmUnacknowledged {
			level = slog.LevelWarn
		}
		say(level, "alarm", "move", c.Move, "alarmId", r.ID, "type", r.Type, "subject", r.Subject, "state", r.State, "text", r.Text, "count", r.Count)
	case *plant.Pallet:
		say(slog.LevelInfo, "pallet", "move", c.Move, "pallet", r.ID, "orderId", r.OrderID, "places", r.Places)
	case *plant.Cell:
		say(slog.LevelDebug, "cell", "move", c.Move, "revision", r.Revision, "waitingFor", r.WaitingFor, "lastActionNo", r.LastActionNo)
	case *plant.Route:
		say(slog.LevelInfo, "route", "move", c.Move, "route", r.ID, "revision", r.Revision)
	default:
		return false
	}
	return true
}
