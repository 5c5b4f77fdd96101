package loop_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// proves D-4, D-5, D-7, D-14, X-1, X-9
func TestReadingToProof(t *testing.T) {
	r := newRig(t)
	require.Equal(t, message.Accepted, r.hot().Code)
	p := r.publish()
	i := r.is(p, term.PendingDispatch)
	require.True(t, i.HoldsEndpoint)

	var wire map[string]any
	require.NoError(t, json.Unmarshal(p.Payload, &wire))
	require.Equal(t, map[string]any{"commandId": string(p.CommandID), "method": "set", "params": map[string]any{"on": true},
		"sentAt": "2026-11-30T03:00:00.000Z", "deadlineAt": "2026-11-30T03:00:05.000Z", "attempt": 1.0}, wire)
	require.Equal(t, "FAN-A/rpc/request", p.Topic)
	require.Equal(t, 1, p.QoS)

	r.ended(p, term.AttemptSent)
	r.is(p, term.Dispatched)
	r.answer(p, term.RPCAccepted, term.ResultOK)
	r.is(p, term.Acknowledged)
	r.report(p, on(true))
	i = r.is(p, term.Applied)
	require.False(t, i.HoldsEndpoint)
	evidence, ok := r.db.Row(plant.KindReceipt, string(i.EvidenceID))
	require.True(t, ok)
	require.Equal(t, term.ReceiptStateReport, evidence.(*plant.Receipt).Type)
	x, ok := r.db.Row(plant.KindExecution, string(i.ExecutionID))
	require.True(t, ok)
	require.Equal(t, term.Applied, x.(*plant.Execution).FinalState)
	require.Empty(t, r.published())
}

// proves D-18, X-2
func TestAckAloneIsUncertain(t *testing.T) {
	r := newRig(t)
	r.hot()
	p := r.publish()
	r.ended(p, term.AttemptSent)
	r.answer(p, term.RPCAccepted, term.ResultOK)
	r.wait(29 * time.Second)
	r.is(p, term.Acknowledged)
	r.wait(time.Second)
	require.True(t, r.is(p, term.Uncertain).HoldsEndpoint)
	r.report(p, on(true)) // late evidence
	r.is(p, term.Applied)
}

// proves D-11, D-12
func TestSilenceBringsThreeAttemptsThenExpired(t *testing.T) {
	r := newRig(t)
	r.hot()
	first := r.publish()
	attempts := []plant.Publish{first}
	r.ended(first, term.AttemptSent)
	for _, gap := range []time.Duration{5 * time.Second, 15 * time.Second} {
		r.wait(5 * time.Second) // ack timeout
		r.is(first, term.Retrying)
		r.wait(gap - time.Millisecond)
		require.Empty(t, r.published(), "sent before its backoff of %s", gap)
		r.heard("FAN-A")
		r.wait(time.Millisecond)
		p := r.publish()
		attempts = append(attempts, p)
		r.ended(p, term.AttemptSent)
	}
	for n, p := range attempts {
		require.Equal(t, first.CommandID, p.CommandID)
		require.Equal(t, n+1, p.Number)
	}
	r.wait(5 * time.Second)
	r.is(first, term.Retrying)
	r.wait(45*time.Second - time.Millisecond)
	r.is(first, term.Retrying)
	r.wait(time.Millisecond)
	i := r.is(first, term.Expired)
	require.True(t, i.PossiblyExecuted)
	require.True(t, i.HoldsEndpoint)
	require.Empty(t, r.published())
}

// proves D-11, quality 7: a command whose next attempt would come after its deadline ends at the deadline.
func TestDeadlineBeforeTheNextAttempt(t *testing.T) {
	r := newRig(t)
	h := house(exact())
	h.Profiles[1].Timing.CommandDeadline = term.Duration(8 * time.Second)
	require.Equal(t, message.Accepted, r.person(h).Code)
	r.command("fan-a/on", term.Bool(true))
	p := r.publish()
	r.ended(p, term.AttemptSent)
	r.wait(8*time.Second - time.Millisecond)
	r.is(p, term.Retrying)
	r.wait(time.Millisecond)
	require.True(t, r.is(p, term.Expired).PossiblyExecuted)
}

