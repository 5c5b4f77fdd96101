package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"surehand/api"
	"surehand/internal/config"
	"surehand/internal/dbstate"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/dbstate/read"
	"surehand/internal/loop"
	"surehand/internal/message"
	"surehand/internal/observe"
	"surehand/internal/plant"
	"surehand/internal/system"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/mqttrpc"
	"surehand/web"
)

// Options of a service.
type Options struct {
	Config config.Config
	Log    *slog.Logger
	// Version is shown by the API and the log.
	Version string
	// Takeover ends another process that holds the database's interlock.
	Takeover bool
	// AllowUnsafe accepts a database that does not sync its writes; for tests only.
	AllowUnsafe bool
	// Mount are further handlers of the HTTP interface, by the first part of their path: see api.Options.
	Mount map[string]http.Handler
}

// Service is one running Surehand.
type Service struct {
	options Options
	log     *slog.Logger
	store   *dbstate.Store
	reader  *read.Reader
	loop    *loop.Loop
	hands   workers.Hands
	life    atomic.Pointer[plant.Fence] // as the drivers of the cell first saw it
	driver  atomic.Pointer[mqttrpc.Driver]
	hub     *api.Hub
	metrics *observe.Metrics
	logs    *observe.Logs
	clock   system.Clock
	mint    *system.Mint

	listener net.Listener
	// fenceSaid is when the log last said that the fence cannot be read.
	fenceSaid atomic.Pointer[time.Time]

	hurry   chan struct{} // closed when an end without drain was asked for
	hurried sync.Once
	over    atomic.Bool   // the loop has ended: it takes nothing any more
	ending  chan struct{} // closed when the loop has ended
	ended   chan struct{}
	err     error
}

// stopBudget bounds each step of the end: a hung broker, client or database must not hold it up.
const stopBudget = 2 * time.Second

// Start opens the database and the listener and returns while the loop starts. The service ends when ctx
// does, when Stop was asked for and done, or when this process life was fenced off; Wait tells.
func Start(ctx context.Context, o Options) (*Service, error) {
	url := o.Config.Database.URL.Reveal()
	if err := migrate.Check(ctx, url); err != nil {
		return nil, err
	}
	s := &Service{options: o, log: o.Log, mint: &system.Mint{}, hurry: make(chan struct{}), ending: make(chan struct{}), ended: make(chan struct{})}
	var err error
	if s.reader, err = read.Open(ctx, url); err != nil {
		return nil, err
	}
	if s.store, err = dbstate.Connect(ctx, dbstate.Options{URL: url, Takeover: o.Takeover, AllowUnsafe: o.AllowUnsafe, Log: o.Log}); err != nil {
		s.reader.Close()
		return nil, err
	}
	if s.listener, err = net.Listen("tcp", o.Config.HTTP.Listen); err != nil {
		s.reader.Close()
		return nil, errors.Join(fmt.Errorf("listen on %s: %w; is another surehand running? SUREHAND_HTTP_LISTEN names another address", o.Config.HTTP.Listen, err), s.store.Close())
	}
	s.join()
	go s.run(ctx)
	return s, nil
}

// join makes the parts and hands them to each other.
func (s *Service) join() {
	s.metrics = observe.NewMetrics(s.options.Version, s.observed)
	s.logs = observe.NewLogs(s.log)
	s.hub = api.NewHub(s.reader, s.log)
	s.metrics.Watch("stream_clients", "Open event streams.", func() float64 { return float64(s.hub.Clients()) })
	s.hands.Crew = workers.NewCrew(workers.CrewOptions{
		Publisher: publisher{s}, Poster: poster{s}, Clock: s.clock, NewID: s.mint.ID, Count: s.metrics.Count,
	})
	s.hands.Line = workers.NewLine(workers.LineOptions{
		Poster: poster{s}, Clock: s.clock, NewID: s.mint.ID, Drivers: s.drivers, Count: s.metrics.Count, Log: s.log,
	})
	s.loop = loop.New(loop.Options{
		Store: s.store, Hands: s.hands, Feed: observe.Fan(s.logs, s.metrics, s.hub), Clock: s.clock, Mint: s.mint, Log: s.log,
	})
}

// poster and publisher break the circle between loop, crew and driver.
type poster struct{ s *Service }

// Post drops what comes after the loop has ended: its poster gets no answer, so the broker keeps it.
func (p poster) Post(m message.Message) bool { return p.s.loop.Post(m) || p.s.over.Load() }

type publisher struct{ s *Service }

func (p publisher) Publish(ctx context.Context, o workers.Order) workers.Result {
	driver := p.s.driver.Load()
	if driver == nil { // nothing is fenced before the driver has told that its link is up
		return workers.NotSent("the broker driver has not started")
	}
	return driver.Publish(ctx, o)
}

