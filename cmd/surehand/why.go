package main

import (
	"fmt"
	"strings"
	"time"

	"surehand/api"
	"surehand/internal/term"
)

// Why the cell stands, in the words that end each look at it.

// cell reads the cell; nil: no plant file was imported.
func (c *commands) cell() (*api.Cell, error) {
	var cell api.Cell
	_, err := c.get("/cell", &cell)
	switch {
	case is(err, codeNoSuchThing):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &cell, nil
}

// sayWhy ends a list with why the cell stands.
func (c *commands) sayWhy() error {
	cell, err := c.cell()
	if err != nil || cell == nil {
		return err
	}
	return c.say("%s", why(cell, true, time.Now()))
}

// why says in a few lines why the cell stands; empty: it does not. elsewhere: what is shown is not the recovery itself.
func why(cell *api.Cell, elsewhere bool, now time.Time) string {
	var lines []string
	for _, h := range cell.Holds {
		switch h.Hold {
		case term.HoldPaused:
			lines = append(lines, pausedText(h, now))
		case term.HoldRecovery:
			if elsewhere {
				lines = append(lines, "The cell is held for the recovery: 'surehand recovery list' says what it needs.")
			}
		default:
			lines = append(lines, fmt.Sprintf("The cell is held, %s by %s (%s).", h.Hold, h.By, h.Why))
		}
	}
	if waiting := cell.WaitingFor; waiting != "" && !(len(cell.Holds) > 0 && strings.HasPrefix(waiting, "cell is ")) { // the hold has said that
		if waiting != "nothing to do" {
			waiting = "waiting for: " + strings.TrimPrefix(waiting, "waiting for ")
		}
		lines = append(lines, strings.ToUpper(waiting[:1])+waiting[1:])
	}
	var ill []string
	for n := range cell.Equipment {
		if text := unwell(&cell.Equipment[n]); text != "" {
			ill = append(ill, text)
		}
	}
	if len(ill) > 0 {
		lines = append(lines, "Not well: "+strings.Join(ill, ", "))
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

func pausedText(h api.Hold, now time.Time) string {
	return fmt.Sprintf("The cell is paused by %s since %s%s: 'surehand cell release' lets it go on.", h.By, clock(h.At, now), because(h.Why))
}

// paused is the hold of a paused cell.
func paused(cell *api.Cell) (api.Hold, bool) {
	for _, h := range cell.Holds {
		if h.Hold == term.HoldPaused {
			return h, true
		}
	}
	return api.Hold{}, false
}

// clock is a time as the wall shows it, with the day when that is another one.
func clock(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

// unwell says why an equipment cannot be used; empty: it can.
func unwell(e *api.Equipment) string {
	var parts []string
	if e.Status == term.Offline || e.Status == term.EquipmentFault {
		parts = append(parts, string(e.Status))
	}
	for _, h := range e.Holds {
		switch h.Hold {
		case term.HoldDisabled:
			parts = append(parts, "disabled by "+h.By+because(h.Why))
		case term.HoldRecovery:
			parts = append(parts, "not compared yet"+because(h.Why))
		default:
			parts = append(parts, string(h.Hold)+" by "+h.By+because(h.Why))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return string(e.ID) + " " + strings.Join(parts, " and ")
}

// unread tells whether an equipment still has to be compared: nobody should confirm before.
func unread(cell *api.Cell) bool {
	for _, e := range cell.Equipment {
		compared, disabled := true, false
		for _, h := range e.Holds {
			compared = compared && h.Hold != term.HoldRecovery
			disabled = disabled || h.Hold == term.HoldDisabled
		}
		if !compared && !disabled {
			return true
		}
	}
	return false
}

// placeText is a place as 'surehand part report' takes it.
func placeText(p term.Place) string {
	switch p.Type {
	case term.Nowhere:
		return "not arrived"
	case term.OnDock:
		return "dock:" + p.Ref
	case term.OnBuffer:
		return "buffer:" + p.Ref
	case term.OnRobot:
		if p == term.GripperPlace() {
			return "gripper"
		}
		return "gripper, at " + p.Ref
	case term.Out:
		return "out (" + p.Ref + ")"
	}
	return p.Ref
}

// taskText is an action in words.
func taskText(t *api.Task) string {
	text := string(t.Type)
	switch {
	case t.Type == term.TaskMove && t.From != nil && t.To != nil:
		text = fmt.Sprintf("%s brings %s from %s to %s", t.EquipmentID, t.JobID, placeText(*t.From), placeText(*t.To))
	case t.Type == term.TaskStartMachine:
		text = fmt.Sprintf("%s is started", t.EquipmentID)
	case t.JobID != "":
		text = fmt.Sprintf("%s of %s by %s", t.Type, t.JobID, t.EquipmentID)
	}
	text += fmt.Sprintf(" (action %d", t.ActionNo)
	if t.State == term.TaskUnknown {
		text += ", which may have happened"
	}
	return text + ")"
}
