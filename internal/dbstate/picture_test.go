package dbstate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/config"
	"surehand/internal/loop"
	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

const houseYAML = `
organisations: [{id: acme, name: Acme}]
farms: [{id: house, organisation: acme, name: House}]
profiles:
  - {id: climate, name: Climate, class: B, endpoints: [{key: temperature, kind: sensor, type: float}, {key: humidity, kind: sensor, type: float}]}
  - {id: a, name: A, class: A, endpoints: [{key: power, kind: actuator, type: bool, writable: true, binding: {method: set, param: power}}]}
  - {id: b, name: B, class: B, endpoints: [{key: power, kind: actuator, type: bool, writable: true, binding: {method: set, param: power}}]}
  - {id: c, name: C, class: C, endpoints: [{key: power, kind: actuator, type: bool, writable: true, binding: {method: set, param: power}}]}
devices:
  - {id: climate, farm: house, profile: climate, serial: CLIMATE}
  - {id: a, farm: house, profile: a, serial: A}
  - {id: b, farm: house, profile: b, serial: B}
  - {id: c, farm: house, profile: c, serial: C}
rules:
  - {id: a-on, farm: house, name: on, trigger: climate/temperature, when: {endpoint: climate/temperature, gt: 28}, set: {endpoint: a/power, value: true}, holdOff: HOLDOFF}
  - {id: a-off, farm: house, name: off, trigger: climate/temperature, when: {endpoint: climate/temperature, lt: 22}, set: {endpoint: a/power, value: false}}
  - {id: b-on, farm: house, name: on, trigger: climate/temperature, when: {all: [{endpoint: climate/temperature, gt: 30}, {endpoint: climate/humidity, gt: 50}]}, set: {endpoint: b/power, value: true}}
  - {id: c-on, farm: house, name: on, trigger: climate/temperature, when: {endpoint: climate/temperature, gt: 32}, set: {endpoint: c/power, value: true}}
`

// world drives the production loop with a seeded stream of messages: readings in and out of order, answers of
// every kind, silence, links that come and go, people. It knows nothing of the store behind the loop.
type world struct {
	t       *testing.T
	chance  *rand.Rand
	clock   *looptest.Clock
	mint    *looptest.Mint
	hands   *looptest.Hands
	feed    *looptest.Feed
	loop    *loop.Loop
	seq     int64
	last    message.Payload
	waiting []message.Payload // what devices will still say
}

func newWorld(t *testing.T, seed uint64, store loop.Store, check func(context.Context, *plant.State)) *world {
	w := &world{t: t, chance: rand.New(rand.NewPCG(seed, 7)), clock: looptest.NewClock(time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)),
		mint: looptest.NewMint(seed), hands: &looptest.Hands{}, feed: &looptest.Feed{}}
	w.loop = loop.New(loop.Options{Store: store, Hands: w.hands, Feed: w.feed, Clock: w.clock, Mint: w.mint, Check: check})
	require.NoError(t, w.loop.Begin(t.Context()))
	w.turn(houseWith(t, "1s"), message.LinkChanged{Link: plant.LinkCommands, Up: true}, message.SessionDrained{Link: plant.LinkAnswers},
		message.SessionDrained{Link: plant.LinkTelemetry})
	return w
}

func houseWith(t *testing.T, holdOff string) message.ImportDevices {
	d, problems := config.Devices([]byte(strings.ReplaceAll(houseYAML, "HOLDOFF", holdOff)))
	require.Empty(t, problems)
	return d
}

func (w *world) turn(payloads ...message.Payload) {
	w.t.Helper()
	batch := make([]message.Message, len(payloads))
	for i, p := range payloads {
		m := message.Message{ID: term.MessageID(w.mint.ID(w.clock.Now())), Payload: p, CreatedAt: w.clock.Now(), Source: message.FromDevice}
		switch p.(type) {
		case message.TelemetryReceived:
			m.Source = message.FromTelemetry
		case message.AttemptEnded:
			m.Source = message.FromWorker
		case message.SendCommand, message.CancelCommand, message.JudgeCommand, message.ImportDevices:
			m.Source, m.Actor = message.FromPerson, "kim"
		}
		batch[i] = m
	}
	require.NoError(w.t, w.loop.Turn(w.t.Context(), batch))
}