// Address is where the API listens.
func (s *Service) Address() string { return s.listener.Addr().String() }

// Stop asks for the end. With drain, what is under way is waited for, as long as it takes. Without, a loop that
// does not come to its end by itself, as when the database does not answer, is cut off after a while: what it
// was deciding was not committed, or is found committed by the next process.
func (s *Service) Stop(drain bool) {
	s.loop.Stop(drain)
	if !drain {
		s.hurried.Do(func() { close(s.hurry) })
	}
}

// cutOff ends the loop when it has not ended within the budget of a stop without drain.
func (s *Service) cutOff(ctx context.Context, cancel func()) {
	select {
	case <-s.hurry:
	case <-ctx.Done():
		return
	}
	late, stop := s.clock.After(stopBudget)
	defer stop()
	select {
	case <-late:
		s.log.Warn("did not end in time and is cut off", "part", "loop")
		cancel()
	case <-ctx.Done():
	}
}

// Wait returns when the service has ended: nil when it was asked to.
func (s *Service) Wait() error { <-s.ended; return s.err }

// Opened is closed when the database has confirmed this process life.
func (s *Service) Opened() <-chan struct{} { return s.loop.Opened() }

// Ending is closed when the loop has ended, as asked or by a fault: nothing is decided any more, and what is left
// is to let go of the outside.
func (s *Service) Ending() <-chan struct{} { return s.ending }

// Health is that of the loop.
func (s *Service) Health() loop.Health { return s.loop.Health() }

func (s *Service) run(ctx context.Context) {
	defer close(s.ended)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	apiDone, loopDone := make(chan error, 1), make(chan error, 1)
	var feeds sync.WaitGroup
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	feeds.Go(func() { s.hub.Run(serving) })
	feeds.Go(func() { s.logs.Run(serving) })
	go func() { apiDone <- api.Serve(serving, s.listener, s.handler(), s.hub, s.log) }()
	go func() {
		err := s.loop.Run(ctx)
		s.over.Store(true)
		close(s.ending)
		loopDone <- err
	}()
	go s.cutOff(ctx, cancel)
	s.log.Info("surehand listens", "address", "http://"+s.Address(), "version", s.options.Version)

	driverDone := make(chan error, 1)
	go func() { driverDone <- s.drive(ctx) }()

	var apiErr error
	apiEnded := false
	select {
	case s.err = <-loopDone:
	case err := <-driverDone:
		driverDone <- err
		if err == nil { // the context ended first
			s.err = <-loopDone
			break
		}
		cancel()
		<-loopDone
		s.err = err
	case apiErr = <-apiDone:
		apiEnded = true
		cancel()
		s.err = errors.Join(apiErr, <-loopDone)
	}
	// The loop has ended: nothing new can be handed out. A fenced life must not reach the broker any more.
	cancel()
	<-driverDone
	s.step("workers", s.hands.Close)
	stopServing()
	feeds.Wait()
	if !apiEnded {
		apiErr = <-apiDone
		s.err = errors.Join(s.err, apiErr)
	}
	s.err = errors.Join(s.err, s.store.Close())
	s.step("reading connections", s.closeReader)
}

