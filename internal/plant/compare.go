package plant

import (
	"fmt"
	"reflect"
	"slices"
)

// Rows returns every row of the picture by kind and key.
func (s *State) Rows() []Row {
	var rows []Row
	rows = appendRows(rows, sortedRows(s.organisations))
	rows = appendRows(rows, sortedRows(s.farms))
	rows = appendRows(rows, sortedRows(s.profiles))
	rows = appendRows(rows, sortedRows(s.devices))
	rows = appendRows(rows, sortedRows(s.endpoints))
	rows = appendRows(rows, sortedRows(s.rules))
	rows = appendRows(rows, sortedRows(s.events))
	rows = appendRows(rows, sortedRows(s.executions))
	rows = appendRows(rows, sortedRows(s.intents))
	rows = appendRows(rows, sortedRows(s.attempts))
	rows = appendRows(rows, sortedRows(s.holds))
	return s.appendCellRows(rows)
}

func appendRows[R Row](to []Row, rows []R) []Row {
	for _, r := range rows {
		to = append(to, r)
	}
	return to
}

// Diff tells how two pictures differ, in words; empty when they are equal (invariant 13).
func Diff(a, b *State) string {
	if a.fence != b.fence {
		return fmt.Sprintf("fence: %+v against %+v", a.fence, b.fence)
	}
	ra, rb := a.Rows(), b.Rows()
	for i := range max(len(ra), len(rb)) {
		switch {
		case i >= len(ra):
			return fmt.Sprintf("only in the second: %s %s %+v", rb[i].Kind(), rb[i].Key(), rb[i])
		case i >= len(rb):
			return fmt.Sprintf("only in the first: %s %s %+v", ra[i].Kind(), ra[i].Key(), ra[i])
		case !reflect.DeepEqual(ra[i], rb[i]):
			return fmt.Sprintf("%s %s:\n first: %+v\nsecond: %+v", ra[i].Kind(), ra[i].Key(), ra[i], rb[i])
		}
	}
	switch {
	case !reflect.DeepEqual(a.bySerial, b.bySerial), !reflect.DeepEqual(a.byDevice, b.byDevice), !reflect.DeepEqual(a.byTrigger, b.byTrigger):
		return "derived indexes of the configuration differ"
	case !reflect.DeepEqual(a.byCommand, b.byCommand), !reflect.DeepEqual(a.holder, b.holder), !reflect.DeepEqual(a.queue, b.queue),
		!reflect.DeepEqual(a.openAttempt, b.openAttempt), !reflect.DeepEqual(a.held, b.held),
		!reflect.DeepEqual(a.waiting, b.waiting):
		return "derived indexes of the commands differ"
	case !reflect.DeepEqual(a.jobsOf, b.jobsOf), !reflect.DeepEqual(a.placed, b.placed), !reflect.DeepEqual(a.asked, b.asked),
		!reflect.DeepEqual(a.questionOf, b.questionOf), !reflect.DeepEqual(a.alarmOf, b.alarmOf):
		return "derived indexes of the cell differ"
	case !slices.Equal(a.pending, b.pending):
		return "pending events differ"
	case !slices.Equal(a.due.sorted(), b.due.sorted()):
		return "due times differ"
	}
	return ""
}
