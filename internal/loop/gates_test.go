package loop_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// proves D-17
func TestOneCommandAnEndpoint(t *testing.T) {
	r := newRig(t)
	first := r.command("valve/position", term.Int(10))
	p := r.publish()
	var queued []term.IntentID
	for n := range plant.MaxQueue {
		queued = append(queued, r.command("valve/position", term.Int(int64(20+n))).ID)
		r.clock.Advance(time.Millisecond)
	}
	o := r.person(message.SendCommand{Endpoint: "valve/position", Value: term.Int(99)})
	require.Equal(t, message.Refused, o.Code)
	require.Equal(t, string(term.GateQueueFull), o.Reason)
	require.Empty(t, r.published())
	value := int64(10)
	for _, next := range queued { // first in, first out
		r.report(p, message.Field{Key: "position", Value: term.Int(value)})
		p = r.publish()
		require.Equal(t, next, p.IntentID)
		require.NotEqual(t, first.ID, next)
		value = max(20, value+1)
		if value == 11 {
			value = 20
		}
	}
}

// proves D-16: refusing gates at a hand command, and again before a send.
func TestRefusingGates(t *testing.T) {
	set := func(change func(*message.ImportDevices)) message.ImportDevices {
		h := house(exact())
		change(&h)
		return h
	}
	off := false
	for _, c := range []struct {
		gate   term.Gate
		change func(*message.ImportDevices)
		value  term.Value
	}{
		{term.GateDeviceRetired, func(h *message.ImportDevices) { h.Devices[1].Status = term.DeviceRetired }, term.Bool(true)},
		{term.GateMaintenance, func(h *message.ImportDevices) { h.Devices[1].Status = term.DeviceMaintenance }, term.Bool(true)},
		{term.GateDisabled, func(h *message.ImportDevices) {
			h.Devices[1].Endpoints = []message.ImportEndpoint{{Key: "on", Enabled: &off}}
		}, term.Bool(true)},
		{term.GateNotWritable, func(h *message.ImportDevices) {
			h.Profiles[1].Endpoints[0].Writable = false
			h.Rules = nil
		}, term.Bool(true)},
	} {
		t.Run(string(c.gate), func(t *testing.T) {
			r := newRig(t)
			r.post(message.LinkChanged{Link: plant.LinkCommands, Up: false})
			waiting := r.command("fan-a/on", c.value)
			require.Equal(t, term.GateLinkDown, waiting.WaitingFor)
			require.Equal(t, message.Accepted, r.person(set(c.change)).Code)
			o := r.person(message.SendCommand{Endpoint: "fan-a/on", Value: c.value})
			require.Equal(t, message.Refused, o.Code)
			require.Equal(t, string(c.gate), o.Reason)
			r.post(message.LinkChanged{Link: plant.LinkCommands, Up: true})
			i := r.intent(waiting.ID)
			require.Equal(t, term.Failed, i.State)
			require.Equal(t, string(c.gate), i.LastError)
			require.Empty(t, r.published())
		})
	}
	t.Run("value", func(t *testing.T) {
		r := newRig(t)
		for _, v := range []term.Value{term.Int(-1), term.Int(101), term.Float(1.5), term.Text("x"), term.Bool(true), {}} {
			require.Equal(t, message.Invalid, r.person(message.SendCommand{Endpoint: "valve/position", Value: v}).Code, v.String())
		}
		require.Equal(t, message.NotFound, r.person(message.SendCommand{Endpoint: "valve/nothing", Value: term.Int(1)}).Code)
	})
	t.Run("rule changed after the decision", func(t *testing.T) {
		for gate, change := range map[term.Gate]func(*message.ImportRule){
			term.GateRuleInactive: func(r *message.ImportRule) { r.Active = &off },
			term.GateRuleRevision: func(r *message.ImportRule) { r.HoldOff = term.Duration(time.Second) },
		} {
			r := newRig(t)
			r.post(message.LinkChanged{Link: plant.LinkCommands, Up: false})
			r.hot()
			require.Equal(t, message.Accepted, r.person(set(func(h *message.ImportDevices) { change(&h.Rules[0]) })).Code)
			r.post(message.LinkChanged{Link: plant.LinkCommands, Up: true})
			require.Equal(t, string(gate), r.one().LastError)
			require.Equal(t, term.Failed, r.one().State)
		}
	})
}

// proves D-11, D-16: waiting gates open again, or the deadline ends the command with nothing sent.
func TestWaitingGates(t *testing.T) {
	for _, c := range []struct {
		gate  term.Gate
		close func(*rig)
		open  func(*rig)
	}{
		{term.GateLinkDown, func(r *rig) { r.post(message.LinkChanged{Link: plant.LinkCommands}) },
			func(r *rig) { r.post(message.LinkChanged{Link: plant.LinkCommands, Up: true}) }},
		{term.GateNotFresh, func(r *rig) { r.post(message.DeviceStatusReported{Serial: "FAN-A"}) }, func(r *rig) { r.heard("FAN-A") }},
		{term.GateQuarantine, func(r *rig) {
			in := r.loop.State().Fence().Installation
			r.post(message.DeviceStatusReported{Serial: "FAN-A", Online: true, BootID: r.boot,
				LastCommandID: term.CommandID("cmd_" + strings.ReplaceAll(in, "-", "") + "_0190")})
		}, func(r *rig) {
			require.Equal(r.t, message.Accepted, r.person(message.ReleaseHold{Subject: "device:fan-a", Hold: term.HoldQuarantine, Reason: "looked"}).Code)
		}},
	} {
		t.Run(string(c.gate), func(t *testing.T) {
			r := newRig(t)
			c.close(r)
			r.hot()
			require.Equal(t, c.gate, r.one().WaitingFor)
			require.Empty(t, r.published())
			c.open(r)
			r.publish()
		})
		t.Run(string(c.gate)+" until the deadline", func(t *testing.T) {
			r := newRig(t)
			c.close(r)
			r.hot()
			r.wait(5*time.Minute - time.Millisecond)
			require.Equal(t, term.PendingDispatch, r.one().State)
			r.wait(time.Millisecond)
			require.Equal(t, term.Expired, r.one().State)
			require.False(t, r.one().PossiblyExecuted)
			require.False(t, r.one().HoldsEndpoint)
			c.open(r)
			require.Empty(t, r.published())
		})
	}
}

// proves D-10: every pair of states; an edge that no move lists cannot be walked.
func TestCommandEdges(t *testing.T) {
	edges := map[term.CommandState]string{
		term.PendingDispatch: "dispatched acknowledged retrying applied failed expired uncertain",
		term.Dispatched:      "acknowledged retrying applied failed uncertain",
		term.Acknowledged:    "retrying applied failed uncertain",
		term.Retrying:        "dispatched acknowledged retrying applied failed expired uncertain",
		term.Uncertain:       "applied failed",
	}
	for _, from := range term.CommandStates() {
		for _, to := range term.CommandStates() {
			want := strings.Contains(" "+edges[from]+" ", " "+string(to)+" ")
			require.Equal(t, want, plant.CommandEdge(from, to), "%s → %s", from, to)
		}
	}
}
