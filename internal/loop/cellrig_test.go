package loop_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/loop"
	"surehand/internal/loop/looptest"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// cellRig drives the production loop with the memory store and a line in memory, in virtual time.
type cellRig struct {
	t       *testing.T
	ctx     context.Context
	db      *looptest.Database
	clock   *looptest.Clock
	mint    *looptest.Mint
	line    *looptest.Line
	loop    *loop.Loop
	hands   *looptest.Hands
	started map[string]int // action keys handed out in this life
	// crashAt lets the process die before (even) or after (odd) the commit of the n-th step; -1: never.
	crashAt, steps int
	turns          int
	sparse         bool                  // hold the picture against a fresh load only now and then
	results        []message.ActionEnded // that came in, oldest first
	wrecked        bool                  // the database was wrecked by hand: its rows contradict each other
	published      []plant.Publish       // handed out for devices, and not taken yet
}

const cellStart = "2026-11-30T06:00:00Z"

// theCell has a dock of 12, a buffer of 8, a single, a two-slot and a batch machine, a scanner.
func theCell() message.ImportPlant {
	machine := func(id string, slots int, batch bool, first int) message.ImportEquipment {
		return message.ImportEquipment{ID: term.EquipmentID(id), Kind: term.KindMachine, Config: term.EquipmentConfig{Slots: slots, Batch: batch, First: first,
			ActionTime: term.Duration(30 * time.Second), Driver: term.DriverConfig{Type: "modbus-machine", Address: "127.0.0.1:1"}}}
	}
	step := func(kind term.StepKind, group string, program int) message.ImportStep {
		return message.ImportStep{Step: term.Step{Kind: kind, Group: group, Program: program, Timeout: term.Duration(5 * time.Minute)}}
	}
	return message.ImportPlant{
		Cell: message.ImportCell{Name: "cell-1", Config: term.CellConfig{Dock: term.PlaceRow{Count: 12, First: 1}, Buffer: term.PlaceRow{Count: 8, First: 21}, Exit: 99}},
		Equipment: []message.ImportEquipment{machine("lathe", 1, false, 41), machine("mill", 2, false, 51), machine("oven", 4, true, 61),
			{ID: "robot", Kind: term.KindRobot, Config: term.EquipmentConfig{ActionTime: term.Duration(30 * time.Second), Driver: term.DriverConfig{Type: "modbus-robot", Address: "127.0.0.1:2"}}},
			{ID: "scanner", Kind: term.KindScanner, Config: term.EquipmentConfig{First: 90, ActionTime: term.Duration(10 * time.Second), Driver: term.DriverConfig{Type: "tcp-scanner", Address: "127.0.0.1:3"}}}},
		Routes: []message.ImportRoute{{ID: "housing", Steps: []message.ImportStep{step(term.StepMachine, "lathe", 1), step(term.StepMachine, "mill", 2),
			step(term.StepMachine, "oven", 3), step(term.StepScan, "scanner", 0)}}},
	}
}

func newCellRig(t *testing.T, plantFile message.ImportPlant) *cellRig {
	at, err := time.Parse(time.RFC3339, cellStart)
	require.NoError(t, err)
	r := &cellRig{t: t, ctx: t.Context(), db: looptest.NewDatabase(), clock: looptest.NewClock(at), mint: looptest.NewMint(7), line: looptest.NewLine(at), crashAt: -1}
	r.line.Exit = plantFile.Cell.Config.Exit
	r.start()
	r.accept(plantFile)
	return r
}

// start is a new process life on the same database and in the same plant.
func (r *cellRig) start() {
	r.hands, r.started = &looptest.Hands{}, map[string]int{}
	r.loop = loop.New(loop.Options{Store: r.db.Store(), Hands: r.hands, Feed: &looptest.Feed{}, Clock: r.clock, Mint: r.mint, Check: r.check})
	require.NoError(r.t, r.loop.Begin(r.ctx))
	r.hand()
}

// crash ends the process life: what it was told and did not write is gone.
func (r *cellRig) crash() {
	r.line.Crash()
	r.hands.Take()
	r.start()
}

func (r *cellRig) check(_ context.Context, s *plant.State) {
	if r.turns++; r.sparse && r.turns%16 != 0 {
		return
	}
	fresh, err := r.db.Load()
	require.NoError(r.t, err)
	require.Empty(r.t, plant.Diff(s, fresh), "the picture differs from a fresh load (invariant 13)")
	if !r.wrecked {
		require.Empty(r.t, looptest.Invariants(r.db))
	}
}