// proves D-11, X-4
func TestClassDecidesWhatSilenceMeans(t *testing.T) {
	for _, c := range []struct {
		endpoint string
		value    term.Value
		qos      int
		then     term.CommandState
	}{
		{"fan-a/on", term.Bool(true), 1, term.Retrying},
		{"fan-b/on", term.Bool(true), 0, term.Retrying},
		{"fan-c/on", term.Bool(true), 0, term.Uncertain},
		{"door/open", term.Bool(true), 1, term.Uncertain}, // a pulse is never repeated
	} {
		t.Run(c.endpoint, func(t *testing.T) {
			r := newRig(t)
			r.command(c.endpoint, c.value)
			p := r.publish()
			require.Equal(t, c.qos, p.QoS)
			r.ended(p, term.AttemptSent)
			r.wait(5 * time.Second)
			r.is(p, c.then)
		})
	}
}

// proves X-4
func TestClassBIsNotRepeatedAfterAReboot(t *testing.T) {
	r := newRig(t)
	r.command("fan-b/on", term.Bool(true))
	p := r.publish()
	r.ended(p, term.AttemptSent)
	r.post(message.DeviceStatusReported{Serial: "FAN-B", Online: true, BootID: "b2"})
	r.wait(5 * time.Second)
	r.is(p, term.Uncertain)
}

// proves D-11
func TestWhatTheWorkerSays(t *testing.T) {
	for _, c := range []struct {
		endpoint string
		outcome  term.AttemptOutcome
		now      term.CommandState
		later    term.CommandState // after the ack timeout
	}{
		{"fan-a/on", term.AttemptSent, term.Dispatched, term.Retrying},
		{"fan-a/on", term.AttemptNotSent, term.Retrying, term.PendingDispatch}, // see below
		{"fan-a/on", term.AttemptUnknown, term.PendingDispatch, term.Retrying},
		{"fan-b/on", term.AttemptUnknown, term.PendingDispatch, term.Uncertain},
		{"fan-c/on", term.AttemptUnknown, term.PendingDispatch, term.Uncertain},
	} {
		t.Run(c.endpoint+" "+string(c.outcome), func(t *testing.T) {
			r := newRig(t)
			r.command(c.endpoint, term.Bool(true))
			p := r.publish()
			r.ended(p, c.outcome)
			r.is(p, c.now)
			if c.outcome == term.AttemptNotSent { // does not count, and goes out again after its backoff
				require.Zero(t, r.one().AttemptCount)
				r.wait(5 * time.Second)
				again := r.publish()
				require.Equal(t, p.CommandID, again.CommandID)
				require.Equal(t, 2, again.Number)
				require.Equal(t, 1, r.one().AttemptCount)
				return
			}
			r.wait(5 * time.Second)
			r.is(p, c.later)
			require.Empty(t, r.published())
		})
	}
}

// proves D-6, D-15
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		status term.RPCStatus
		code   term.ResultCode
		state  term.CommandState
	}{
		{"accepted", term.RPCAccepted, term.ResultOK, term.Acknowledged},
		{"succeeded is no proof", term.RPCSucceeded, term.ResultOK, term.Acknowledged},
		{"busy is tried again", term.RPCRejected, term.ResultBusy, term.Retrying},
		{"invalid_param", term.RPCRejected, term.ResultInvalidParam, term.Failed},
		{"not_supported", term.RPCRejected, term.ResultNotSupported, term.Failed},
		{"hardware_fault", term.RPCFailed, term.ResultHardwareFault, term.Failed},
	} {
		for _, before := range []term.CommandState{term.PendingDispatch, term.Dispatched, term.Acknowledged} {
			t.Run(c.name+" while "+string(before), func(t *testing.T) {
				r := newRig(t)
				r.command("fan-a/on", term.Bool(true))
				p := r.publish()
				if before != term.PendingDispatch { // else the PUBACK is slower than the answer
					r.ended(p, term.AttemptSent)
				}
				if before == term.Acknowledged {
					r.answer(p, term.RPCAccepted, term.ResultOK)
				}
				r.answer(p, c.status, c.code)
				r.is(p, c.state)
				r.ended(p, term.AttemptSent) // the PUBACK after all: changes nothing
				r.is(p, c.state)
				if c.state == term.Failed {
					require.False(t, r.one().HoldsEndpoint)
				}
			})
		}
	}
}

