package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"surehand/api"
	"surehand/internal/term"
)

type partCommand struct {
	List    partList    `cmd:"" help:"List parts that have not ended."`
	Suspend partSuspend `cmd:"" help:"Let no new action of a part begin; in the gripper it is put down first."`
	Resume  partResume  `cmd:"" help:"End a suspension."`
	Rework  partRework  `cmd:"" help:"Send a part back to a step of its route."`
	Scrap   partScrap   `cmd:"" help:"Carry a part out as not good."`
	Report  partReport  `cmd:"" help:"Say where a part is, or that it was taken out. What that would change is asked back."`
}

type partList struct {
	Order string `help:"Only parts of this order." placeholder:"WO-1001"`
	All   bool   `help:"Also those that have ended."`
	JSON  bool   `name:"json" help:"As the interface says it."`
}

func (l *partList) Run(c *commands) error {
	path := "/jobs?limit=500"
	if l.Order != "" {
		if _, err := c.get("/orders/"+url.PathEscape(l.Order), &api.Order{}); err != nil {
			return named(err, "order", l.Order)
		}
		path += "&order=" + url.QueryEscape(l.Order)
	}
	if !l.All {
		path += "&open=true"
	}
	list, err := all[api.Job](c, path)
	if err != nil {
		return err
	}
	if l.JSON {
		return sayList(c, list)
	}
	return c.table("PART\tSTATE\tPLACE\tBUFFER\tNEXT STEP\tHELD", len(list), func(n int) string {
		return partRow(list[n], strconv.Itoa(list[n].StepIndex+1))
	})
}

// partRow is a part in a table: its place as it would be reported, its own buffer place, and what holds it.
func partRow(j api.Job, step string) string {
	own := ""
	if j.TempSlotNo > 0 {
		own = strconv.Itoa(j.TempSlotNo)
	}
	if j.State.Ended() {
		step = "done"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", j.ID, j.ShownState, placeText(term.Place{Type: j.PositionType, Ref: j.PositionRefID}), own, step,
		held(j.Holds, len(j.ManualActions)))
}

func (c *commands) tellPart(id, verb string, body map[string]any) (answer, error) {
	a, err := c.send("/jobs/"+url.PathEscape(id)+"/"+verb, body)
	return a, named(err, "part", id)
}

// partReason is a part with a reason.
type partReason struct {
	ID     string `arg:"" help:"The part: order and number, such as WO-1001.3."`
	Reason string `help:"Why; it stays in the record."`
}

type partSuspend struct{ partReason }

func (p *partSuspend) Run(c *commands) error {
	if _, err := c.tellPart(p.ID, "suspend", map[string]any{"reason": p.Reason}); err != nil {
		return err
	}
	return c.say("%s is suspended: no new action of it begins.\n", p.ID)
}

type partResume struct{ partReason }

func (p *partResume) Run(c *commands) error {
	if _, err := c.tellPart(p.ID, "resume", map[string]any{"reason": p.Reason}); err != nil {
		return err
	}
	return c.say("%s goes on.\n", p.ID)
}

type partRework struct {
	ID     string `arg:"" help:"The part: order and number, such as WO-1001.3."`
	Step   int    `arg:"" help:"The step of its route to go back to, from 1."`
	Reason string `help:"Why; it stays in the record. Needed."`
}

func (p *partRework) Run(c *commands) error {
	if err := reasonFor(p.Reason, "what is wrong with it", "part", "rework", p.ID, strconv.Itoa(p.Step)); err != nil {
		return err
	}
	if _, err := c.tellPart(p.ID, "rework", map[string]any{"step": p.Step, "reason": p.Reason}); err != nil {
		return err
	}
	return c.say("%s goes back to step %d.\n", p.ID, p.Step)
}

type partScrap struct{ partReason }

func (p *partScrap) Run(c *commands) error {
	if err := reasonFor(p.Reason, "what is wrong with it", "part", "scrap", p.ID); err != nil {
		return err
	}
	if _, err := c.tellPart(p.ID, "scrap", map[string]any{"reason": p.Reason}); err != nil {
		return err
	}
	return c.say("%s is carried out as scrap.\n", p.ID)
}

type partReport struct {
	ID     string `arg:"" help:"The part: order and number, such as WO-1001.3."`
	Place  string `arg:"" help:"Where it is: buffer:4, dock:2, mill:1 (slot 1 of the mill), gripper, or out."`
	Reason string `help:"How you know; it stays in the record. Needed."`
}

func (p *partReport) Run(c *commands) error {
	place, err := placeNamed(p.Place)
	if err != nil {
		return err
	}
	if err := reasonFor(p.Reason, "how you know", "part", "report", p.ID, p.Place); err != nil {
		return err
	}
	answer, err := c.tellPart(p.ID, "report", map[string]any{"place": place, "reason": p.Reason})
	if err != nil {
		return err
	}
	return c.say("Nothing has changed yet: it is asked whether this is so. 'surehand recovery list' shows what it would change, and\nsurehand recovery answer %s %s --reason \"how you know\"\n",
		short(answer.ID), term.AnswerAccept)
}

// placeNamed reads a place as a person types it. Whether it exists is the interface's to say.
func placeNamed(text string) (term.Place, error) {
	row, ref, numbered := strings.Cut(text, ":")
	switch {
	case text == "gripper":
		return term.GripperPlace(), nil
	case text == "out":
		return term.OutPlace(term.OutRemoved), nil
	case !numbered || row == "" || ref == "":
		return term.Place{}, fmt.Errorf("%q is no place: buffer:4, dock:2, mill:1 (slot 1 of the mill), gripper or out", text)
	case row == "buffer":
		return term.Place{Type: term.OnBuffer, Ref: ref}, nil
	case row == "dock":
		return term.Place{Type: term.OnDock, Ref: ref}, nil
	}
	return term.SlotPlace(term.SlotID(text)), nil
}