// hand gives what was handed out to the line.
func (r *cellRig) hand() {
	actions := r.hands.Take()
	for _, a := range actions {
		r.started[a.ActionKey()]++
		require.Equal(r.t, 1, r.started[a.ActionKey()], "%s was handed out twice", a.ActionKey())
		if p, ok := a.(plant.Publish); ok {
			r.published = append(r.published, p)
		}
	}
	r.line.Take(actions)
}

// person posts a command and returns the outcome.
func (r *cellRig) person(p message.Payload) message.Outcome {
	r.t.Helper()
	return r.turn(message.Message{Source: message.FromPerson, Actor: "kim", Payload: p, BodyHash: fmt.Sprint(p)})[0]
}

func (r *cellRig) accept(p message.Payload) message.Outcome {
	r.t.Helper()
	o := r.person(p)
	require.Equal(r.t, message.Accepted, o.Code, "%s: %+v", p.Type(), o)
	return o
}

func (r *cellRig) refuse(reason string, p message.Payload) message.Outcome {
	r.t.Helper()
	o := r.person(p)
	require.Equal(r.t, message.Refused, o.Code, "%s: %+v", p.Type(), o)
	require.Equal(r.t, reason, o.Reason, "%+v", o)
	return o
}

// post posts something that is not a person's.
func (r *cellRig) post(p message.Payload) message.Outcome {
	r.t.Helper()
	source := message.FromDevice
	if _, result := p.(message.ActionEnded); result {
		source = message.FromWorker
	}
	return r.turn(message.Message{Source: source, Payload: p})[0]
}

func (r *cellRig) turn(batch ...message.Message) []message.Outcome {
	r.t.Helper()
	replies := make(chan message.Answer, len(batch))
	for i := range batch {
		if p, ok := batch[i].Payload.(message.ActionEnded); ok {
			r.results = append(r.results, p)
		}
		batch[i].ID, batch[i].CreatedAt, batch[i].Reply = term.MessageID(r.mint.ID(r.clock.Now())), r.clock.Now(), replies
	}
	require.NoError(r.t, r.loop.Turn(r.ctx, batch))
	outcomes := make([]message.Outcome, len(batch))
	for i := range batch {
		outcomes[i] = (<-replies).Outcome
	}
	r.hand()
	return outcomes
}

// step goes to the next moment at which something happens in the plant or in the loop, and decides it.
func (r *cellRig) step() {
	r.t.Helper()
	next := r.line.Next()
	if due, ok := r.loop.NextTurn(); ok && due.Before(next) {
		next = due
	}
	if next.After(r.clock.Now()) {
		r.clock.Advance(next.Sub(r.clock.Now()))
	}
	posts := r.line.Step(r.clock.Now())
	if r.steps++; r.steps-1 == r.crashAt/2 && r.crashAt >= 0 {
		if r.crashAt%2 == 1 { // decided and committed, and nothing of it was released
			r.turnUnreleased(posts)
		}
		r.crash()
		return
	}
	if len(posts) > 0 {
		r.turn(posts...)
	}
	for n := 0; ; n++ {
		due, ok := r.loop.NextTurn()
		if !ok || due.After(r.clock.Now()) {
			return
		}
		require.Less(r.t, n, 100, "the loop does not come to rest")
		require.NoError(r.t, r.loop.Turn(r.ctx, nil))
		r.hand()
	}
}

// turnUnreleased commits a turn whose actions never leave the process.
func (r *cellRig) turnUnreleased(posts []message.Message) {
	for i := range posts {
		posts[i].ID, posts[i].CreatedAt = term.MessageID(r.mint.ID(r.clock.Now())), r.clock.Now()
	}
	require.NoError(r.t, r.loop.Turn(r.ctx, posts))
}

// until steps until something is so; it must become so within a virtual time.
func (r *cellRig) until(what string, within time.Duration, so func() bool) {
	r.t.Helper()
	end := r.clock.Now().Add(within)
	for !so() {
		if r.clock.Now().After(end) {
			r.t.Fatalf("not within %s: %s\n%s", within, what, r.describe())
		}
		r.step()
	}
}

// wait lets time pass.
func (r *cellRig) wait(d time.Duration) {
	end := r.clock.Now().Add(d)
	for r.clock.Now().Before(end) {
		r.step()
	}
}

