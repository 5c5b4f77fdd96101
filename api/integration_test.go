package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/api"
	"surehand/internal/config"
	"surehand/internal/dbstate"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/dbstate/read"
	"surehand/internal/embedded/embeddedtest"
	"surehand/internal/loop"
	"surehand/internal/message"
	"surehand/internal/observe"
	"surehand/internal/plant"
	"surehand/internal/system"
	"surehand/internal/term"
)

const greenhouse = `
organisations: [{id: acme, name: Acme}]
farms: [{id: house-1, organisation: acme, name: House 1}]
profiles:
  - id: fan
    class: A
    endpoints: [{key: "on", kind: actuator, type: bool, writable: true, action: absolute, binding: {method: set, param: "on"}}]
devices: [{id: fan-1, farm: house-1, profile: fan, serial: FAN1}]
`

// obedient stands for a broker with a device that does what it is told and reports it.
type obedient struct {
	post func(message.Message) bool
	mint *system.Mint
}

func (o *obedient) Start(a plant.Action) {
	p, ok := a.(plant.Publish)
	if !ok { // nobody is at the machines of the cell
		return
	}
	o.say(message.FromWorker, message.AttemptEnded{AttemptID: p.AttemptID, IntentID: p.IntentID, Outcome: term.AttemptSent})
	o.say(message.FromDevice, message.DeviceResponded{Serial: p.Serial, CommandID: p.CommandID, Status: term.RPCAccepted, ResultCode: term.ResultOK, Correlation: p.Correlation, Raw: []byte("{}")})
	o.say(message.FromDevice, message.StateReported{Serial: p.Serial, CommandID: p.CommandID, Fields: []message.Field{{Key: "on", Value: term.Bool(true)}}, Seq: -1, Raw: []byte("{}")})
}

func (o *obedient) say(source message.Source, p message.Payload) {
	if !o.post(message.Message{ID: term.MessageID(o.mint.ID(time.Now())), Source: source, Payload: p, CreatedAt: time.Now()}) {
		panic("the inbox is full")
	}
}

// whole is the API with the real loop and the real database.
type whole struct {
	t       *testing.T
	base    string
	hands   *obedient
	drained <-chan error // the loop's word
}

func running(t *testing.T) *whole {
	url := embeddedtest.DatabaseLike(t, "migrated", func(url string) error {
		return migrate.Up(context.Background(), url, slog.New(slog.DiscardHandler))
	})
	store, err := dbstate.Connect(t.Context(), dbstate.Options{URL: url, AllowUnsafe: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	reader, err := read.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(reader.Close)

	var metrics *observe.Metrics
	mint := &system.Mint{}
	hands := &obedient{mint: mint}
	hub := api.NewHub(reader, nil)
	var l *loop.Loop
	metrics = observe.NewMetrics("test", func() observe.Health {
		h := l.Health()
		return observe.Health{LastTurn: h.LastTurn, DatabaseAway: h.DatabaseAway, Person: h.Queued[0], Worker: h.Queued[1], Device: h.Queued[2], Telemetry: h.Queued[3]}
	})
	l = loop.New(loop.Options{Store: store, Hands: hands, Feed: observe.Fan(hub, metrics), Clock: system.Clock{}, Mint: mint})
	hands.post = l.Post

	ctx, cancel := context.WithCancel(context.Background())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	handler := api.Checked(t, api.New(api.Options{Reader: reader, Post: l.Post, Hub: hub, ParseDevices: config.Devices, ParsePlant: config.Plant, Metrics: metrics.Handler(), Version: "test",
		Health: func() api.Health {
			h := l.Health()
			opened := false
			select {
			case <-l.Opened():
				opened = true
			default:
			}
			return api.Health{Opened: opened, LastTurn: h.LastTurn, DatabaseAway: h.DatabaseAway, Epoch: h.Epoch}
		}}))
	ended, drained := make(chan error, 2), make(chan error, 1)
	go func() { drained <- l.Run(ctx) }()
	go func() { hub.Run(ctx); ended <- nil }()
	go func() { ended <- api.Serve(ctx, listener, handler, hub, nil) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			require.NoError(t, <-ended)
		}
	})
	<-l.Opened()
	return &whole{t: t, base: "http://" + listener.Addr().String(), hands: hands, drained: drained}
}

const jsonType = "application/json"

