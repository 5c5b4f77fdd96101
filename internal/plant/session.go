package plant

import (
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
	// drained: the answers that had queued while we were away have all come in, so silence means silence.
	drained bool
	seen    map[term.DeviceID]time.Time

	rejectMinute time.Time
	rejects      int
}

// NewSession starts with all links down and no device heard.
func NewSession() *Session {
	return &Session{links: map[Link]bool{}, seen: map[term.DeviceID]time.Time{}}
}

// SetLink records a link change; a lost answers link also means that queued answers may be missing.
func (s *Session) SetLink(l Link, up bool) {
	s.links[l] = up
	if l == LinkAnswers && !up {
		s.drained = false
	}
}

func (s *Session) LinkUp(l Link) bool { return s.links[l] }

// SetDrained: the marker that we published to ourselves after connecting has come back.
func (s *Session) SetDrained() { s.drained = true }

// Drained tells whether silence of a device means anything yet.
func (s *Session) Drained() bool { return s.drained }

// Heard records that a device itself sent something now.
func (s *Session) Heard(id term.DeviceID, at time.Time) { s.seen[id] = at }

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
