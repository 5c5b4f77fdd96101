package line

import "fmt"

// The steps of an action. Each is called once, with the arm where the step before left it.

func (r *Robot) travelHalf(d *doing) {
	r.position = 0
	d.waiting = true
	r.w.after(r.w.scaled(r.w.o.Robot.MoveTime)/2+d.plan.extra, func() {
		d.waiting = false
		r.advance(d)
	})
}

func (r *Robot) stickBeforePick(d *doing) { r.stick(d, d.plan.stickBeforePick) }
func (r *Robot) stickAfterPick(d *doing)  { r.stick(d, d.plan.stickAfterPick) }
func (r *Robot) stickBeforeEnd(d *doing)  { r.stick(d, d.plan.stickBeforeEnd) }

func (r *Robot) stick(d *doing, stick bool) {
	d.stuck = stick
	r.w.touch()
}

func (r *Robot) refuse(d *doing) {
	r.violate(d.action, BadCommand, Place(d.action.To), r.w.gripper)
	partAt := uint16(partAtFrom)
	if d.action.Code == codePlace {
		partAt = partInGripper
	}
	r.end(d, ErrorBadCommand, partAt)
}

func (r *Robot) pick(d *doing) {
	from := r.w.spots[Place(d.action.From)]
	r.position = from.number
	p := from.part()
	switch {
	case r.w.gripper != nil:
		r.violate(d.action, PickWithFullGripper, from.number, r.w.gripper)
		r.end(d, ErrorGripperFull, partAtFrom)
		return
	case d.plan.failBeforePick:
		r.end(d, r.faults.ErrorCode, partAtFrom)
		return
	case p == nil:
		r.violate(d.action, PickFromEmpty, from.number, nil)
		r.end(d, ErrorNothingPicked, partUnknown)
		return
	case from.inProcess():
		r.violate(d.action, PickInProcess, from.number, p)
	}
	d.action.Part = p.ID
	r.w.shift(p, Gripper, r.by(d))
	switch {
	case d.plan.losePart:
		r.lose(d, p)
	case d.plan.failAfterPick:
		r.end(d, r.faults.ErrorCode, partInGripper)
	}
}

// present holds the part at the station; that is all.
func (r *Robot) present(d *doing) {
	r.position = Place(d.action.To)
	r.w.touch()
}

func (r *Robot) putDown(d *doing) {
	to := r.w.spots[Place(d.action.To)]
	r.position = to.number
	p := r.w.gripper
	if p == nil {
		// A move whose part was taken out of the gripper by hand has broken no law.
		if d.action.Code == codePlace {
			r.violate(d.action, PlaceWithEmptyGripper, to.number, nil)
		}
		r.end(d, ErrorGripperEmpty, partUnknown)
		return
	}
	d.action.Part = p.ID
	if d.action.Code == codePlace {
		switch {
		case d.plan.failBeforePick || d.plan.failAfterPick:
			r.end(d, r.faults.ErrorCode, partInGripper)
			return
		case d.plan.losePart:
			r.lose(d, p)
			return
		}
	}
	if r.w.free(to.number) != nil {
		r.violate(d.action, PlaceOntoOccupied, to.number, p)
		r.end(d, ErrorOccupied, partInGripper)
		return
	}
	if to.inProcess() {
		r.violate(d.action, LoadInProcess, to.number, p)
	}
	r.w.shift(p, to.number, r.by(d))
}

func (r *Robot) lose(d *doing, p *Part) {
	r.w.shift(p, Floor, r.by(d))
	r.end(d, r.faults.ErrorCode, partUnknown)
}

func (r *Robot) succeedAtTo(d *doing)    { r.end(d, 0, partAtTo) }
func (r *Robot) succeedHolding(d *doing) { r.end(d, 0, partInGripper) }

func (r *Robot) by(d *doing) string { return fmt.Sprintf("%s %d", RobotName, d.action.No) }