func (w *whole) ask(method, path, mediaType, body, key string) (int, map[string]any) {
	w.t.Helper()
	request, err := http.NewRequest(method, w.base+path, strings.NewReader(body))
	require.NoError(w.t, err)
	request.Header.Set("Content-Type", mediaType)
	request.Header.Set("Prefer", "wait=30")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(w.t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(w.t, err)
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil {
		answer = map[string]any{"text": string(data)}
	}
	return response.StatusCode, answer
}

// TestTheWholePath imports a plant, sends a hand command to its proof, and follows it on the stream, with the
// real loop and the real database. proves D-20, D-21, D-22, X-8
func TestTheWholePath(t *testing.T) {
	w := running(t)
	base, hands, ask := w.base, w.hands, w.ask
	hands.say(message.FromWorker, message.LinkChanged{Link: plant.LinkCommands, Up: true})
	hands.say(message.FromWorker, message.SessionDrained{Link: plant.LinkAnswers})

	status, answer := ask("POST", "/api/v1/configuration/import", "text/yaml", greenhouse, "")
	require.Equal(t, 200, status, answer)
	require.EqualValues(t, 5, answer["changed"], "organisation, farm, profile, device, endpoint")
	hands.say(message.FromDevice, message.DeviceStatusReported{Serial: "FAN1", Online: true, BootID: "b1"})

	streamed := follow(t, base)
	status, answer = ask("POST", "/api/v1/commands", jsonType, `{"endpoint":"fan-1/on","value":true,"reason":"hot"}`, "k1")
	require.Equal(t, 200, status, answer)
	require.Equal(t, "applied", answer["state"])
	id, _ := answer["id"].(string)
	_, again := ask("POST", "/api/v1/commands", jsonType, `{"endpoint":"fan-1/on","value":true,"reason":"hot"}`, "k1")
	require.Equal(t, id, again["id"], "the same request is the same command")
	status, answer = ask("POST", "/api/v1/commands", jsonType, `{"endpoint":"fan-1/on","value":false}`, "k1")
	require.Equal(t, 409, status)
	require.Equal(t, "idempotency_conflict", answer["code"])
	status, answer = ask("POST", "/api/v1/commands/"+id+"/cancel", jsonType, `{}`, "")
	require.Equal(t, 409, status)
	require.Equal(t, "left_already", answer["code"])
	status, answer = ask("POST", "/api/v1/commands", jsonType, `{"endpoint":"fan-1/on","value":"warm"}`, "")
	require.Equal(t, 422, status, answer)
	status, answer = ask("POST", "/api/v1/commands", jsonType, `{"endpoint":"fan-9/on","value":true}`, "")
	require.Equal(t, 404, status, answer)

	last := int64(0)
	for done := false; !done; { // every row once and in order, up to the refused cancel
		e := <-streamed
		if last > 0 {
			require.Equal(t, last+1, e.Seq)
		}
		last, done = e.Seq, e.Type == "CancelCommand"
	}
	for path, want := range map[string]string{
		"/api/v1/commands/" + id:                       `"state":"applied"`,
		"/api/v1/commands/" + id + "/timeline":         "MarkApplied",
		"/api/v1/commands?state=applied&device=fan-1":  id,
		"/api/v1/commands?state=retrying":              `"items":[]`,
		"/api/v1/commands?state=uncertain":             `"items":[]`,
		"/api/v1/devices/fan-1":                        `"value":true`,
		"/api/v1/devices/fan-1/events":                 `"items"`,
		"/api/v1/executions":                           `"outcome":"fired"`,
		"/api/v1/log?outcome=refused":                  "CancelCommand",
		"/api/v1/rules":                                `"items":[]`,
		"/api/v1/profiles":                             `"ackTimeout":"5s"`,
		"/api/v1/holds":                                `"items":[]`,
		"/api/v1/parked":                               `"items":[]`,
		"/api/v1/diagnostics/top-timeouts":             `"items":[]`,
		"/api/v1/system":                               `"database":"ok"`,
		"/readyz":                                      `"ready":true`,
		"/healthz":                                     `"ok":true`,
		"/metrics":                                     `surehand_commands_ended_total{state="applied"} 1`,
		"/api/v1/commands?cursor=bm90aGluZw":           "?cursor",
		"/api/v1/events?from=2026-01-01T00:00:00Z":     `"items"`,
		"/api/v1/commands/" + strings.ToUpper(id) + "": "not_found",
		"/api/v1/orders?state=running":                 `"items":[]`,
		"/api/v1/orders/WO-1":                          "not_found",
		"/api/v1/orders/WO-1/timeline":                 "not_found",
		"/api/v1/jobs?order=WO-1&state=WAITING":        `"items":[]`,
		"/api/v1/jobs/WO-1.1/timeline":                 "not_found",
		"/api/v1/tasks?equipment=mill":                 `"items":[]`,
		"/api/v1/cell":                                 "not_found",
		"/api/v1/plant":                                "not_found",
		"/api/v1/equipment":                            `"items":[]`,
		"/api/v1/routes":                               `"items":[]`,
		"/api/v1/manual-actions":                       `"items":[]`,
		"/api/v1/alarms?all=true":                      `"items":[]`,
		"/api/v1/recovery":                             `"held":false`,
	} {
		response, err := http.Get(base + path)
		require.NoError(t, err)
		data, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Contains(t, string(data), want, path)
	}
	status, answer = ask("POST", "/api/v1/system/stop", jsonType, `{"drain":true}`, "")
	require.Equal(t, 200, status, answer)
	require.Equal(t, "draining", answer["state"])
	require.NoError(t, <-w.drained, "the loop ends by itself")
}

// follow reads the log from the stream until the test ends.
func follow(t *testing.T, base string) <-chan api.LogEntry {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/v1/stream", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode)
	entries := make(chan api.LogEntry, 1000)
	lines := bufio.NewReader(response.Body)
	first, err := lines.ReadString('\n') // the snapshot has come: what follows is not missed
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(first, "id: "))
	go func() {
		defer response.Body.Close()
		isLog := false
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				close(entries)
				return
			}
			if name, ok := strings.CutPrefix(line, "event: "); ok {
				isLog = name == "log\n"
			}
			// The library writes the data before the name; our own frames the other way round.
			if data, ok := strings.CutPrefix(line, "data: "); ok && (isLog || strings.Contains(data, `"messageId"`)) {
				var e api.LogEntry
				if json.Unmarshal([]byte(data), &e) == nil && e.Seq > 0 && e.MessageID != "" {
					entries <- e
				}
			}
		}
	}()
	return entries
}
