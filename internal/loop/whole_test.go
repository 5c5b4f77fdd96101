package loop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// wholeRig is the cell with devices beside it: both halves of one loop.
type wholeRig struct {
	*cellRig
	on       bool // the fan, as it really is
	executed map[term.CommandID]int
	seq      int64
}

// device posts what devices and their driver say, in one turn.
func (r *wholeRig) device(payloads ...message.Payload) {
	r.t.Helper()
	batch := make([]message.Message, len(payloads))
	for i, p := range payloads {
		batch[i] = message.Message{Source: message.FromDevice, Payload: p}
		switch p.(type) {
		case message.TelemetryReceived:
			batch[i].Source = message.FromTelemetry
		case message.AttemptEnded:
			batch[i].Source = message.FromWorker
		}
	}
	r.turn(batch...)
}

// obey lets the fan do what was published, and say so.
func (r *wholeRig) obey() {
	published := r.published
	r.published = nil
	for _, p := range published {
		row, ok := r.db.Row(plant.KindIntent, string(p.IntentID))
		require.True(r.t, ok, "published without a row")
		value := row.(*plant.Intent).TargetValue
		r.executed[p.CommandID]++
		r.on = value == term.Bool(true)
		r.device(message.AttemptEnded{AttemptID: p.AttemptID, IntentID: p.IntentID, Outcome: term.AttemptSent},
			message.DeviceResponded{Serial: p.Serial, CommandID: p.CommandID, Status: term.RPCAccepted, ResultCode: term.ResultOK, Attempt: p.Number, Correlation: p.Correlation, Raw: []byte("{}")},
			message.StateReported{Serial: p.Serial, CommandID: p.CommandID, Fields: []message.Field{on(r.on)}, Seq: -1, Raw: []byte("{}")})
	}
}

// sense is one reading of the climate sensor.
func (r *wholeRig) sense(degrees float64) {
	r.seq++
	at := r.clock.Now()
	r.device(message.TelemetryReceived{Serial: "CLIMATE", Delivery: message.Delivery{PacketID: 1}, Readings: []message.Reading{
		{Fields: []message.Field{temperature(degrees)}, At: at, Seq: r.seq, BootID: "b1", Canonical: fmt.Sprintf(`{"seq":%d}`, r.seq)}}})
}

// proves C-22, K-6, D-24, C-23: a whole order of twelve parts and the commands of a greenhouse in one loop, with mock workers,
// in memory and virtual time: telemetry, rule, RPC, acknowledgement, proof, while machines, scanner and robot do the order.
func TestWholeOrderAndCommandsInOneLoop(t *testing.T) {
	r := &wholeRig{cellRig: newCellRig(t, theCell()), executed: map[term.CommandID]int{}}
	r.sparse = true
	house := house(exact())
	house.Rules = append(house.Rules, message.ImportRule{ID: "cool-enough", Farm: "house", Trigger: "climate/temperature", Target: "fan-a/on", TargetValue: term.Bool(false),
		Condition: term.Condition{Endpoint: "climate/temperature", Op: term.OpLt, Value: term.Int(24)}})
	r.accept(house)
	r.clock.Advance(time.Second)
	for _, l := range []plant.Link{plant.LinkTelemetry, plant.LinkAnswers, plant.LinkCommands} {
		r.device(message.LinkChanged{Link: l, Up: true})
	}
	r.device(message.SessionDrained{Link: plant.LinkTelemetry}, message.SessionDrained{Link: plant.LinkAnswers})
	for _, d := range r.loop.State().Devices() {
		r.device(message.DeviceStatusReported{Serial: d.Serial, Online: true, BootID: "b1"})
	}
	r.confirm()
	began := r.clock.Now()
	r.order("WO-1", 12)

	degrees, warmer, next := 26.0, 0.5, r.clock.Now()
	r.until("the order is done", 2*time.Hour, func() bool {
		r.obey()
		if !r.clock.Now().Before(next) {
			next = r.clock.Now().Add(time.Second)
			if warmer = 0.5; r.on {
				warmer = -0.7
			}
			degrees += warmer
			r.sense(degrees)
		}
		return r.ended("WO-1")
	})
	r.obey()

	r.finished("WO-1", 12)
	r.truth()
	intents := r.db.Intents()
	require.Greater(t, len(intents), 20, "the fan was switched all along")
	for n, i := range intents {
		require.Equal(t, term.Applied, i.State, "%+v", *i)
		require.Equal(t, term.Bool(n%2 == 0), i.TargetValue, "on and off by turns")
		require.Equal(t, 1, r.executed[i.CommandID], "%s", i.CommandID)
	}
	require.Len(t, r.executed, len(intents))
	t.Logf("%s of the plant, %d commands, %d robot actions", r.clock.Now().Sub(began), len(intents), len(r.line.Executed))
}