// proves D-13: the correlation table of the automation package, a row each.
func TestCorrelation(t *testing.T) {
	answered := func(r *rig, p plant.Publish, status term.RPCStatus, code term.ResultCode) (term.Correlation, term.CommandState) {
		o := r.answer(p, status, code)
		c := term.Correlation(o.Reason)
		if o.Code == message.Accepted {
			c = term.CorrelationTimely
		}
		return c, r.intent(p.IntentID).State
	}
	sent := func(t *testing.T) (*rig, plant.Publish) {
		r := newRig(t)
		r.command("fan-a/on", term.Bool(true))
		p := r.publish()
		r.ended(p, term.AttemptSent)
		return r, p
	}
	second := func(t *testing.T) (*rig, plant.Publish, plant.Publish) {
		r, first := sent(t)
		r.wait(10 * time.Second)
		p := r.publish()
		r.ended(p, term.AttemptSent)
		return r, first, p
	}
	t.Run("the current attempt", func(t *testing.T) {
		r, p := sent(t)
		c, s := answered(r, p, term.RPCAccepted, term.ResultOK)
		require.Equal(t, term.CorrelationTimely, c)
		require.Equal(t, term.Acknowledged, s)
	})
	t.Run("the same twice", func(t *testing.T) {
		r, p := sent(t)
		answered(r, p, term.RPCAccepted, term.ResultOK)
		c, s := answered(r, p, term.RPCAccepted, term.ResultOK)
		require.Equal(t, term.CorrelationDuplicate, c)
		require.Equal(t, term.Acknowledged, s)
	})
	t.Run("twice in one turn", func(t *testing.T) {
		r, p := sent(t)
		report := message.StateReported{Serial: p.Serial, CommandID: p.CommandID, Fields: []message.Field{on(true)}, Seq: -1}
		r.posts(report, report)
		r.is(p, term.Applied)
	})
	t.Run("an earlier attempt, positive", func(t *testing.T) {
		r, first, _ := second(t)
		c, s := answered(r, first, term.RPCAccepted, term.ResultOK)
		require.Equal(t, term.CorrelationTimely, c)
		require.Equal(t, term.Acknowledged, s)
	})
	t.Run("an earlier attempt, negative", func(t *testing.T) {
		r, first, _ := second(t)
		c, s := answered(r, first, term.RPCRejected, term.ResultInvalidParam)
		require.Equal(t, term.CorrelationEarlier, c)
		require.Equal(t, term.Dispatched, s)
	})
	t.Run("negative, attempt cannot be told", func(t *testing.T) {
		r, _, p := second(t)
		p.Number, p.Correlation = 0, ""
		_, s := answered(r, p, term.RPCRejected, term.ResultInvalidParam)
		require.Equal(t, term.Uncertain, s)
	})
	t.Run("late ack while retrying stops further attempts", func(t *testing.T) {
		r, p := sent(t)
		r.wait(6 * time.Second)
		r.is(p, term.Retrying)
		answered(r, p, term.RPCAccepted, term.ResultOK)
		r.wait(20 * time.Second)
		require.Empty(t, r.published())
		r.is(p, term.Acknowledged)
	})
	t.Run("ended", func(t *testing.T) {
		r, p := sent(t)
		r.report(p, on(true))
		c, s := answered(r, p, term.RPCAccepted, term.ResultOK)
		require.Equal(t, term.CorrelationDuplicate, c)
		require.Equal(t, term.Applied, s)
		c, s = answered(r, p, term.RPCFailed, term.ResultHardwareFault)
		require.Equal(t, term.CorrelationContradiction, c)
		require.Equal(t, term.Applied, s)
	})
	t.Run("never sent", func(t *testing.T) {
		r := newRig(t)
		r.command("fan-a/on", term.Bool(true))
		p := r.publish()
		r.ended(p, term.AttemptNotSent)
		c, s := answered(r, p, term.RPCAccepted, term.ResultOK)
		require.Equal(t, term.CorrelationContradiction, c)
		require.Equal(t, term.Retrying, s)
	})
	t.Run("another device", func(t *testing.T) {
		r, p := sent(t)
		p.Serial = "FAN-B"
		o := r.answer(p, term.RPCAccepted, term.ResultOK)
		require.Equal(t, message.Ignored, o.Code)
		require.Equal(t, "other_device", o.Reason)
		r.is(p, term.Dispatched)
	})
	t.Run("no command of ours", func(t *testing.T) {
		r, p := sent(t)
		p.CommandID = "cmd_x"
		require.Equal(t, "unknown_command", r.answer(p, term.RPCAccepted, term.ResultOK).Reason)
	})
	t.Run("unknown device", func(t *testing.T) {
		r, p := sent(t)
		p.Serial = "NOBODY"
		require.Equal(t, "unknown_device", r.answer(p, term.RPCAccepted, term.ResultOK).Reason)
	})
}

