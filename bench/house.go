package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"surehand/internal/dbstate"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/loop"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/system"
	"surehand/internal/term"
)

// house is a database of its own with the real store and the real loop on it.
type house struct {
	store   *dbstate.Store
	loop    *loop.Loop
	feed    *tally
	publish chan plant.Publish // what the loop handed out, in order
	mint    system.Mint
	backend int // pid of the loop's PostgreSQL backend
	people  int // messages of people so far
	ended   chan error
	running bool
}

// houseSpec says what stands in the house.
type houseSpec struct {
	valves  int // devices with one writable endpoint
	sensors int // devices with one sensor, each with a rule that it triggers and whose condition stays false
	// direct: nobody runs the loop, the benchmark calls Turn.
	direct   bool
	settings []string // of the loop's database session
	// windows of the profiles, within which a command has to come to something; 0: the defaults.
	windows time.Duration
}

// tally is a loop.Feed that counts the rows which were committed: folded changes and log entries. The fence
// row, which every commit writes too, is left out.
type tally struct {
	commits, rows, readings, events atomic.Int64
	// watch looks at each commit too, in the loop's goroutine; nil: nobody does.
	watch func(plant.Committed)
}

func (t *tally) Show(c plant.Committed) {
	if len(c.Changes)+len(c.Entries) == 0 {
		return
	}
	t.commits.Add(1)
	t.rows.Add(int64(len(c.Changes) + len(c.Entries)))
	var readings, events int64
	for _, change := range c.Changes {
		switch change.After.(type) {
		case *plant.Telemetry:
			readings++
		case *plant.Event:
			events++
		}
	}
	t.readings.Add(readings)
	t.events.Add(events)
	if t.watch != nil {
		t.watch(c)
	}
}

// Start is loop.Hands. The channel has room for more than the loop may hand out. Nobody works in the cell of a
// house: its benchmark says itself what its machines say.
func (h *house) Start(a plant.Action) {
	if p, ok := a.(plant.Publish); ok {
		h.publish <- p
	}
}

const bootID = "boot-1"

func openHouse(ctx context.Context, address string, spec houseSpec) (*house, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if err := migrate.Up(ctx, address, slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	application := fmt.Sprintf("bench-%d-%d", os.Getpid(), time.Now().UnixNano())
	store, err := dbstate.Connect(ctx, dbstate.Options{URL: address, Application: application, Log: log})
	if err != nil {
		return nil, err
	}
	h := &house{store: store, feed: &tally{}, publish: make(chan plant.Publish, 4*plant.MaxPublishesOpen), ended: make(chan error, 1)}
	h.loop = loop.New(loop.Options{Store: store, Hands: h, Feed: h.feed, Clock: system.Clock{}, Mint: &h.mint, Log: log})
	if err := h.start(ctx, spec.direct); err != nil {
		return nil, err
	}
	if err := h.furnish(ctx, spec); err != nil {
		return nil, err
	}
	return h, h.analyse(ctx, address, application)
}

func (h *house) start(ctx context.Context, direct bool) error {
	if direct {
		return h.loop.Begin(ctx)
	}
	h.running = true
	go func() { h.ended <- h.loop.Run(ctx) }()
	select {
	case <-h.loop.Opened():
		return nil
	case err := <-h.ended:
		return fmt.Errorf("the loop ended: %w", err)
	}
}

// furnish imports the devices, brings the links up and lets every device be heard.
func (h *house) furnish(ctx context.Context, spec houseSpec) error {
	outcomes, err := h.decide(ctx, h.person(inventory(spec)))
	if err != nil {
		return err
	}
	if outcomes[0].Code != message.Accepted {
		return fmt.Errorf("import: %+v", outcomes[0])
	}
	var batch []message.Message
	for _, l := range []plant.Link{plant.LinkTelemetry, plant.LinkAnswers, plant.LinkCommands} {
		batch = append(batch, h.device(message.LinkChanged{Link: l, Up: true}))
	}
	for _, l := range []plant.Link{plant.LinkTelemetry, plant.LinkAnswers} {
		batch = append(batch, h.device(message.SessionDrained{Link: l}))
	}
	for n := range spec.valves {
		batch = append(batch, h.device(message.DeviceStatusReported{Serial: valveSerial(n), Online: true, BootID: bootID}))
	}
	for n := range spec.sensors {
		batch = append(batch, h.device(message.DeviceStatusReported{Serial: sensorSerial(n), Online: true, BootID: bootID}))
	}
	for len(batch) > 0 {
		n := min(len(batch), plant.MaxBatch)
		if _, err := h.decide(ctx, batch[:n]...); err != nil {
			return err
		}
		batch = batch[n:]
	}
	return nil
}

// analyse finds the loop's backend and gives the tables statistics, as a house that has run for a day has.
func (h *house) analyse(ctx context.Context, address, application string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, "SELECT pid FROM pg_stat_activity WHERE application_name = $1", application).Scan(&h.backend); err != nil {
		return fmt.Errorf("find the loop's backend: %w", err)
	}
	_, err = conn.Exec(ctx, "VACUUM ANALYZE")
	return err
}