// closeReader bounds the end of the reading connections, which wait for a server to say goodbye.
func (s *Service) closeReader(ctx context.Context) error {
	closed := make(chan struct{})
	go func() { s.reader.Close(); close(closed) }()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drive runs the broker driver from the moment the database has confirmed this life until ctx ends.
func (s *Service) drive(ctx context.Context) error {
	select {
	case <-s.loop.Opened():
	case <-ctx.Done():
		return nil
	}
	fence, err := s.fence(ctx)
	if err != nil {
		return nil // only ctx ends the wait
	}
	s.learn(ctx)
	c := s.options.Config
	driver, err := mqttrpc.New(mqttrpc.Options{
		URL: c.MQTT.URL, Username: c.MQTT.Username, Password: c.MQTT.Password.Reveal(), Prefix: c.MQTT.Prefix,
		Installation: fence.Installation, Poster: poster{s}, Clock: s.clock, NewID: s.mint.ID, SessionExpiry: c.SessionExpiry,
		Confirm: func(ctx context.Context) error { return s.confirm(ctx, fence) }, Count: s.metrics.Count, Log: s.log,
	})
	if err != nil {
		return err
	}
	s.driver.Store(driver)
	if err := driver.Start(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	<-ctx.Done()
	s.step("broker driver", driver.Stop)
	return nil
}

// learn tells the feeds what was there before this process began. They only show it, so a fault is no reason
// to stop: what is missing is learnt from the next turns.
func (s *Service) learn(ctx context.Context) {
	var device read.DeviceFilter
	for {
		page, err := s.reader.Devices(ctx, device)
		if err != nil {
			s.log.Warn("the devices' serial numbers are not known to the log yet", "error", err)
			break
		}
		s.logs.Learn(page.Items...)
		if device.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	defer s.metrics.Loaded()
	for _, open := range []read.CommandFilter{{States: []term.CommandState{term.PendingDispatch}}, {OnlyHolding: true}} {
		for {
			page, err := s.reader.Commands(ctx, open)
			if err != nil {
				s.log.Warn("the open commands are not counted yet", "error", err)
				break
			}
			s.metrics.LoadCommands(page.Items...)
			if open.Cursor = page.Next; page.Next == "" {
				break
			}
		}
	}
	asked := read.QuestionFilter{OnlyOpen: true}
	for {
		page, err := s.reader.Questions(ctx, asked)
		if err != nil {
			s.log.Warn("the open questions are not counted yet", "error", err)
			return
		}
		s.metrics.LoadQuestions(page.Items...)
		if asked.Cursor = page.Next; page.Next == "" {
			return
		}
	}
}

// handler is the HTTP interface of this service.
func (s *Service) handler() http.Handler {
	return api.New(api.Options{
		Reader: s.reader, Post: s.loop.Post, Hub: s.hub, ParseDevices: config.Devices, ParsePlant: config.Plant, Metrics: s.metrics.Handler(), Console: web.Handler(), Version: s.options.Version,
		Mount: s.options.Mount,
		Log:   s.log, Health: func() api.Health {
			h := s.loop.Health()
			return api.Health{Opened: h.Epoch != 0, LastTurn: h.LastTurn, DatabaseAway: h.DatabaseAway, Epoch: h.Epoch,
				Inbox: api.Inbox{Person: h.Queued[0], Worker: h.Queued[1], Device: h.Queued[2], Telemetry: h.Queued[3]}}
		},
	})
}

// observed is the loop's health as the metrics show it.
func (s *Service) observed() observe.Health {
	if s.loop == nil { // metrics are read before the parts are joined only by their registry
		return observe.Health{}
	}
	h := s.loop.Health()
	return observe.Health{LastTurn: h.LastTurn, DatabaseAway: h.DatabaseAway, Person: h.Queued[0], Worker: h.Queued[1], Device: h.Queued[2],
		Telemetry: h.Queued[3]}
}

// fence reads this life's fence, waiting for the database as long as it takes. Until then neither the broker nor any
// equipment of the cell is dialled, so the log has to say why; once a minute, however many drivers ask.
func (s *Service) fence(ctx context.Context) (plant.Fence, error) {
	for {
		f, err := s.reader.Fence(ctx)
		if err == nil {
			return f, nil
		}
		now, said := s.clock.Now(), s.fenceSaid.Load()
		if due := said == nil || now.Sub(*said) > time.Minute; due && ctx.Err() == nil && s.fenceSaid.CompareAndSwap(said, &now) {
			s.log.Error("nothing is dialled yet, neither the broker nor the cell's equipment: the reading connection to the database fails", "error", err)
		}
		again, stop := s.clock.After(200 * time.Millisecond)
		select {
		case <-again:
			stop()
		case <-ctx.Done():
			stop()
			return plant.Fence{}, ctx.Err()
		}
	}
}

// confirm asks the database whether this process life is still the current one: asked before every connection
// to the broker, so that a forgotten process does not come back.
func (s *Service) confirm(ctx context.Context, ours plant.Fence) error {
	now, err := s.reader.Fence(ctx)
	if err != nil {
		return err
	}
	if now.Epoch != ours.Epoch || now.Life != ours.Life {
		return fmt.Errorf("process life %d is over: the database belongs to life %d", ours.Epoch, now.Epoch)
	}
	return nil
}

// step ends one part within its budget.
func (s *Service) step(what string, end func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), stopBudget)
	defer cancel()
	if err := end(ctx); err != nil {
		s.log.Warn("did not end in time", "part", what, "error", err)
	}
}

// Decide posts a message of a person and waits for the loop's answer: what tests and benchmarks use where a
// person would use the HTTP interface.
func (s *Service) Decide(ctx context.Context, actor string, p message.Payload) (message.Outcome, error) {
	now := s.clock.Now()
	answers := make(chan message.Answer, 1)
	m := message.Message{ID: term.MessageID(s.mint.ID(now)), Source: message.FromPerson, Actor: actor, Payload: p, Reply: answers, CreatedAt: now}
	if err := workers.PostUntilTaken(ctx, s.loop, m); err != nil {
		return message.Outcome{}, err
	}
	select {
	case a := <-answers:
		return a.Outcome, nil
	case <-s.ended:
		return message.Outcome{}, errors.New("the service ended before it answered")
	case <-ctx.Done():
		return message.Outcome{}, ctx.Err()
	}
}