// proves D-7, quality 4: a pulse is proven by the report about its command, whatever value it shows.
func TestReportProvesAPulse(t *testing.T) {
	r := newRig(t)
	r.command("door/open", term.Bool(true))
	p := r.publish()
	r.ended(p, term.AttemptSent)
	r.report(p, message.Field{Key: "open", Value: term.Bool(false)}) // closed again already
	r.is(p, term.Applied)
}

// proves D-18
func TestContradictingReport(t *testing.T) {
	r := newRig(t)
	r.command("fan-a/on", term.Bool(true))
	p := r.publish()
	r.ended(p, term.AttemptSent)
	r.answer(p, term.RPCAccepted, term.ResultOK)
	r.report(p, on(false))
	r.is(p, term.Failed)
	r.report(p, on(true)) // says the opposite afterwards: recorded, the end stays
	r.is(p, term.Failed)
	require.Equal(t, term.CorrelationContradiction, lastReceipt(r).Correlation)
}

func lastReceipt(r *rig) *plant.Receipt {
	var last *plant.Receipt
	for _, row := range r.db.Rows() {
		if c, ok := row.(*plant.Receipt); ok && (last == nil || c.ID > last.ID) {
			last = c
		}
	}
	return last
}

// proves X-3, D-7
func TestTelemetryEvidence(t *testing.T) {
	acked := func(t *testing.T) (*rig, plant.Publish) {
		r := newRig(t)
		r.post(r.reading("FAN-A", on(false)))
		r.command("fan-a/on", term.Bool(true))
		p := r.publish()
		r.ended(p, term.AttemptSent)
		r.answer(p, term.RPCAccepted, term.ResultOK)
		r.clock.Advance(time.Second)
		return r, p
	}
	t.Run("newer by the device's own count: one is enough", func(t *testing.T) {
		r, p := acked(t)
		r.post(r.reading("FAN-A", on(true)))
		require.NotEmpty(t, r.is(p, term.Applied).EvidenceID)
	})
	t.Run("without a count: two equal samples", func(t *testing.T) {
		r, p := acked(t)
		r.post(r.sampled("FAN-A", r.clock.Now(), -1, on(true)))
		r.is(p, term.Acknowledged)
		r.clock.Advance(time.Second)
		r.post(r.sampled("FAN-A", r.clock.Now(), -1, on(true)))
		r.is(p, term.Applied)
	})
	t.Run("a different one between starts over", func(t *testing.T) {
		r, p := acked(t)
		for _, v := range []bool{true, false, true} {
			r.clock.Advance(time.Second)
			r.post(r.sampled("FAN-A", r.clock.Now(), -1, on(v)))
		}
		r.is(p, term.Acknowledged)
	})
	t.Run("a sample from before the fence proves nothing", func(t *testing.T) {
		r, p := acked(t)
		for n := range 3 {
			r.post(r.sampled("FAN-A", start.Add(-time.Second+time.Duration(n)*time.Millisecond), -1, on(true)))
		}
		r.is(p, term.Acknowledged)
	})
	t.Run("a backlog proves nothing", func(t *testing.T) {
		r, p := acked(t)
		r.wait(5 * time.Second)
		r.post(r.sampled("FAN-A", r.clock.Now().Add(-3*time.Minute), 99, on(true)))
		r.is(p, term.Acknowledged)
	})
	t.Run("still different inside the window is no contradiction", func(t *testing.T) {
		r, p := acked(t)
		r.post(r.reading("FAN-A", on(false)))
		r.is(p, term.Acknowledged)
	})
	t.Run("a retained reading is a hint", func(t *testing.T) {
		r, p := acked(t)
		m := r.reading("FAN-A", on(true))
		m.Delivery.Retained = true
		require.Equal(t, "retained", r.post(m).Reason)
		r.is(p, term.Acknowledged)
	})
}