func (w *world) step() {
	var say []message.Payload
	for range 1 + w.chance.IntN(6)*w.chance.IntN(8) {
		say = append(say, w.draw())
	}
	w.turn(say...)
	for _, a := range w.hands.Take() {
		w.answer(a.(plant.Publish))
	}
	w.clock.Advance(time.Duration(w.chance.IntN(4000)) * time.Millisecond * time.Duration(1+w.chance.IntN(6)))
}

func (w *world) draw() message.Payload {
	if len(w.waiting) > 0 && w.chance.IntN(2) == 0 {
		at := w.chance.IntN(len(w.waiting))
		p := w.waiting[at]
		if w.chance.IntN(5) > 0 { // else it is said twice
			w.waiting = append(w.waiting[:at], w.waiting[at+1:]...)
		}
		return p
	}
	switch w.chance.IntN(14) {
	case 0:
		return message.LinkChanged{Link: plant.LinkCommands, Up: w.chance.IntN(3) > 0}
	case 1:
		return message.SendCommand{Endpoint: w.actuator(), Value: term.Bool(w.chance.IntN(2) == 0), Reassert: w.chance.IntN(2) == 0}
	case 2:
		if all := w.loop.State().Intents(); len(all) > 0 {
			i := all[w.chance.IntN(len(all))]
			if w.chance.IntN(2) == 0 {
				return message.JudgeCommand{IntentID: i.ID, Verdict: term.VerdictFailed, Reason: "looked"}
			}
			return message.CancelCommand{IntentID: i.ID}
		}
	case 3:
		return message.DeviceStatusReported{Serial: w.serial(), Online: w.chance.IntN(4) > 0, BootID: fmt.Sprint("boot-", w.chance.IntN(3))}
	case 4:
		return houseWith(w.t, []string{"0s", "1s", "30s"}[w.chance.IntN(3)])
	case 5:
		if w.last != nil {
			return w.last
		}
	case 6:
		return message.InputRejected{Serial: "A", Topic: "t", Reason: "malformed", Raw: []byte{0, 0xff}}
	case 7, 8:
		return w.reading(w.serial(), message.Field{Key: "power", Value: term.Bool(w.chance.IntN(2) == 0)})
	}
	w.last = w.reading("CLIMATE", message.Field{Key: "humidity", Value: term.Float(float64(40 + w.chance.IntN(20)))},
		message.Field{Key: "temperature", Value: term.Float(float64(18 + w.chance.IntN(18)))})
	return w.last
}

func (w *world) actuator() term.EndpointID {
	return []term.EndpointID{"a/power", "b/power", "c/power"}[w.chance.IntN(3)]
}
func (w *world) serial() string { return []string{"A", "B", "C"}[w.chance.IntN(3)] }

func (w *world) reading(serial string, fields ...message.Field) message.Payload {
	p := message.TelemetryReceived{Serial: serial, Delivery: message.Delivery{PacketID: uint16(1 + w.chance.IntN(9))}}
	for range 1 + w.chance.IntN(3)*w.chance.IntN(9) {
		w.seq++
		r := message.Reading{Fields: fields, Seq: w.seq, BootID: "boot-0", At: w.clock.Now().Add(-time.Duration(w.chance.IntN(200)) * time.Second / 10)}
		switch w.chance.IntN(8) {
		case 0:
			r.Seq = -1
		case 1:
			r.Seq, r.At = -1, time.Time{}
		case 2:
			r.At = w.clock.Now().Add(-time.Hour)
		case 3:
			r.Seq -= int64(w.chance.IntN(20))
		}
		r.Canonical = fmt.Sprintf(`{"seq":%d,"ts":%q,"values":%q}`, r.Seq, r.At, fmt.Sprint(fields))
		p.Readings = append(p.Readings, r)
	}
	return p
}

