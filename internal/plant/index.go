package plant

import (
	"cmp"
	"fmt"
	"slices"

	"surehand/internal/term"
)

// replace takes before out of the picture and puts after in, with every index: the one place that keeps
// them in step. Undo is replace with the two swapped.
func (s *State) replace(before, after Row) {
	if before != nil && before.Open() {
		s.remove(before)
	}
	if after != nil && after.Open() {
		s.insert(after)
	}
}

func (s *State) insert(r Row) {
	switch r := r.(type) {
	case *Organisation:
		s.organisations[r.ID] = r
	case *Farm:
		s.farms[r.ID] = r
	case *Profile:
		s.profiles[r.ID] = r
		s.specs[r.ID] = indexSpecs(r)
	case *Device:
		s.devices[r.ID] = r
		s.bySerial[r.Serial] = r.ID
	case *Endpoint:
		s.endpoints[r.ID] = r
		addSorted(s.byDevice, r.DeviceID, r.ID)
	case *Rule:
		s.rules[r.ID] = r
		addSorted(s.byTrigger, r.Trigger, r.ID)
	case *Event:
		s.events[r.ID] = r
		s.pending = insertSorted(s.pending, r.ID)
	case *Execution:
		s.executions[r.ID] = r
	case *Intent:
		s.intents[r.ID] = r
		if r.CommandID != "" {
			s.byCommand[r.CommandID] = r.ID
		}
		if r.HoldsEndpoint {
			if other, taken := s.holder[r.EndpointID]; taken && other != r.ID {
				broken(5, "endpoint %s is held by %s and %s", r.EndpointID, other, r.ID)
			}
			s.holder[r.EndpointID] = r.ID
		} else {
			s.queue[r.EndpointID] = s.enqueue(s.queue[r.EndpointID], r)
		}
		if r.WaitingFor != term.GateNone {
			addSorted(s.waiting, r.WaitingFor, r.ID)
		}
		s.due.set(Due{At: r.DueAt, Kind: KindIntent, Key: string(r.ID), Version: r.Version})
	case *Attempt:
		s.attempts[r.ID] = r
		s.openAttempt[r.IntentID] = r.ID
	case *Hold:
		s.holds[r.ID] = r
		s.held[holdKey(r.Subject, r.Reason)] = r.ID
	default:
		if s.insertInCell(r) {
			return
		}
		broken(13, "%s does not belong into the picture", r.Kind())
	}
}

func (s *State) remove(r Row) {
	switch r := r.(type) {
	case *Organisation:
		delete(s.organisations, r.ID)
	case *Farm:
		delete(s.farms, r.ID)
	case *Profile:
		delete(s.profiles, r.ID)
		delete(s.specs, r.ID)
	case *Device:
		delete(s.devices, r.ID)
		if s.bySerial[r.Serial] == r.ID { // another device may have taken it over in the same turn
			delete(s.bySerial, r.Serial)
		}
	case *Endpoint:
		delete(s.endpoints, r.ID)
		dropSorted(s.byDevice, r.DeviceID, r.ID)
	case *Rule:
		delete(s.rules, r.ID)
		dropSorted(s.byTrigger, r.Trigger, r.ID)
	case *Event:
		delete(s.events, r.ID)
		s.pending = deleteSorted(s.pending, r.ID)
	case *Execution:
		delete(s.executions, r.ID)
	case *Intent:
		delete(s.intents, r.ID)
		delete(s.byCommand, r.CommandID)
		if r.HoldsEndpoint {
			delete(s.holder, r.EndpointID)
		} else {
			s.dequeue(r)
		}
		dropSorted(s.waiting, r.WaitingFor, r.ID)
		s.due.drop(KindIntent, string(r.ID))
	case *Attempt:
		delete(s.attempts, r.ID)
		delete(s.openAttempt, r.IntentID)
	case *Hold:
		delete(s.holds, r.ID)
		delete(s.held, holdKey(r.Subject, r.Reason))
	default:
		if s.removeFromCell(r) {
			return
		}
		broken(13, "%s does not belong into the picture", r.Kind())
	}
}

// enqueue keeps a queue in order of creation.
func (s *State) enqueue(q []term.IntentID, r *Intent) []term.IntentID {
	at, _ := slices.BinarySearchFunc(q, r, func(id term.IntentID, r *Intent) int {
		o := s.intents[id]
		if o == r || o.ID == r.ID {
			return 0
		}
		if c := o.CreatedAt.Compare(r.CreatedAt); c != 0 {
			return c
		}
		return cmp.Compare(o.ID, r.ID)
	})
	return slices.Insert(slices.Clone(q), at, r.ID)
}

func (s *State) dequeue(r *Intent) {
	q := s.queue[r.EndpointID]
	if at := slices.Index(q, r.ID); at >= 0 {
		q = slices.Delete(slices.Clone(q), at, at+1)
	}
	if len(q) == 0 {
		delete(s.queue, r.EndpointID)
		return
	}
	s.queue[r.EndpointID] = q
}

func addSorted[K comparable, V cmp.Ordered](m map[K][]V, k K, v V) { m[k] = insertSorted(m[k], v) }

func dropSorted[K comparable, V cmp.Ordered](m map[K][]V, k K, v V) {
	if l := deleteSorted(m[k], v); len(l) > 0 {
		m[k] = l
	} else {
		delete(m, k)
	}
}

func insertSorted[V cmp.Ordered](l []V, v V) []V {
	at, found := slices.BinarySearch(l, v)
	if found {
		return l
	}
	return slices.Insert(l, at, v)
}

func deleteSorted[V cmp.Ordered](l []V, v V) []V {
	at, found := slices.BinarySearch(l, v)
	if !found {
		return l
	}
	return slices.Delete(l, at, at+1)
}

// broken ends the process: an invariant of docs/invariants.md does not hold.
func broken(invariant int, format string, args ...any) {
	panic(fmt.Sprintf("invariant %d: %s", invariant, fmt.Sprintf(format, args...)))
}