// proves X-2: how an endpoint that an unproven command holds is let go.
func TestLettingGo(t *testing.T) {
	lapse := 5*time.Second + 90*time.Second // message expiry + 1.5 × keepalive
	uncertain := func(t *testing.T) (*rig, plant.Publish) {
		r := newRig(t)
		r.command("fan-c/on", term.Bool(true))
		p := r.publish()
		r.ended(p, term.AttemptSent)
		r.wait(5 * time.Second)
		r.is(p, term.Uncertain)
		return r, p
	}
	t.Run("a newer absolute command waits for the lapse, then goes", func(t *testing.T) {
		r, p := uncertain(t)
		next := r.command("fan-c/on", term.Bool(false))
		require.Equal(t, term.GateEndpointBusy, next.WaitingFor)
		r.wait(lapse - 6*time.Second)
		require.Empty(t, r.published())
		r.heard("FAN-C")
		r.wait(time.Second)
		require.Equal(t, next.ID, r.publish().IntentID)
		i := r.is(p, term.Uncertain)
		require.False(t, i.HoldsEndpoint)
		require.False(t, i.ClosedAt.IsZero())
		// Late evidence still finds the closed command.
		r.report(p, on(true))
		r.is(p, term.Applied)
	})
	t.Run("another value through a window after the lapse: failed", func(t *testing.T) {
		r, p := uncertain(t)
		r.wait(lapse)
		r.post(r.reading("FAN-C", on(false)))
		r.is(p, term.Uncertain)
		r.wait(30 * time.Second)
		r.post(r.reading("FAN-C", on(false)))
		r.is(p, term.Failed)
	})
	t.Run("a person's verdict", func(t *testing.T) {
		for verdict, state := range map[term.Verdict]term.CommandState{term.VerdictApplied: term.Applied, term.VerdictFailed: term.Failed} {
			r, p := uncertain(t)
			require.Equal(t, message.Invalid, r.person(message.JudgeCommand{IntentID: p.IntentID, Verdict: verdict}).Code, "a reason is needed")
			require.Equal(t, message.Accepted, r.person(message.JudgeCommand{IntentID: p.IntentID, Verdict: verdict, Reason: "saw it"}).Code)
			r.is(p, state)
			require.Equal(t, "not_uncertain", r.person(message.JudgeCommand{IntentID: p.IntentID, Verdict: verdict, Reason: "again"}).Reason)
		}
	})
	t.Run("a pulse is let go by proof or a person only", func(t *testing.T) {
		r := newRig(t)
		r.command("door/open", term.Bool(true))
		p := r.publish()
		r.ended(p, term.AttemptSent)
		r.wait(5 * time.Second)
		r.command("door/open", term.Bool(true))
		r.wait(lapse)
		require.Empty(t, r.published())
		r.is(p, term.Uncertain)
	})
	t.Run("an expired command that may have run holds until the lapse", func(t *testing.T) {
		r := newRig(t)
		r.command("fan-a/on", term.Bool(true))
		p := r.publish()
		r.ended(p, term.AttemptSent)
		next := r.command("fan-a/on", term.Bool(false))
		r.heard("FAN-A")
		r.wait(10 * time.Second) // its next attempt is due, but something contrary waits
		i := r.is(p, term.Expired)
		require.True(t, i.PossiblyExecuted)
		require.True(t, strings.HasPrefix(i.LastError, "superseded"))
		r.wait(lapse - 10*time.Second - time.Millisecond)
		require.Empty(t, r.published())
		r.heard("FAN-A")
		r.wait(time.Millisecond)
		require.Equal(t, next.ID, r.publish().IntentID)
	})
}

// proves D-13, X-1: the memory store fails in every way around the commit that fences a command.
func TestCommitFaultsAroundTheFence(t *testing.T) {
	for _, mode := range []looptest.Mode{looptest.FailBefore, looptest.FailAfter, looptest.FailLost, looptest.Again, looptest.Conflict, looptest.Late} {
		t.Run(mode.String(), func(t *testing.T) {
			r := newRig(t)
			r.db.Script(looptest.Fault{Mode: mode})
			r.hot()
			p := r.publish()
			r.is(p, term.PendingDispatch)
			r.ended(p, term.AttemptSent)
			r.report(p, on(true))
			r.is(p, term.Applied)
			require.Empty(t, r.published())
		})
	}
}
