package automation

import (
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Needs adds to need what the store has to be asked before a message can be decided.
func Needs(s *plant.State, m message.Message, now time.Time, need *message.Need) {
	command := func(id term.CommandID) {
		if id == "" {
			return
		}
		if _, open := s.IntentByCommand(id); !open {
			need.Commands = append(need.Commands, id)
		}
	}
	intent := func(id term.IntentID) {
		if _, open := s.Intent(id); !open && id != "" {
			need.Intents = append(need.Intents, id)
		}
	}
	if m.Source == message.FromPerson {
		need.Keys = append(need.Keys, string(m.ID))
	}
	switch p := m.Payload.(type) {
	case message.TelemetryReceived:
		d, ok := s.DeviceBySerial(p.Serial)
		if !ok {
			return
		}
		for _, r := range p.Readings {
			if key, ask := readingKey(s, d, p.Serial, r, p.Delivery, now); ask {
				need.Keys = append(need.Keys, key)
			}
		}
	case message.DeviceResponded:
		command(p.CommandID)
	case message.StateReported:
		command(p.CommandID)
	case message.DeviceStatusReported:
		if OurCommand(s.Fence().Installation, p.LastCommandID) {
			command(p.LastCommandID)
		}
	case message.CancelCommand:
		intent(p.IntentID)
	case message.JudgeCommand:
		intent(p.IntentID)
	}
}
