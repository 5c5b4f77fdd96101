package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"surehand/internal/config"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/message"
	"surehand/internal/service"
	"surehand/internal/simulator/line"
	"surehand/internal/term"
)

const (
	stallMove     = 30 * time.Second
	stallPeople   = 64 // at a time, each with a part of their own
	stallSettle   = 300 * time.Millisecond
	stallWarmUp   = 2 * time.Second // about what besetting takes, during which the people work too
	stallPatience = stallMove + patience
)

// stall: does the loop, or the stream, wait for what does not answer? The whole product (service, HTTP, broker, cell)
// decides commands of 64 people, each suspending and resuming a part of their own, one after the other; a healthy
// subscriber counts what the stream shows of it. The figure has, beside them, a subscriber that never reads, a
// machine that accepts connections and never answers, and a robot in the middle of a move of 30 s: without them one
// subscriber reads, the machine answers and the robot stands still. Both are on one service, one right after the other;
// between two rounds the move is let end, so a round takes half a minute and -seconds may be 20 at most.
//
// The rate of the loop is answers a second, that of the stream events a second; the pair that lost more counts. The
// second row is the longest time in which nobody got an answer: no turn can have taken longer than that.
func stall(ctx context.Context, s *site) (round, error) {
	p, err := openProduct(ctx, s)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (float64, float64, error) {
		if err := p.comeToRest(ctx); err != nil {
			return 0, 0, err
		}
		people := p.work(ctx)
		defer people.stop()
		without, err := p.watch(ctx, people, stallWarmUp, s.options.window())
		if err != nil {
			return 0, 0, fmt.Errorf("without: %w", err)
		}
		end, err := p.beset(ctx)
		if err != nil {
			return 0, 0, err
		}
		with, err := p.watch(ctx, people, stallSettle, s.options.window())
		if err == nil {
			err = p.stillBeset()
		}
		end()
		if err != nil {
			return 0, 0, fmt.Errorf("with: %w", err)
		}
		s.note("with: %s; without: %s; %d streams were opened that nobody read", with, without, p.stalled.Load())
		s.aside(with.gap.Seconds()*1000, without.gap.Seconds()*1000)
		if with.shown/without.shown < with.decided/without.decided {
			return with.shown, without.shown, nil
		}
		return with.decided, without.decided, nil
	}, nil
}

// pace is what one window showed.
type pace struct {
	decided, shown float64       // a second
	gap            time.Duration // longest time without an answer
}

func (p pace) String() string {
	return fmt.Sprintf("%.0f messages/s, %.0f events/s, at most %s without an answer", p.decided, p.shown, p.gap.Round(10*time.Microsecond))
}

// product is one running service with a simulated cell, one of whose machines stands behind a mute link.
type product struct {
	service *service.Service
	world   *line.World
	link    *muteLink
	stalled atomic.Int64 // streams that were opened in this round and never read
}

func openProduct(ctx context.Context, s *site) (*product, error) {
	broker, err := startBroker(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := s.createDatabase(ctx, "stall"); err != nil {
		return nil, err
	}
	if err := migrate.Up(ctx, s.cluster.url("stall"), slog.New(slog.DiscardHandler)); err != nil {
		return nil, err
	}
	p := &product{}
	p.world, err = line.Start(line.Options{Dock: line.Row{First: 1, Count: 64}, Buffer: line.Row{First: 101, Count: 8}, Exit: 999, Robot: line.RobotOptions{MoveTime: stallMove},
		Machines: []line.MachineOptions{{Name: "lathe", First: 201}, {Name: "press", First: 211}}})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, p.world.Close)
	if p.link, err = newMuteLink(p.world.Machine("press").Address()); err != nil {
		return nil, err
	}
	s.closers = append(s.closers, p.link.close)
	p.service, err = service.Start(ctx, service.Options{Version: "bench", Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Config: config.Config{Database: config.Database{URL: config.NewSecret(s.cluster.url("stall"))}, HTTP: config.HTTP{Listen: "127.0.0.1:0"},
			MQTT: config.MQTT{URL: "mqtt://" + broker, Prefix: "surehand/stall"}, SessionExpiry: time.Hour}})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, func() {
		p.service.Stop(false)
		if err := p.service.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, "bench: stall:", err)
		}
	})
	return p, p.furnish(ctx)
}

