package line

import (
	"fmt"
	"strings"
)

// Describe is the cell in a few lines, for the message of a test that failed: parts, registers, the last actions and
// cycles, and every violation.
func (w *World) Describe() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := &strings.Builder{}
	b.WriteString("parts:")
	for _, s := range w.spotsInOrder() {
		for _, p := range s.parts {
			fmt.Fprintf(b, " %s (%d): %s;", s.name, s.number, p.ID)
		}
	}
	if w.gripper != nil {
		fmt.Fprintf(b, " gripper: %s;", w.gripper.ID)
	}
	fmt.Fprintf(b, " left: %s\n", strings.Join(tail(w.left, 8), " "))
	w.robot.describe(b)
	if d := w.robot.doing; d != nil && d.stuck {
		fmt.Fprintf(b, "  stuck in action %d\n", d.action.No)
	}
	for _, m := range w.machines {
		m.describe(b)
	}
	for _, a := range tail(w.truth.actions, 5) {
		fmt.Fprintf(b, "action %d: code %d from %d to %d part %q: %s error %d part_at %d\n",
			a.No, a.Code, a.From, a.To, a.Part, a.Outcome, a.Error, a.PartAt)
	}
	for _, c := range tail(w.truth.cycles, 5) {
		fmt.Fprintf(b, "cycle %d of %s: slot %d program %d parts %v: %s, shown %d times\n",
			c.No, c.Machine, c.Slot, c.Program, c.Parts, c.Outcome, c.Raised)
	}
	for _, m := range w.markers {
		m.describe(b)
	}
	for _, m := range tail(w.truth.marks, 5) {
		fmt.Fprintf(b, "mark %d by %s: %q on part %q: %s\n", m.No, m.Marker, m.Text, m.Part, m.Outcome)
	}
	for _, i := range tail(w.truth.Ignored, 5) {
		fmt.Fprintf(b, "ignored by %s: %d: %s\n", i.Endpoint, i.No, i.Reason)
	}
	for _, v := range w.truth.Violations {
		fmt.Fprintf(b, "VIOLATION %s\n", v)
	}
	return b.String()
}

// String is Describe.
func (w *World) String() string { return w.Describe() }

func (c *Controller) describe(b *strings.Builder) {
	state := ""
	if c.off {
		state += " off"
	}
	if c.frozen {
		state += " frozen"
	}
	fmt.Fprintf(b, "%s%s: command %v status %v\n", c.name, state, c.command, c.program.status())
}

func tail[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }
