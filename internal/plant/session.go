package plant

import (
	"slices"
	"time"

	"surehand/internal/term"
)

// Link is one of the three broker connections.
type Link string

const (
	LinkTelemetry Link = "telemetry"
	LinkAnswers   Link = "answers"
	LinkCommands  Link = "commands"
)

// Session is what only this process life knows. It is changed only by messages, never written, and what it
// says stays true when a turn is rolled back: a device was heard, a link came up.
type Session struct {
	links map[Link]bool
	// drained links: what had queued in their session while we were away has all come in.
	drained map[Link]bool
	seen    map[term.DeviceID]time.Time
	started time.Time
	// stopping: nothing new is sent; what is under way may end.
	stopping, draining bool

	machines map[term.EquipmentID]Observation
	recorded map[term.EquipmentID]time.Time // when the record of what is in it last changed
	compared bool
	// notBefore: a comparison has to wait until then, because an action that the record has lost may still begin.
	notBefore time.Time
	// drawn is the last action number of this life; floor is that of commits that the database has lost. Numbering goes
	// on above it: a number is never reused. 0: none.
	drawn, floor uint32

	rejectMinute time.Time
	rejects      int
}

// NewSession starts with all links down and no device heard.
func NewSession() *Session {
	return &Session{links: map[Link]bool{}, drained: map[Link]bool{}, seen: map[term.DeviceID]time.Time{},
		machines: map[term.EquipmentID]Observation{}, recorded: map[term.EquipmentID]time.Time{}}
}

// SetLink records a link change; with a lost link, messages may be queueing again.
func (s *Session) SetLink(l Link, up bool) {
	s.links[l] = up
	if !up {
		s.drained[l] = false
	}
}

func (s *Session) LinkUp(l Link) bool { return s.links[l] }

// SetDrained: the marker that we published to ourselves after connecting has come back.
func (s *Session) SetDrained(l Link) { s.drained[l] = true }

// Drained tells whether everything that had queued on a link has come in. On the answers link: whether the
// silence of a device means anything yet. On the telemetry link: whether a reading without a time is new.
func (s *Session) Drained(l Link) bool { return s.drained[l] }

// Stop lets nothing new be sent in this process life; with drain, what is under way is waited for.
func (s *Session) Stop(drain bool) { s.stopping, s.draining = true, s.draining || drain }

// Draining tells whether the stop waits for what is under way.
func (s *Session) Draining() bool { return s.draining }

// Stopping tells whether Stop was asked for.
func (s *Session) Stopping() bool { return s.stopping }

// Start records when this process life began; attempts fenced before are another life's.
func (s *Session) Start(at time.Time) { s.started = at }

// StartedAt is when this process life began.
func (s *Session) StartedAt() time.Time { return s.started }

// Heard records that a device itself sent something now.
func (s *Session) Heard(id term.DeviceID, at time.Time) { s.seen[id] = at }

// Gone records that a device is known to be offline (its will).
func (s *Session) Gone(id term.DeviceID) { delete(s.seen, id) }

// LastHeard is when the device was last heard in this process life.
func (s *Session) LastHeard(id term.DeviceID) (time.Time, bool) { t, ok := s.seen[id]; return t, ok }

// MayKeepReject tells whether one more rejected input may be kept as a receipt in this minute.
func (s *Session) MayKeepReject(now time.Time) bool {
	if minute := now.Truncate(time.Minute); !minute.Equal(s.rejectMinute) {
		s.rejectMinute, s.rejects = minute, 0
	}
	s.rejects++
	return s.rejects <= MaxRejectsAMinute
}

// Observation is the last that was read of an equipment in this process life.
type Observation struct {
	Reading term.Reading
	At      time.Time // when it came
	Since   time.Time // since when its predicates have been as they are
	Changes int       // how often it went back to what it had said shortly before, without standing still in between
	// RecordAt is when the record of what is in it last changed: what was read before says nothing about that.
	RecordAt time.Time

	before [4]string // what it said before, the latest first: a working machine goes on, a bad signal goes back
}

// Observe takes a reading and tells whether its predicates changed. The first one counts as a change.
func (s *Session) Observe(id term.EquipmentID, r term.Reading, at time.Time) (changed bool) {
	o, seen := s.machines[id]
	changed = !seen || o.Reading.Predicates() != r.Predicates()
	switch {
	case !seen:
		o.Since = at
	case changed:
		if at.Sub(o.Since) > flapWindow {
			o.Changes, o.before = 0, [4]string{}
		}
		if slices.Contains(o.before[:], r.Predicates()) {
			o.Changes++
		}
		copy(o.before[1:], o.before[:])
		o.before[0], o.Since = o.Reading.Predicates(), at
	}
	o.Reading, o.At = r, at
	s.machines[id] = o
	return changed
}

// flapWindow: changes further apart than this are no flapping.
const flapWindow = 3 * time.Second

// Observed is the last that was read of an equipment in this life; false: nothing yet.
func (s *Session) Observed(id term.EquipmentID) (Observation, bool) {
	o, ok := s.machines[id]
	o.RecordAt = s.recorded[id]
	return o, ok
}

// Record notes that the record of what is in an equipment changes now.
func (s *Session) Record(id term.EquipmentID, at time.Time) { s.recorded[id] = at }

// Forget drops what was read of an equipment: its configuration changed.
func (s *Session) Forget(id term.EquipmentID) { delete(s.machines, id) }

// Steady tells whether an equipment has said the same for SteadyFor, and has been read since the record of it changed.
func (o Observation) Steady(now time.Time) bool {
	return now.Sub(o.Since) >= SteadyFor && o.At.After(o.RecordAt)
}

// SetCompared: the machines and the record have been compared in this life.
func (s *Session) SetCompared(done bool) { s.compared = done }

// Compared tells whether the comparison of this life has been made.
func (s *Session) Compared() bool { return s.compared }

// LoseRecord: the database lost commits. What was read before says nothing about what was handed out since, and an
// action of the lost commits may begin until SendBefore has passed.
func (s *Session) LoseRecord(now time.Time) {
	clear(s.machines)
	s.compared, s.notBefore, s.floor = false, now.Add(SendBefore), s.drawn
}

// MayCompare tells whether nothing can begin any more that the record has lost.
func (s *Session) MayCompare(now time.Time) bool { return !now.Before(s.notBefore) }