func (r *cellRig) describe() string {
	var b strings.Builder
	s := r.loop.State()
	for _, j := range s.Jobs() {
		fmt.Fprintf(&b, "%s %s %s home %d step %d %s\n", j.ID, j.State, j.Position, j.TempSlotNo, j.StepIndex, j.Disposition)
	}
	for _, e := range s.Equipment() {
		fmt.Fprintf(&b, "%s %s latch %s held %q", e.ID, e.Status, e.Latch, s.HeldFor(plant.EquipmentSubject(e.ID)))
		for _, l := range s.SlotsOf(e.ID) {
			fmt.Fprintf(&b, " [%d %s %s started %t]", l.Number, l.State, l.JobID, !l.StartedAt.IsZero())
		}
		b.WriteString("\n")
	}
	for _, t := range s.Tasks() {
		fmt.Fprintf(&b, "task %s %s %s %s -> %s no %d %s\n", t.Type, t.State, t.JobID, t.From, t.To, t.ActionNo, t.Error)
	}
	for _, q := range s.Questions() {
		fmt.Fprintf(&b, "question %s %s: %s; %s; %v\n", q.Finding, q.Subject, q.Record, q.Machine, words(q))
	}
	for _, h := range s.Holds() {
		fmt.Fprintf(&b, "hold %s %s: %s\n", h.Subject, h.Reason, h.Why)
	}
	if c, ok := s.Cell(); ok {
		fmt.Fprintf(&b, "waiting for: %s\n", c.WaitingFor)
		if c.Plan != nil {
			for _, p := range c.Plan.Candidates {
				fmt.Fprintf(&b, "  %s %s %s -> %s: %s\n", p.Generator, p.Job, p.From, p.To, p.Reason)
			}
		}
	}
	fmt.Fprintln(&b, r.line)
	return b.String()
}

func words(q *plant.Question) []string {
	var w []string
	for _, a := range q.Answers {
		w = append(w, a.Word)
	}
	return w
}

// confirm waits for the comparison and ends the recovery, in which nothing must have been found.
func (r *cellRig) confirm() {
	r.t.Helper()
	r.until("the comparison is over", 30*time.Second, func() bool { return r.person(message.ConfirmRecovery{}).Code == message.Accepted })
}

// order brings an order of n parts to the dock and starts it.
func (r *cellRig) order(id string, n int) {
	r.t.Helper()
	r.accept(message.CreateOrder{ID: term.OrderID(id), Route: "housing", Quantity: n})
	r.accept(message.PalletArrived{Pallet: term.PalletID("pallet-" + id), Order: term.OrderID(id), Quantity: n})
	r.line.Arrive(id, 1, n) // part n is called like job n
	r.accept(message.StartOrder{Order: term.OrderID(id)})
}

func (r *cellRig) ended(id string) bool {
	_, open := r.loop.State().Order(term.OrderID(id))
	return !open
}

func (r *cellRig) orderRow(id string) *plant.Order {
	row, ok := r.db.Row(plant.KindOrder, id)
	require.True(r.t, ok)
	return row.(*plant.Order)
}

func (r *cellRig) jobRow(id string) *plant.Job {
	row, ok := r.db.Row(plant.KindJob, id)
	require.True(r.t, ok)
	return row.(*plant.Job)
}

// truth holds what really happened against what must never happen.
func (r *cellRig) truth() {
	r.t.Helper()
	require.Empty(r.t, r.line.Violations, "%s", r.describe())
	for _, no := range keys(r.line.Executed) {
		require.Equal(r.t, 1, r.line.Executed[no], "action %d was executed %d times", no, r.line.Executed[no])
	}
	for _, no := range keys(r.line.Started) {
		require.Equal(r.t, 1, r.line.Started[no], "start %d was executed %d times", no, r.line.Started[no])
	}
}

func keys(m map[uint32]int) []uint32 {
	var k []uint32
	for n := range m {
		k = append(k, n)
	}
	slices.Sort(k)
	return k
}

// finished: an order ran to its end with every part completed, each having gone its whole route once.
func (r *cellRig) finished(id string, parts int) {
	r.t.Helper()
	o := r.orderRow(id)
	require.Equal(r.t, term.OrderCompleted, o.State, "%s", r.describe())
	require.Equal(r.t, []int{parts, 0, 0}, []int{o.Completed, o.Scrapped, o.Cancelled})
	for n := 1; n <= parts; n++ {
		part := fmt.Sprintf("%s.%d", id, n)
		visits := slices.Clone(r.line.Visits[part])
		for n := len(visits); n > 4 && visits[n-2] == "scanner"; n = len(visits) { // reading twice is harmless
			visits = visits[:n-1]
		}
		require.Equal(r.t, []string{"lathe", "mill", "oven", "scanner"}, visits, "%s", part)
		require.Equal(r.t, r.line.Exit, r.line.At[part], "%s", part)
		require.Equal(r.t, "code-"+part, r.jobRow(part).Context.Code, "%s was taken for another part", part)
	}
}
