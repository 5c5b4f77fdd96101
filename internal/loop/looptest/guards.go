package looptest

import (
	"fmt"
	"strconv"

	"surehand/internal/plant"
)

func fault(kind plant.FaultKind, format string, args ...any) error {
	return &plant.Fault{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// checkFence is the conditional update of the fence row, and the gapless numbers of the log.
func (db *Database) checkFence(b plant.Batch) error {
	have, want := db.fence, b.Before
	switch {
	case have.Epoch != want.Epoch || have.Life != want.Life:
		return fault(plant.FaultFenced, "epoch %d of life %q owns the database, not epoch %d of life %q", have.Epoch, have.Life, want.Epoch, want.Life)
	case have != want:
		return fault(plant.FaultConflict, "the fence is %+v, not %+v", have, want)
	}
	next := want
	next.Turn++
	next.Seq += int64(len(b.Entries))
	if b.After != next {
		return fault(plant.FaultBug, "the fence would become %+v; %d entries lead to %+v", b.After, len(b.Entries), next)
	}
	for n, e := range b.Entries {
		if e.Seq != want.Seq+1+int64(n) {
			return fault(plant.FaultBug, "entry %d of the batch has seq %d; seq must be gapless from %d (invariant 12)", n, e.Seq, want.Seq+1)
		}
	}
	return nil
}

// checkRows is the WHERE and the CHECKs of each write. It returns the changes to write: an event or a reading
// that is stored already is ignored.
func (db *Database) checkRows(changes []plant.Change) ([]plant.Change, error) {
	written := make([]plant.Change, 0, len(changes))
	seen := make(map[rowID]bool, len(changes))
	for _, c := range changes {
		if c.After == nil {
			return nil, fault(plant.FaultBug, "%s deletes a row; rows are never deleted", c.Move)
		}
		id := idOf(c.After)
		if seen[id] {
			return nil, fault(plant.FaultBug, "%s is in the batch twice; changes must be folded", id)
		}
		seen[id] = true
		if err := plant.Lawful(c.After); err != nil {
			return nil, fault(plant.FaultConflict, "%s: %w", c.Move, err)
		}
		stored, exists := db.rows[id]
		if c.Before == nil {
			switch {
			case !exists:
				written = append(written, c)
			case id.kind != plant.KindTelemetry && id.kind != plant.KindEvent:
				return nil, fault(plant.FaultConflict, "%s: %s exists already", c.Move, id)
			}
			continue
		}
		switch {
		case idOf(c.Before) != id:
			return nil, fault(plant.FaultBug, "%s turns %s into %s", c.Move, idOf(c.Before), id)
		case appendOnly(id.kind):
			return nil, fault(plant.FaultBug, "%s changes %s, which is append-only", c.Move, id)
		case !exists:
			return nil, fault(plant.FaultConflict, "%s: %s does not exist", c.Move, id)
		case stored.Ver() != c.Before.Ver() || word(stored) != word(c.Before):
			return nil, fault(plant.FaultConflict, "%s: %s is version %d %s, not version %d %s", c.Move, id,
				stored.Ver(), word(stored), c.Before.Ver(), word(c.Before))
		}
		written = append(written, c)
	}
	return written, nil
}

// checkClaims holds the unique laws as they stand after the whole batch: what the batch leaves is free for
// what it enters.
func (db *Database) checkClaims(changes []plant.Change) error {
	left := map[claim]bool{}
	for _, c := range changes {
		if c.Before != nil {
			for _, cl := range claimsOf(c.Before) {
				left[cl] = true
			}
		}
	}
	taken := map[claim]rowID{}
	for _, c := range changes {
		id := idOf(c.After)
		for _, cl := range claimsOf(c.After) {
			owner, held := db.claims[cl]
			if held && !left[cl] && owner != id {
				return fault(plant.FaultConflict, "%s: %s %q belongs to %s", c.Move, cl.law, cl.value, owner)
			}
			if other, twice := taken[cl]; twice {
				return fault(plant.FaultConflict, "%s: %s %q goes to %s and %s", c.Move, cl.law, cl.value, other, id)
			}
			taken[cl] = id
		}
	}
	return nil
}

// claim is one value that only one row may have: the twin of a unique index.
type claim struct{ law, value string }

const (
	oneHolder      = "holder of endpoint"
	oneOpenAttempt = "open attempt of command"
	oneIdempotency = "idempotency key"
	oneCommandID   = "command id"
	oneSerial      = "serial"
	oneOpenHold    = "open hold"

	oneJobNumber   = "number within an order"
	oneSlotNumber  = "number within a machine"
	onePlace       = "part on a place"
	oneBufferPlace = "owner of a buffer place"
	onePart        = "slot of a part"
	oneActionNo    = "action number"
	oneRobot       = "open action of the robot"
	oneStart       = "open start of a machine"
	oneQuestion    = "open question"
	oneAlarm       = "open alarm"
)

func claimsOf(r plant.Row) []claim {
	var all []claim
	switch r := r.(type) {
	case *plant.Intent:
		all = append(all, claim{oneIdempotency, r.IdempotencyKey})
		if r.CommandID != "" {
			all = append(all, claim{oneCommandID, string(r.CommandID)})
		}
		if r.HoldsEndpoint {
			all = append(all, claim{oneHolder, string(r.EndpointID)})
		}
	case *plant.Attempt:
		if r.Open() {
			all = append(all, claim{oneOpenAttempt, string(r.IntentID)})
		}
	case *plant.Device:
		all = append(all, claim{oneSerial, r.Serial})
	case *plant.Hold:
		if r.Open() {
			all = append(all, claim{oneOpenHold, r.Subject + " " + string(r.Reason)})
		}
	case *plant.Job:
		all = append(all, claim{oneJobNumber, fmt.Sprintf("%s %d", r.OrderID, r.Number)})
		if r.Open() && r.Position.Occupies() {
			all = append(all, claim{onePlace, r.Position.String()})
		}
		if r.Open() && r.TempSlotNo != 0 {
			all = append(all, claim{oneBufferPlace, strconv.Itoa(r.TempSlotNo)})
		}
	case *plant.Slot:
		all = append(all, claim{oneSlotNumber, fmt.Sprintf("%s %d", r.EquipmentID, r.Number)})
		if r.JobID != "" {
			all = append(all, claim{onePart, string(r.JobID)})
		}
	case *plant.Task:
		all = append(all, claim{oneActionNo, strconv.FormatUint(uint64(r.ActionNo), 10)})
		switch {
		case r.Open() && r.Type.UsesRobot():
			all = append(all, claim{oneRobot, ""})
		case r.Open():
			all = append(all, claim{oneStart, string(r.EquipmentID)})
		}
	case *plant.Question:
		if r.Open() {
			all = append(all, claim{oneQuestion, string(r.Finding) + " " + r.Subject})
		}
	case *plant.Alarm:
		if r.Open() {
			all = append(all, claim{oneAlarm, string(r.Type) + " " + r.Subject})
		}
	}
	return all
}

func appendOnly(k plant.Kind) bool {
	switch k {
	case plant.KindTelemetry, plant.KindReceipt, plant.KindKey, plant.KindParked:
		return true
	}
	return false
}

// word is the state that a guarded update names beside the version.
func word(r plant.Row) string {
	switch r := r.(type) {
	case *plant.Device:
		return string(r.Status)
	case *plant.Event:
		return string(r.Status)
	case *plant.Execution:
		return string(r.Outcome)
	case *plant.Intent:
		return string(r.State)
	case *plant.Attempt:
		return string(r.Outcome)
	case *plant.Hold:
		if r.Open() {
			return "held"
		}
		return "released"
	case *plant.Equipment:
		return string(r.Latch)
	case *plant.Slot:
		return string(r.State)
	case *plant.Pallet:
		if r.Open() {
			return "here"
		}
		return "gone"
	case *plant.Order:
		return string(r.State)
	case *plant.Job:
		return string(r.State) + " at " + r.Position.String()
	case *plant.Task:
		return string(r.State)
	case *plant.Question:
		return string(r.State)
	case *plant.Alarm:
		return string(r.State)
	}
	return ""
}
