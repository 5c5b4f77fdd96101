package scheduler

import (
	"fmt"
	"strings"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// explain writes the decision down for people.
func (p *planner) explain() {
	chosen := p.chosen()
	e := term.Plan{Policy: Policy, Chosen: chosen}
	if chosen >= 0 {
		k := &p.found[chosen]
		e.Why = fmt.Sprintf("%s: %s goes from %s to %s, %s", k.move.Generator, k.move.Job, k.from, k.move.To, k.why)
	} else {
		p.d.Wait = p.waiting()
		e.Why = p.d.Wait
	}
	kept := p.found
	if e.LeftOut = max(0, len(kept)-plant.MaxCandidates); e.LeftOut > 0 {
		kept = kept[:plant.MaxCandidates]
		if chosen >= plant.MaxCandidates {
			kept[plant.MaxCandidates-1], e.Chosen = p.found[chosen], plant.MaxCandidates-1
		}
	}
	for _, k := range kept {
		e.Candidates = append(e.Candidates, term.PlanCandidate{Generator: k.move.Generator, Job: k.move.Job, From: k.from, To: k.move.To, Reason: k.reason})
	}
	p.d.Explain = e
}

// waiting says in one sentence why the robot does nothing. It names no time, and follows only from the cell.
func (p *planner) waiting() string {
	r := &p.c.Robot
	switch {
	case p.c.Halt != "":
		return p.c.Halt
	case r.Why != "":
		return r.Why
	case r.Busy:
		return fmt.Sprintf("%s is busy with %s", r.ID, r.Job)
	}
	if work := p.working(); work != "" {
		return "waiting for " + work
	}
	switch {
	case len(p.waits) > 0:
		return p.waits[0]
	case len(p.found) > 0:
		job, why := string(p.found[0].move.Job), p.found[0].reason
		if strings.Contains(why, job) {
			return why
		}
		return job + ": " + why
	}
	for i := range p.c.Parts {
		if q := &p.c.Parts[i]; q.State == term.WaitingJudgement {
			return fmt.Sprintf("%s waits for a judgement", q.Job)
		}
	}
	if p.c.NotArrived > 0 {
		return fmt.Sprintf("waiting for a pallet (%d parts have not arrived)", p.c.NotArrived)
	}
	return "nothing to do"
}

// working lists the machines that work, with their parts.
func (p *planner) working() string {
	var work []string
	for i := range p.c.Machines {
		m := &p.c.Machines[i]
		var jobs []string
		for j := range m.Slots {
			if s := &m.Slots[j]; s.State == term.SlotOccupied && (m.Starting || !s.Started.IsZero()) {
				jobs = append(jobs, string(s.Job))
			}
		}
		if len(jobs) > 0 {
			work = append(work, fmt.Sprintf("%s (%s)", m.ID, strings.Join(jobs, ", ")))
		}
	}
	return strings.Join(work, " and ")
}
