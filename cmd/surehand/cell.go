package main

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"surehand/api"
	"surehand/internal/term"
)

type cellCommand struct {
	Show    cellShow    `cmd:"" help:"Show equipment and places, what is under way, and why nothing moves."`
	Pause   cellPause   `cmd:"" help:"Let no new action begin; a part in the gripper is put down first."`
	Release cellRelease `cmd:"" help:"End a pause of the cell."`
	Compare cellCompare `cmd:"" help:"Compare record and machines now; nothing moves until the recovery is confirmed."`
	Refill  cellRefill  `cmd:"" help:"Bring parts from the dock now, however few buffer places are free."`
}

type cellShow struct {
	JSON bool `name:"json" help:"As the interface says it."`
}

func (s *cellShow) Run(c *commands) error {
	var cell api.Cell
	data, err := c.get("/cell", &cell)
	switch {
	case is(err, codeNoSuchThing):
		return fmt.Errorf("there is no cell yet: surehand import plant.yaml")
	case err != nil:
		return err
	case s.JSON:
		return c.say("%s", data)
	}
	if err := c.say("Cell %s, revision %d of the plant file.\n\n", cell.Name, cell.Revision); err != nil {
		return err
	}
	if err := c.equipmentTable(cell.Equipment); err != nil {
		return err
	}
	text := "\n" + placesText("Dock", cell.Dock, term.OnDock) + placesText("Buffer", cell.Buffer, term.OnBuffer)
	if cell.Gripper != nil {
		text += fmt.Sprintf("Gripper: %s\n", cell.Gripper.ID)
	}
	for _, p := range cell.Pallets {
		text += fmt.Sprintf("Pallet at the dock: %s of order %s\n", p.ID, p.OrderID)
	}
	if cell.RobotTask != nil {
		text += "Under way: " + taskText(cell.RobotTask) + "\n"
	}
	for n := range cell.Starts {
		text += "Under way: " + taskText(&cell.Starts[n]) + "\n"
	}
	if cell.ManualActions > 0 {
		text += count(cell.ManualActions, "question") + ": 'surehand recovery list' shows what is asked.\n"
	}
	if cell.Alarms > 0 {
		text += fmt.Sprintf("%s, %d not acknowledged: 'surehand alarm list'.\n", count(cell.Alarms, "alarm"), cell.UnseenAlarms)
	}
	return c.say("%s\n%s", text, why(&cell, true, time.Now()))
}

// placesText is a row of places in one line: the parts that stand there, and the places kept for parts elsewhere.
func placesText(name string, places []api.CellPlace, row term.PositionType) string {
	var taken []string
	for _, p := range places {
		for _, j := range p.Jobs {
			text := fmt.Sprintf("%d %s", p.Number, j.ID)
			if j.PositionType != row {
				text += " (kept for it)"
			}
			taken = append(taken, text)
		}
	}
	if len(taken) == 0 {
		taken = []string{"empty"}
	}
	return fmt.Sprintf("%s, %s: %s\n", name, count(len(places), "place"), strings.Join(taken, ", "))
}

// cellReason is a command with a reason that may be left out.
type cellReason struct {
	Reason string `help:"Why; it stays in the record."`
}

type cellPause struct{ cellReason }

func (p *cellPause) Run(c *commands) error {
	if _, err := c.send("/cell/pause", map[string]string{"reason": p.Reason}); err != nil {
		return err
	}
	return c.say("The cell is paused: no new action begins. 'surehand cell release' lets it go on.\n")
}

type cellRelease struct{ cellReason }

func (r *cellRelease) Run(c *commands) error {
	answer, err := c.send("/cell/release", map[string]string{"reason": r.Reason})
	if err != nil {
		return err
	}
	if answer.State != "" {
		return c.say("The pause is over. The cell is still held: %s.\n", answer.State)
	}
	return c.say("The cell goes on.\n")
}

type cellCompare struct{}

func (*cellCompare) Run(c *commands) error {
	if _, err := c.send("/cell/compare", map[string]string{}); err != nil {
		return err
	}
	return c.say("The machines are being compared. 'surehand recovery list' shows what is found; nothing moves until it is confirmed.\n")
}

type cellRefill struct{}

func (*cellRefill) Run(c *commands) error {
	if _, err := c.send("/cell/refill", map[string]string{}); err != nil {
		return err
	}
	return c.say("Parts are brought from the dock as soon as a buffer place is free.\n")
}

type equipmentCommand struct {
	List    equipmentList    `cmd:"" help:"List machines, robot and tools."`
	Enable  equipmentEnable  `cmd:"" help:"Use it again; it is compared first."`
	Disable equipmentDisable `cmd:"" help:"Let the cell run without it."`
}

type equipmentList struct {
	JSON bool `name:"json" help:"As the interface says it."`
}