func (h *house) close() error {
	defer h.store.Close()
	if !h.running {
		return nil
	}
	h.loop.Stop(false)
	select {
	case err := <-h.ended:
		return err
	case <-time.After(5 * time.Second):
		return errors.New("the loop did not stop")
	}
}

// decide has messages decided and waits for their outcomes.
func (h *house) decide(ctx context.Context, batch ...message.Message) ([]message.Outcome, error) {
	replies := make(chan message.Answer, len(batch))
	for i := range batch {
		batch[i].Reply = replies
	}
	if !h.running {
		if err := h.loop.Turn(ctx, batch); err != nil {
			return nil, err
		}
	} else {
		for _, m := range batch {
			if !h.loop.Post(m) {
				return nil, errors.New("the inbox is full")
			}
		}
	}
	outcomes := make([]message.Outcome, 0, len(batch))
	for range batch {
		select {
		case a := <-replies:
			outcomes = append(outcomes, a.Outcome)
		case err := <-h.ended:
			return nil, fmt.Errorf("the loop ended: %w", err)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return outcomes, nil
}

func (h *house) stamp(source message.Source, p message.Payload) message.Message {
	now := time.Now()
	return message.Message{ID: term.MessageID(h.mint.ID(now)), Source: source, Payload: p, CreatedAt: now}
}

func (h *house) device(p message.Payload) message.Message { return h.stamp(message.FromDevice, p) }

// person is a message as the API makes it: its id is a hash of the idempotency key, so that its key has a
// random place in the index.
func (h *house) person(p message.Payload) message.Message {
	m := h.stamp(message.FromPerson, p)
	h.people++
	m.ID = term.MessageID(plant.DerivedID(time.Time{}, "http", "kim", "POST", "/commands", strconv.Itoa(h.people)))
	m.Actor, m.BodyHash = "kim", "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"
	return m
}

func valveSerial(n int) string  { return fmt.Sprintf("VALVE-%05d", n) }
func sensorSerial(n int) string { return fmt.Sprintf("SENSOR-%05d", n) }
func valveEndpoint(n int) term.EndpointID {
	return term.EndpointID(fmt.Sprintf("valve-%05d/position", n))
}
func sensorEndpoint(n int) term.EndpointID {
	return term.EndpointID(fmt.Sprintf("sensor-%05d/temperature", n))
}
func named[T ~string](kind string, n int) T { return T(fmt.Sprintf("%s-%05d", kind, n)) }

// inventory of a house. Freshness is long, since the devices are silent while other benchmarks run.
func inventory(spec houseSpec) message.ImportDevices {
	low, high := 0.0, 100.0
	windows := term.Duration(spec.windows)
	timing := term.Timing{Freshness: term.Duration(24 * time.Hour), AckTimeout: windows, ReconciliationWindow: windows, CommandDeadline: windows}
	in := message.ImportDevices{
		Organisations: []message.ImportOrganisation{{ID: "acme"}},
		Farms:         []message.ImportFarm{{ID: "house", Organisation: "acme"}},
		Profiles: []message.ImportProfile{
			{ID: "valve", Class: "A", Timing: timing, Endpoints: []term.EndpointSpec{{Key: "position", Kind: term.Actuator, Type: term.TypeInt, Writable: true,
				Action: term.ActionAbsolute, Binding: term.Binding{Method: "set", Param: "position"}, Constraints: term.Constraints{Min: &low, Max: &high}}}},
			{ID: "sensor", Class: "B", Timing: timing, Endpoints: []term.EndpointSpec{{Key: "temperature", Kind: term.Sensor, Type: term.TypeFloat}}},
		},
	}
	for n := range spec.valves {
		in.Devices = append(in.Devices, message.ImportDevice{ID: named[term.DeviceID]("valve", n), Farm: "house", Profile: "valve", Serial: valveSerial(n)})
	}
	for n := range spec.sensors {
		in.Devices = append(in.Devices, message.ImportDevice{ID: named[term.DeviceID]("sensor", n), Farm: "house", Profile: "sensor", Serial: sensorSerial(n)})
		in.Rules = append(in.Rules, message.ImportRule{ID: named[term.RuleID]("cool", n), Farm: "house", Trigger: sensorEndpoint(n),
			Condition: term.Condition{Endpoint: sensorEndpoint(n), Op: term.OpGt, Value: term.Int(1000)},
			Target:    valveEndpoint(n % spec.valves), TargetValue: term.Int(100)})
	}
	return in
}
