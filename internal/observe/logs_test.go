package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// written gives the lines that turns leave, as JSON.
func written(t *testing.T, level slog.Level, turns ...plant.Committed) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	l := NewLogs(slog.New(NewHandler(&out, false, level)))
	l.Learn(&plant.Device{ID: "fan", Serial: "SN1"})
	for _, c := range turns {
		l.Show(c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l.Run(ctx)
	var lines []map[string]any
	for line := range strings.Lines(out.String()) {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		delete(m, "time")
		lines = append(lines, m)
	}
	return lines
}

func change(before, after plant.Row) plant.Committed {
	return plant.Committed{Changes: []plant.Change{{Move: "Move", Before: before, After: after}}}
}

func intent(state term.CommandState) *plant.Intent {
	return &plant.Intent{ID: "i1", ExecutionID: "x1", RuleID: "r1", EventID: "e1", CommandID: "c1", DeviceID: "fan", Serial: "SN1", EndpointID: "fan/on",
		State: state, Version: 2, AttemptNumber: 1, HoldsEndpoint: true}
}

// TestEveryStageHasItsIDs. proves D-20
func TestEveryStageHasItsIDs(t *testing.T) {
	with := func(r plant.Row) plant.Committed {
		c := change(nil, r)
		c.Changes = append(c.Changes, plant.Change{Move: "MarkX", Before: intent(term.Dispatched), After: intent(term.Acknowledged)})
		return c
	}
	doubtful := change(nil, &plant.Attempt{ID: "a1", IntentID: "i1", CommandID: "c1", Outcome: term.AttemptUnknown})
	doubtful.Changes = append(doubtful.Changes, plant.Change{Move: "Doubt", Before: intent(term.Dispatched), After: intent(term.Uncertain)})
	all := "eventId ruleId ruleExecutionId commandIntentId deviceCommandId deviceId serialNumber"
	for name, c := range map[string]struct {
		turn        plant.Committed
		msg, level  string
		ids, absent string
	}{
		"reading":               {change(nil, &plant.Telemetry{ID: "t1", DeviceID: "fan"}), "reading stored", "DEBUG", "deviceId serialNumber", "eventId"},
		"event":                 {change(nil, &plant.Event{ID: "e1", DeviceID: "fan", Status: term.EventProcessed}), "endpoint event", "DEBUG", "eventId deviceId serialNumber", "ruleId"},
		"event that failed":     {change(nil, &plant.Event{ID: "e1", DeviceID: "fan", Status: term.EventFailed}), "endpoint event", "WARN", "eventId deviceId", ""},
		"verdict without a cmd": {change(nil, &plant.Execution{ID: "x1", RuleID: "r1", EventID: "e1", TargetID: "fan/on", Outcome: term.ExecutionRefused}), "rule verdict", "INFO", "eventId ruleId ruleExecutionId deviceId serialNumber", "commandIntentId"},
		"verdict that fired":    {with(&plant.Execution{ID: "x1", RuleID: "r1", EventID: "e1", TargetID: "fan/on", Outcome: term.ExecutionFired, IntentID: "i1"}), "rule verdict", "INFO", all, ""},
		"verdict that failed":   {change(nil, &plant.Execution{ID: "x1", RuleID: "r1", TargetID: "fan/on", Outcome: term.ExecutionFailed}), "rule verdict", "WARN", "ruleId", ""},
		"verdict repeated":      {change(&plant.Execution{ID: "x1"}, &plant.Execution{ID: "x1", RuleID: "r1", LastEventID: "e2", TargetID: "fan/on"}), "rule verdict", "DEBUG", "eventId ruleId", ""},
		"command decided":       {change(nil, intent(term.PendingDispatch)), "command", "INFO", all, ""},
		"command moved":         {change(intent(term.Dispatched), intent(term.Acknowledged)), "command", "INFO", all, ""},
		"command, only a timer": {change(intent(term.Dispatched), intent(term.Dispatched)), "command", "DEBUG", all, ""},
		"command uncertain":     {change(intent(term.Dispatched), intent(term.Uncertain)), "command", "WARN", all, ""},
		"command expired":       {change(intent(term.Retrying), intent(term.Expired)), "command", "WARN", all, ""},
		"attempt fenced":        {with(&plant.Attempt{ID: "a1", IntentID: "i1", CommandID: "c1", Outcome: term.AttemptOpen}), "attempt fenced", "INFO", all, ""},
		"attempt sent":          {with(&plant.Attempt{ID: "a1", IntentID: "i1", CommandID: "c1", Outcome: term.AttemptSent}), "attempt ended", "INFO", all, ""},
		"attempt unknown":       {doubtful, "attempt ended", "WARN", all, ""},
		"attempt proven first":  {with(&plant.Attempt{ID: "a1", IntentID: "i1", CommandID: "c1", Outcome: term.AttemptUnknown}), "attempt ended", "INFO", all, ""},
		"receipt of an ack":     {with(&plant.Receipt{ID: "p1", IntentID: "i1", DeviceID: "fan", Serial: "SN1", Type: term.ReceiptAck, Correlation: term.CorrelationTimely}), "receipt", "INFO", all, ""},
		"receipt of a stranger": {change(nil, &plant.Receipt{ID: "p1", Serial: "SN9", Type: term.ReceiptResult, Correlation: term.CorrelationForeign}), "receipt", "INFO", "serialNumber", "commandIntentId deviceId"},
		"contradiction":         {change(nil, &plant.Receipt{ID: "p1", IntentID: "i9", DeviceID: "fan", Type: term.ReceiptResult, Correlation: term.CorrelationContradiction}), "receipt", "WARN", "commandIntentId deviceId serialNumber", ""},
		"timeout":               {with(&plant.Receipt{ID: "p1", IntentID: "i1", Type: term.ReceiptTimeout}), "receipt", "WARN", all, ""},
		"device rebooted":       {change(nil, &plant.Device{ID: "d2", Serial: "SN2", Status: term.DeviceActive}), "device changed", "INFO", "deviceId serialNumber", ""},
		"hold":                  {change(nil, &plant.Hold{Subject: "device:fan", Reason: term.HoldQuarantine}), "held", "WARN", "deviceId serialNumber", ""},
		"hold of all devices":   {change(nil, &plant.Hold{Subject: "devices", Reason: term.HoldParked, EndedAt: noon}), "hold released", "INFO", "", "deviceId"},
		"parked":                {change(nil, &plant.Parked{ID: "m1", Type: "DeviceResponded"}), "message parked", "WARN", "", "deviceId"},
		"refusal":               {plant.Committed{Entries: []plant.Entry{{Type: "CancelCommand", Actor: "local", Outcome: "refused", Subject: "intent:i1"}}}, "decided", "INFO", "commandIntentId", ""},
		"parked entry":          {plant.Committed{Entries: []plant.Entry{{Type: "DeviceResponded", Outcome: "parked", Subject: "device:fan"}}}, "decided", "WARN", "deviceId serialNumber", ""},
		"timer":                 {plant.Committed{Entries: []plant.Entry{{Type: "Due", Outcome: "accepted"}}}, "decided", "DEBUG", "", "deviceId"},
		"rejected input":        {plant.Committed{Counts: []plant.Count{{Name: "input_rejected", Label: "malformed"}}}, "counted", "INFO", "", "deviceId"},
		"duplicate":             {plant.Committed{Counts: []plant.Count{{Name: "answer", Label: "duplicate"}}}, "counted", "DEBUG", "", "deviceId"},
	} {
		t.Run(name, func(t *testing.T) {
			line := written(t, slog.LevelDebug, c.turn)[0]
			require.Equal(t, c.msg, line["msg"])
			require.Equal(t, c.level, line["level"])
			for _, id := range strings.Fields(c.ids) {
				require.NotEmpty(t, line[id], id)
			}
			for _, id := range strings.Fields(c.absent) {
				require.NotContains(t, line, id)
			}
			if c.ids == all {
				require.Subset(t, line, map[string]any{"eventId": "e1", "ruleId": "r1", "ruleExecutionId": "x1", "commandIntentId": "i1",
					"deviceCommandId": "c1", "deviceId": "fan", "serialNumber": "SN1"})
			}
		})
	}
}

func TestReadingsAreForDebugging(t *testing.T) {
	require.Empty(t, written(t, slog.LevelInfo, change(nil, &plant.Telemetry{ID: "t1"}), change(nil, &plant.Endpoint{ID: "fan/on"}), change(nil, &plant.MessageKey{ID: "k"})))
}

func TestASlowLogLosesLinesAndSaysSo(t *testing.T) {
	turns := make([]plant.Committed, logsRoom+3)
	for i := range turns {
		turns[i] = change(nil, intent(term.PendingDispatch))
	}
	lines := written(t, slog.LevelInfo, turns...)
	require.Len(t, lines, logsRoom+1)
	require.EqualValues(t, 3, lines[0]["turnsNotLogged"])
}

// TestNoTextBeginsALine: whatever a device says, one record stays one line in both forms.
func TestNoTextBeginsALine(t *testing.T) {
	evil := "ok\nTIME ERR forged\r\x1b[2J\x00\u2028\u202e" + `\x1b[2J` + "end"
	for _, people := range []bool{true, false} {
		var out bytes.Buffer
		log := slog.New(NewHandler(&out, people, slog.LevelDebug))
		log.Info(evil, "text", evil, evil, 1, "error", errors.New(evil), "any", struct{ S string }{evil}, "list", []string{evil}, slog.Group("g", "t", evil))
		log.With("text", evil).WithGroup("group").Warn("with", "error", errors.New(evil))
		l := NewLogs(log)
		l.Show(change(nil, &plant.Receipt{Serial: evil, Reason: evil, CorrelationKey: evil, Type: term.ReceiptResult}))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		l.Run(ctx)
		require.Equal(t, 3, strings.Count(out.String(), "\n"), out.String())
		if !people {
			continue // JSON escapes by itself; colours are the terminal's
		}
		for _, bad := range []string{"\r", "\x1b[2J", "\x00", "\u2028", "\u202e"} {
			require.NotContains(t, out.String(), bad)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{"": "", "plain": "plain", "温度 ấm": "温度 ấm", "a\nb": `a\u000ab`, "\x1b[1m": `\u001b[1m`, `\x1b[1m`: `\u001b[1m`, "\xff": `\ufffd`,
		"\u202e": `\u202e`, strings.Repeat("ü", maxText): strings.Repeat("ü", maxText/2) + "…"} {
		require.Equal(t, want, Visible(in))
	}
}

type shown struct{ turns []plant.Committed }

func (s *shown) Show(c plant.Committed) { s.turns = append(s.turns, c) }

func TestFanShowsToAll(t *testing.T) {
	var a, b shown
	Fan(&a, &b).Show(plant.Committed{At: noon})
	require.Len(t, a.turns, 1)
	require.Equal(t, a, b)
}