// furnish imports the plant, lays a pallet down for the robot, and leaves the cell paused.
func (p *product) furnish(ctx context.Context) error {
	equipment := func(id term.EquipmentID, kind term.EquipmentKind, driver, address string, slots, first int) message.ImportEquipment {
		return message.ImportEquipment{ID: id, Kind: kind, Config: term.EquipmentConfig{Slots: slots, First: first, ActionTime: term.Duration(2 * stallMove),
			Driver: term.DriverConfig{Type: driver, Address: address, Unit: 1, Status: 100}}}
	}
	if _, err := p.world.Arrive(64); err != nil {
		return err
	}
	for _, m := range []message.Payload{
		message.ImportPlant{
			Cell: message.ImportCell{Name: "cell-1", Config: term.CellConfig{Dock: term.PlaceRow{Count: 64, First: 1}, Buffer: term.PlaceRow{Count: 8, First: 101},
				Exit: 999, Options: term.CellOptions{AutomaticRelease: true}}},
			Equipment: []message.ImportEquipment{equipment("robot", term.KindRobot, "modbus-robot", p.world.Robot().Address(), 0, 0),
				equipment("lathe", term.KindMachine, "modbus-machine", p.world.Machine("lathe").Address(), 1, 201),
				equipment("press", term.KindMachine, "modbus-machine", p.link.address(), 1, 211)},
			Routes: []message.ImportRoute{{ID: "housing", Steps: []message.ImportStep{{Step: term.Step{Kind: term.StepMachine, Group: "lathe", Program: 1}}}}},
		},
		message.PauseCell{Reason: "nothing moves yet"},
		message.CreateOrder{ID: "coming", Route: "housing", Quantity: stallPeople},
		message.CreateOrder{ID: "moving", Route: "housing", Quantity: 64},
		message.PalletArrived{Pallet: "pallet-1", Order: "moving", Quantity: 64},
		message.StartOrder{Order: "moving"},
	} {
		if err := p.decide(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (p *product) decide(ctx context.Context, m message.Payload) error {
	o, err := p.service.Decide(ctx, "kim", m)
	if err == nil && o.Code != message.Accepted {
		err = fmt.Errorf("%s was not accepted: %+v", m.Type(), o)
	}
	return err
}

// beset brings on everything that stalls, and waits until it does: the machine is mute, the stream of the one who
// never reads was full once and has come anew, and the robot has begun its move.
func (p *product) beset(ctx context.Context) (end func(), err error) {
	p.link.mute(true)
	p.stalled.Store(0)
	watching, stop := context.WithCancel(ctx)
	var open sync.WaitGroup
	open.Go(func() { p.neverRead(watching) })
	end = func() {
		stop()
		open.Wait()
		p.link.mute(false)
		_ = p.decide(ctx, message.PauseCell{Reason: "the round is over"}) // comeToRest tells
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	for began := time.Now(); p.stalled.Load() < 2; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience || ctx.Err() != nil {
			return nil, errors.New("the stream that nobody reads was never full")
		}
	}
	if err := p.decide(ctx, message.ReleaseCell{}); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := p.world.Wait(within, robotMoves); err != nil {
		return nil, fmt.Errorf("the robot does not move: %w; %s", err, p.world)
	}
	return end, nil
}

func robotMoves(t line.Truth) bool {
	return len(t.Actions) > 0 && t.Actions[len(t.Actions)-1].Outcome == line.Running
}

// stillBeset: what was measured was measured under one move and with a mute machine.
func (p *product) stillBeset() error {
	t := p.world.Truth()
	if !robotMoves(t) {
		return errors.New("the move was over before the window")
	}
	if p.link.swallowed.Load() == 0 {
		return errors.New("the mute machine was never asked")
	}
	return nil
}

// comeToRest waits for the end of a move under way. The cell is paused, so that no other begins.
func (p *product) comeToRest(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, stallPatience)
	defer cancel()
	if err := p.world.Wait(within, func(t line.Truth) bool { return !robotMoves(t) }); err != nil {
		return fmt.Errorf("the robot does not come to rest: %w; %s", err, p.world)
	}
	if t := p.world.Truth(); len(t.Violations) > 0 {
		return fmt.Errorf("the cell: %v", t.Violations)
	}
	return nil
}

// crowd is people who work without a break.
type crowd struct {
	stop    func()
	decided atomic.Int64
	last    atomic.Int64 // time of the last answer
	gap     atomic.Int64 // longest time between two
	failed  chan error   // the first fault
}

func (p *product) work(ctx context.Context) *crowd {
	working, cancel := context.WithCancel(ctx)
	c := &crowd{failed: make(chan error, 1)}
	var all sync.WaitGroup
	c.stop = func() { cancel(); all.Wait() }
	for n := range stallPeople {
		job := term.NewJobID("coming", n+1)
		all.Go(func() {
			for working.Err() == nil {
				for _, m := range []message.Payload{message.SuspendJob{Job: job, Reason: "material"}, message.ResumeJob{Job: job}} {
					if err := p.decide(ctx, m); err != nil { // not working: the part is left as it was found
						c.fail(err)
						return
					}
					c.answered()
				}
			}
		})
	}
	return c
}

func (c *crowd) fail(err error) {
	select {
	case c.failed <- err:
	default:
	}
}

func (c *crowd) answered() {
	c.decided.Add(1)
	now := time.Now().UnixNano()
	gap := now - c.last.Swap(now)
	for longest := c.gap.Load(); gap > longest && !c.gap.CompareAndSwap(longest, gap); longest = c.gap.Load() {
	}
}

// watch measures one window, with a subscriber that reads everything.
func (p *product) watch(ctx context.Context, c *crowd, settle, window time.Duration) (pace, error) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var shown atomic.Int64
	left := make(chan error, 1)
	go func() { left <- p.readAll(reading, &shown) }()
	wait := func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case err := <-left:
			return fmt.Errorf("the reading subscriber was cut: %w", err)
		case err := <-c.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := wait(settle); err != nil {
		return pace{}, err
	}
	began, decidedBefore, shownBefore := time.Now(), c.decided.Load(), shown.Load()
	c.gap.Store(0)
	if err := wait(window); err != nil {
		return pace{}, err
	}
	wall := time.Since(began).Seconds()
	return pace{float64(c.decided.Load()-decidedBefore) / wall, float64(shown.Load()-shownBefore) / wall, time.Duration(c.gap.Load())}, nil
}

func (p *product) url(path string) string { return "http://" + p.service.Address() + path }

// readAll counts the events of the stream that have a row in the log.
func (p *product) readAll(ctx context.Context, shown *atomic.Int64) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url("/api/v1/stream"), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok && name != "heartbeat" && name != "values" {
			shown.Add(1)
		}
	}
	return errors.Join(lines.Err(), io.ErrUnexpectedEOF)
}

// neverRead keeps one subscriber that never reads: the hub cuts it when its room is full, and it comes again.
func (p *product) neverRead(ctx context.Context) {
	var conn net.Conn
	look := time.NewTicker(500 * time.Millisecond) // what it costs is in the figure and not in the yardstick
	defer look.Stop()
	for {
		if conn == nil || p.streams(ctx) < 2 {
			if conn != nil {
				_ = conn.Close()
			}
			var err error
			if conn, err = smallWindow.DialContext(ctx, "tcp", p.service.Address()); err != nil {
				return
			}
			p.stalled.Add(1)
			_, _ = fmt.Fprintf(conn, "GET /api/v1/stream HTTP/1.1\r\nHost: %s\r\n\r\n", p.service.Address())
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			_ = conn.Close()
			return
		}
	}
}

// smallWindow dials with so little room to receive that a connection that is not read stalls within moments.
var smallWindow = net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
	failed := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	return errors.Join(failed, err)
}}

// streams counts the subscribers that the product has, as it tells itself.
func (p *product) streams(ctx context.Context) (n int) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url("/metrics"), nil)
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && strings.HasSuffix(name, "stream_clients") {
			_, _ = fmt.Sscan(value, &n)
		}
	}
	return n
}
