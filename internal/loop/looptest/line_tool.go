package looptest

import (
	"time"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// lineTool is a scanner, or a marker with its last number and how that ended.
type lineTool struct {
	config plant.WatchedEquipment
	cut    bool
	told   string
	toldAt time.Time

	echo                      uint32
	busy, ended, failed, void bool
}

func (t *lineTool) reading() term.Reading {
	if t.cut {
		return term.Reading{Error: "cut"}
	}
	return term.Reading{Reached: true, Ready: true, Echo: t.echo, Busy: t.busy, Ended: t.ended, Failed: t.failed, Void: t.void}
}

// take makes a number the last one.
func (t *lineTool) take(no uint32) {
	t.echo, t.busy, t.ended, t.failed, t.void = no, false, false, false, false
}

func (l *Line) scan(p plant.Perform, m Mishap) {
	l.after(l.ScanTime, func() {
		part := l.On(Gripper)
		switch {
		case m == Refuses || m == Drops || part == "" || l.robot.at != p.To && p.To != 0 && l.robot.at == 0:
			l.result(p, term.NotDone, term.PartGripper, "", "NOREAD", false)
		case m == Silent || m == SilentBefore || m == AnswersLate || m == Stuck || m == StuckHolding || m == ArrivesLate:
			l.result(p, term.Unknown, term.PartGripper, "", "no answer", false)
		default:
			l.Visits[part] = append(l.Visits[part], string(p.EquipmentID))
			code := "code-" + part
			if l.Code != nil {
				code = l.Code(part)
			}
			l.result(p, term.Done, term.PartGripper, code, "", false)
		}
	})
}

// mark puts the text on the part that the robot holds at the marker's station, once for each number.
func (l *Line) mark(p plant.Perform, m Mishap) {
	t := l.tools[p.EquipmentID]
	why := plant.Markable(p.Text)
	switch {
	case why != "":
		l.after(time.Millisecond, func() { l.result(p, term.NotDone, term.PartGripper, "", why, false) })
	case t.cut: // its driver finds no link as long as the mark may begin
		l.after(plant.SendBefore, func() { l.notTried(p) })
	case m == SilentBefore, m == ArrivesLate:
		l.after(l.ScanTime, func() { l.result(p, term.Unknown, "", "", "no answer", false) })
		if m == ArrivesLate {
			l.after(6*l.ScanTime, func() { l.beginMark(t, p, Silent) })
		}
		l.withdraw(p.EquipmentID, p.ActionNo, p.Epoch, 3*l.ScanTime)
	default:
		l.after(50*time.Millisecond, func() { l.beginMark(t, p, m) })
	}
}

func (l *Line) beginMark(t *lineTool, p plant.Perform, m Mishap) {
	part := l.On(Gripper)
	switch {
	case t.busy || !term.MayBegin(t.echo, p.ActionNo): // the marker does nothing
		if m != Silent {
			l.result(p, term.NotDone, term.PartGripper, "", "its number is old", false)
		}
		return
	case part == "" || l.robot.at != p.To || l.robot.busy:
		l.violate("mark %d without a part at %d", p.ActionNo, p.To)
	}
	l.Executed[p.ActionNo]++
	t.take(p.ActionNo)
	t.busy = true
	l.after(l.ScanTime, func() { l.endMark(t, p, m, part) })
}

func (l *Line) endMark(t *lineTool, p plant.Perform, m Mishap, part string) {
	if !t.busy || t.echo != p.ActionNo {
		l.result(p, term.Unknown, "", "", "interrupted", false)
		return
	}
	if m == Refuses || m == Drops {
		t.busy, t.failed = false, true
		l.result(p, term.NotDone, term.PartGripper, "", "no contact", false)
		return
	}
	if m != Stuck {
		l.Visits[part] = append(l.Visits[part], string(p.EquipmentID))
		l.Marks[part] = append(l.Marks[part], p.Text)
		l.Marked[p.ActionNo] = part
		if l.On(Gripper) != part || l.robot.at != p.To {
			l.violate("%s was moved during mark %d", part, p.ActionNo)
		}
	}
	if m == Stuck || m == StuckHolding {
		l.result(p, term.Unknown, "", "", "hangs", false)
		return
	}
	t.busy, t.ended = false, true
	switch {
	case m == Silent || t.cut:
		l.result(p, term.Unknown, "", "", "the answer was lost", false)
	case m == AnswersLate:
		l.result(p, term.Unknown, "", "", "no answer yet", false)
		l.after(3*l.ScanTime, func() { l.result(p, term.Done, term.PartGripper, "", "", true) })
	default:
		l.result(p, term.Done, term.PartGripper, "", "", false)
	}
}

// withdraw does what a marker's driver does about a number in doubt, as long as its process lives: when the marker can be
// asked and has not begun it, it never will.
func (l *Line) withdraw(id term.EquipmentID, no uint32, epoch int64, in time.Duration) {
	l.after(in, func() {
		switch t := l.tools[id]; {
		case l.epoch != epoch:
		case t.cut || t.busy:
			l.withdraw(id, no, epoch, in)
		case term.MayBegin(t.echo, no):
			t.take(no)
			t.void = true
		}
	})
}