func (l *equipmentList) Run(c *commands) error {
	var list api.List[api.Equipment]
	data, err := c.get("/equipment", &list)
	if err != nil {
		return err
	}
	if l.JSON {
		return c.say("%s", data)
	}
	return c.equipmentTable(list.Items)
}

func (c *commands) equipmentTable(list []api.Equipment) error {
	return c.table("EQUIPMENT\tKIND\tSTATUS\tSLOTS\tPARTS\tHELD", len(list), func(n int) string {
		e := list[n]
		var parts []string
		for _, s := range e.Slots {
			if s.CurrentJobID != "" {
				parts = append(parts, fmt.Sprintf("%d %s", s.Number, s.CurrentJobID))
			}
		}
		slots := ""
		if len(e.Slots) > 0 {
			slots = fmt.Sprint(len(e.Slots))
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", e.ID, e.Kind, e.Status, slots, strings.Join(parts, ", "), held(e.Holds, len(e.ManualActions)))
	})
}

// equipmentReason is an equipment with the reason that it needs.
type equipmentReason struct {
	ID     string `arg:"" help:"Its id in the plant file."`
	Reason string `help:"Why; it stays in the record. Needed."`
}

func (e *equipmentReason) tell(c *commands, verb, example, done string) error {
	if err := reasonFor(e.Reason, example, "equipment", verb, e.ID); err != nil {
		return err
	}
	if _, err := c.send("/equipment/"+url.PathEscape(e.ID)+"/"+verb, map[string]string{"reason": e.Reason}); err != nil {
		return named(err, "equipment", e.ID)
	}
	return c.say(done+"\n", e.ID)
}

type equipmentEnable struct{ equipmentReason }

func (e *equipmentEnable) Run(c *commands) error {
	return e.tell(c, "enable", "why it may be used again", "%s is compared, and then used again.")
}

type equipmentDisable struct{ equipmentReason }

func (e *equipmentDisable) Run(c *commands) error {
	return e.tell(c, "disable", "what is wrong with it", "The cell runs without %s.")
}

type alarmCommand struct {
	List   alarmList   `cmd:"" help:"List alarms that are not normal."`
	Ack    alarmAck    `cmd:"" help:"Say that an alarm was seen."`
	Shelve alarmShelve `cmd:"" help:"Put an alarm aside for a time."`
}

type alarmList struct {
	All  bool `help:"Also those that are over, newest first."`
	JSON bool `name:"json" help:"As the interface says it."`
}

func (l *alarmList) Run(c *commands) error {
	list, err := all[api.Alarm](c, fmt.Sprintf("/alarms?limit=500&all=%t", l.All))
	if err != nil {
		return err
	}
	if l.JSON {
		return sayList(c, list)
	}
	now := time.Now()
	return c.table("ALARM\tKIND\tABOUT\tSTATE\tSINCE\tTIMES\tTEXT", len(list), func(n int) string {
		a := list[n]
		state := string(a.State)
		if !a.ShelvedUntil.IsZero() {
			state += " until " + clock(a.ShelvedUntil, now)
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%d\t%s", short(a.ID), a.Kind, subjectText(a.Subject), state, clock(a.RaisedAt, now), a.Count, a.Text)
	})
}

// alarm finds an open alarm by its id or a part of it.
func (c *commands) alarm(id string) (api.Alarm, error) {
	list, err := all[api.Alarm](c, "/alarms?limit=500&all=false")
	if err != nil {
		return api.Alarm{}, err
	}
	return one(list, "alarm", id, func(a api.Alarm) string { return string(a.ID) })
}

type alarmAck struct {
	ID string `arg:"" help:"The alarm, as 'surehand alarm list' shows it."`
}

func (a *alarmAck) Run(c *commands) error {
	alarm, err := c.alarm(a.ID)
	if err != nil {
		return err
	}
	if _, err := c.send("/alarms/"+url.PathEscape(string(alarm.ID))+"/acknowledge", map[string]string{}); err != nil {
		return err
	}
	return c.say("Acknowledged: %s\n", alarm.Text)
}

type alarmShelve struct {
	ID     string        `arg:"" help:"The alarm, as 'surehand alarm list' shows it."`
	For    time.Duration `arg:"" help:"For how long, 1m to 24h."`
	Reason string        `help:"Why; it stays in the record. Needed."`
}

func (s *alarmShelve) Run(c *commands) error {
	if err := reasonFor(s.Reason, "why it may wait", "alarm", "shelve", s.ID, s.For.String()); err != nil {
		return err
	}
	alarm, err := c.alarm(s.ID)
	if err != nil {
		return err
	}
	if _, err := c.send("/alarms/"+url.PathEscape(string(alarm.ID))+"/shelve", map[string]any{"for": term.Duration(s.For), "reason": s.Reason}); err != nil {
		return err
	}
	return c.say("Shelved for %s: %s\n", s.For, alarm.Text)
}
