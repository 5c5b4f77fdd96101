package production

import (
	"fmt"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Observed takes one reading of an equipment: its status, its alarms, the end of a done, and what it proves about a
// start in doubt. nil: it is not of this process life, or of no equipment of ours.
func Observed(tx *plant.Tx, p message.EquipmentStatusChanged) *plant.Equipment {
	e, ok := tx.State().EquipmentByID(p.Equipment)
	if !ok || p.Epoch != tx.State().Fence().Epoch {
		tx.Count("reading_ignored", string(p.Equipment))
		return nil
	}
	if !p.Reading.Reached { // what was read last stays, with its age
		if o, seen := tx.Session().Observed(e.ID); seen {
			last := o.Reading
			last.Reached, last.Error = false, p.Reading.Error
			p.Reading = last
		}
	}
	before, _ := tx.Session().Observed(e.ID)
	changed := tx.Session().Observe(e.ID, p.Reading, tx.Now())
	if changed || before.Reading.ReadySlots != p.Reading.ReadySlots { // a door that opens is no difference, and lets a part in
		tx.TouchCell()
	}
	subject := plant.EquipmentSubject(e.ID)
	tx.SetEquipmentStatus(e.ID, statusOf(p.Reading))
	switch {
	case !p.Reading.Reached:
		tx.RaiseAlarm(term.AlarmOffline, subject, fmt.Sprintf("%s cannot be reached: %s", e.ID, p.Reading.Error))
		if _, disabled := tx.State().Held(subject, term.HoldDisabled); !disabled {
			tx.PlaceHold(subject, term.HoldRecovery, "surehand", "its link was lost; it is compared when it returns")
		}
	default:
		tx.ResolveAlarm(term.AlarmOffline, subject)
	}
	if p.Reading.Reached && p.Reading.Fault != 0 {
		tx.RaiseAlarm(term.AlarmFault, subject, fmt.Sprintf("%s reports fault %d", e.ID, p.Reading.Fault))
	} else if p.Reading.Reached {
		tx.ResolveAlarm(term.AlarmFault, subject)
	}
	if e.Type == term.KindMachine && p.Reading.Reached {
		followLatch(tx, e.ID, p.Reading)
		proveStart(tx, e.ID, p.Reading)
		alarmForeign(tx, e.ID, p.Reading)
	}
	if e.Type == term.KindMarker {
		proveMark(tx, e.ID)
	}
	if e.Type == term.KindRobot {
		acknowledgeEnd(tx, e.ID, p.Reading)
	}
	e, _ = tx.State().EquipmentByID(p.Equipment)
	return e
}

// alarmForeign alarms a part that stands where the record has none, once that has stood still and no action is to bring
// one there. It is no question while the cell works: the slot is not used, and the next comparison asks.
func alarmForeign(tx *plant.Tx, id term.EquipmentID, r term.Reading) {
	o, _ := tx.Session().Observed(id)
	for _, s := range tx.State().SlotsOf(id) {
		subject := plant.SlotSubject(s.ID)
		if s.State != term.SlotEmpty || !r.Occupied.Has(s.Number) {
			tx.ResolveAlarm(term.AlarmUnexpected, subject)
			continue
		}
		coming := false
		for _, t := range tx.State().Tasks() {
			coming = coming || t.To == term.SlotPlace(s.ID) || t.From == term.SlotPlace(s.ID)
		}
		if !coming && o.Steady(tx.Now()) {
			tx.RaiseAlarm(term.AlarmUnexpected, subject, fmt.Sprintf("%s reports a part in slot %d, where the record has none", id, s.Number))
		}
	}
}

// acknowledgeEnd takes go back from an ended action that nobody waits for any more: its driver leaves what the robot
// shows of an action in doubt, as evidence, and a robot that shows an error takes no other action.
func acknowledgeEnd(tx *plant.Tx, id term.EquipmentID, r term.Reading) {
	o, _ := tx.Session().Observed(id)
	if _, busy := tx.State().RobotTask(); busy || !r.Reached || !r.Go || r.Busy || !r.Ended && r.Fault == 0 || !o.Steady(tx.Now()) {
		return
	}
	tx.AcknowledgeEnd(id)
}

func statusOf(r term.Reading) term.EquipmentStatus {
	switch {
	case !r.Reached:
		return term.Offline
	case r.Fault != 0 || r.State == term.MachineFault:
		return term.EquipmentFault
	case r.Busy || r.Running != 0 || r.State == term.MachineRunning:
		return term.EquipmentRunning
	case r.Done || r.State == term.MachineDone:
		return term.EquipmentDone
	}
	return term.EquipmentIdle
}

// doneOverAfter: a done that is stored and reads 0 for so long is over, although nobody reported its acknowledgement:
// the machine takes done back only when it was told, or has lost it.
const doneOverAfter = 5 * time.Second

// followLatch ends a done when it reads 0 after our acknowledgement.
func followLatch(tx *plant.Tx, id term.EquipmentID, r term.Reading) {
	e, _ := tx.State().EquipmentByID(id)
	if r.Done || e.Latch == term.LatchNone {
		return
	}
	o, _ := tx.Session().Observed(id)
	if e.Latch == term.LatchAcked || tx.Now().Sub(o.Since) >= doneOverAfter {
		tx.ReleaseLatch(id)
	}
}

// ProveStart resolves a start in doubt by what its machine said last, before anybody is asked about it.
func ProveStart(tx *plant.Tx, id term.EquipmentID) {
	if o, seen := tx.Session().Observed(id); seen && o.Reading.Reached {
		proveStart(tx, id, o.Reading)
	}
}

// proveStart resolves a start in doubt by the number that the machine echoes.
func proveStart(tx *plant.Tx, id term.EquipmentID, r term.Reading) {
	t, open := tx.State().StartOf(id)
	if !open || t.State != term.TaskUnknown {
		return
	}
	o, _ := tx.Session().Observed(id)
	switch {
	case r.Echo == t.ActionNo && r.StartResult == term.StartRunning:
		started(tx, t)
	case r.Echo == t.ActionNo && r.StartResult == term.StartRefused:
		startFailed(tx, t, "the machine refused it")
	case forgot(tx, id, r):
	case term.MayBegin(r.Echo, t.ActionNo) && !r.Go && o.Steady(tx.Now()):
		tx.FailTask(t.ID, term.PartUnknown, "it surely did not start: go is off and the machine echoes an older number")
		closeTaskQuestion(tx, t, "the machine's own number shows that it did not start")
	}
}

// forgot tells whether a machine that has begun a start of ours before shows none: it was restarted and has lost its
// memory, so that its silence about a number says nothing.
func forgot(tx *plant.Tx, id term.EquipmentID, r term.Reading) bool {
	if r.Echo != 0 {
		return false
	}
	e, _ := tx.State().EquipmentByID(id)
	for _, s := range tx.State().SlotsOf(id) {
		if !s.StartedAt.IsZero() {
			return true
		}
	}
	return e.HasCycle
}

// DoneAcknowledged: the machine was told that its done is stored.
func DoneAcknowledged(tx *plant.Tx, p message.DoneAcknowledged) message.Outcome {
	tx.DoneAcknowledged(p.Machine)
	if o, seen := tx.Session().Observed(p.Machine); seen && o.Reading.Reached && tx.Changed() {
		followLatch(tx, p.Machine, o.Reading) // done may have been read as 0 before this was said
	}
	if !tx.Changed() {
		return ignored("not awaited")
	}
	return accepted(plant.EquipmentSubject(p.Machine), string(p.Machine), string(term.LatchAcked))
}