// answer lets the worker and the device react to a publish, now or later, rightly or not.
func (w *world) answer(p plant.Publish) {
	outcome := []term.AttemptOutcome{term.AttemptSent, term.AttemptSent, term.AttemptSent, term.AttemptNotSent, term.AttemptUnknown}[w.chance.IntN(5)]
	w.waiting = append(w.waiting, message.AttemptEnded{AttemptID: p.AttemptID, IntentID: p.IntentID, Outcome: outcome, Error: "drawn"})
	if outcome == term.AttemptNotSent || w.chance.IntN(4) == 0 {
		return // silence
	}
	r := message.DeviceResponded{Serial: p.Serial, CommandID: p.CommandID, Status: term.RPCAccepted, ResultCode: term.ResultOK, Correlation: p.Correlation, Raw: []byte("{}")}
	switch w.chance.IntN(6) {
	case 0:
		r.Status, r.ResultCode = term.RPCRejected, term.ResultBusy
	case 1:
		r.Status, r.ResultCode, r.Correlation = term.RPCFailed, term.ResultHardwareFault, ""
	}
	w.waiting = append(w.waiting, r)
	if r.Status == term.RPCAccepted && w.chance.IntN(3) > 0 {
		w.waiting = append(w.waiting, message.StateReported{Serial: p.Serial, CommandID: p.CommandID, Seq: -1, Raw: []byte("{}"),
			Fields: []message.Field{{Key: "power", Value: term.Bool(w.chance.IntN(4) > 0)}}})
	}
}

// trace is everything that was decided, without the ids of the installation.
func (w *world) trace() (out []string) {
	installation := w.loop.State().Fence().Installation
	short := strings.ReplaceAll(installation, "-", "")
	for _, c := range w.feed.Shown() {
		for _, e := range c.Entries {
			out = append(out, strings.NewReplacer(installation, "I", short, "I").Replace(fmt.Sprintf("%+v", e)))
		}
	}
	return out
}

// proves quality 13 and 17: on PostgreSQL the picture equals a fresh load after every committed turn, and the
// same seed gives the same trace on PostgreSQL and in memory.
func TestPictureAndTraceOnPostgreSQL(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			const steps = 60
			db := looptest.NewDatabase()
			memory := newWorld(t, seed, db.Store(), nil)
			for range steps {
				memory.step()
			}
			require.Empty(t, looptest.Invariants(db))

			store := connect(t, database(t))
			stored := newWorld(t, seed, store, func(ctx context.Context, s *plant.State) {
				fresh, err := store.Reload(ctx)
				require.NoError(t, err)
				require.Empty(t, plant.Diff(s, fresh))
			})
			for range steps {
				stored.step()
			}
			want, got := memory.trace(), stored.trace()
			for i := range want {
				require.Equal(t, want[i], got[min(i, len(got)-1)], "entry %d of seed %d", i, seed)
			}
			require.Len(t, got, len(want))
			require.Greater(t, len(want), steps)
		})
	}
}

// proves quality 13, device half of quality 1-7: many more seeds in memory, where a run costs a tenth.
func TestPictureInMemory(t *testing.T) {
	for seed := uint64(100); seed < 100+memorySeeds; seed++ {
		db := looptest.NewDatabase()
		w := newWorld(t, seed, db.Store(), func(_ context.Context, s *plant.State) {
			fresh, err := db.Load()
			require.NoError(t, err)
			require.Empty(t, plant.Diff(s, fresh), "seed %d", seed)
		})
		for range 60 {
			w.step()
		}
		require.Empty(t, looptest.Invariants(db), "seed %d", seed)
		w.rest()
		for _, i := range db.Intents() {
			require.True(t, i.State.Ended() || i.State == term.Uncertain, "seed %d: %s is still %s", seed, i.ID, i.State)
		}
	}
}

// memorySeeds is small enough for every run of the tests under the race detector.
const memorySeeds = 15

// rest lets every link come back and nobody say anything until no timer is left: then every command has come
// to an end, or is honestly uncertain (quality 7).
func (w *world) rest() {
	w.turn(message.LinkChanged{Link: plant.LinkCommands, Up: true}, message.SessionDrained{Link: plant.LinkAnswers})
	for n := 0; ; n++ {
		require.Less(w.t, n, 10_000, "it does not come to rest")
		next, ok := w.loop.NextTurn()
		if !ok {
			return
		}
		w.clock.Advance(max(0, next.Sub(w.clock.Now())))
		require.NoError(w.t, w.loop.Turn(w.t.Context(), nil))
		for _, a := range w.hands.Take() {
			p := a.(plant.Publish)
			w.turn(message.AttemptEnded{AttemptID: p.AttemptID, IntentID: p.IntentID, Outcome: term.AttemptSent})
		}
	}
}
