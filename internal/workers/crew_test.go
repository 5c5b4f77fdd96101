package workers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
)

type publisherFunc func(ctx context.Context, o workers.Order) workers.Result

func (f publisherFunc) Publish(ctx context.Context, o workers.Order) workers.Result { return f(ctx, o) }

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

// inbox takes messages while it is open.
type inbox struct {
	mu      sync.Mutex
	full    bool
	refused int
	all     []message.Message
}

func (b *inbox) Post(m message.Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full {
		b.refused++
		return false
	}
	b.all = append(b.all, m)
	return true
}

func (b *inbox) setFull(full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.full = full
}

func (b *inbox) results(t *testing.T) map[term.AttemptID][]message.AttemptEnded {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	ended := map[term.AttemptID][]message.AttemptEnded{}
	for _, m := range b.all {
		e := m.Payload.(message.AttemptEnded)
		if m.Source != message.FromWorker || m.CorrelationID != string(e.AttemptID) || m.ID == "" || m.CreatedAt.IsZero() {
			t.Errorf("result posted as %+v", m)
		}
		ended[e.AttemptID] = append(ended[e.AttemptID], e)
	}
	return ended
}

func action(n int) plant.Publish {
	id := fmt.Sprintf("attempt-%d", n)
	return plant.Publish{AttemptID: term.AttemptID(id), IntentID: "intent", Serial: "s", Topic: "t", QoS: 1}
}

func newCrew(p publisherFunc, b *inbox) *workers.Crew {
	var ids atomic.Int64
	return workers.NewCrew(workers.CrewOptions{
		Publisher: p, Poster: b, Clock: wallClock{}, Bound: 4 * time.Second,
		NewID: func(time.Time) string { return fmt.Sprint(ids.Add(1)) },
	})
}

func TestEachActionGetsExactlyOneResult(t *testing.T) {
	for _, c := range []struct {
		name   string
		driver publisherFunc
		want   term.AttemptOutcome
		why    string
	}{
		{"sent", func(context.Context, workers.Order) workers.Result { return workers.Sent() }, term.AttemptSent, ""},
		{"not sent", func(context.Context, workers.Order) workers.Result { return workers.NotSent("link_down") }, term.AttemptNotSent, "link_down"},
		{"unknown", func(context.Context, workers.Order) workers.Result { return workers.Unknown("lost") }, term.AttemptUnknown, "lost"},
		{"panics", func(context.Context, workers.Order) workers.Result { panic("boom") }, term.AttemptUnknown, "boom"},
		{"answers nonsense", func(context.Context, workers.Order) workers.Result { return workers.Result{} }, term.AttemptUnknown, "answered"},
		{"minds its context", func(ctx context.Context, _ workers.Order) workers.Result {
			<-ctx.Done()
			return workers.Unknown("given up")
		}, term.AttemptUnknown, "given up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b inbox
				crew := newCrew(c.driver, &b)
				for n := range 10 {
					crew.Start(action(n))
				}
				if err := crew.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				got := b.results(t)
				if len(got) != 10 {
					t.Fatalf("%d actions have a result, want 10", len(got))
				}
				for id, ended := range got {
					if len(ended) != 1 || ended[0].Outcome != c.want || !strings.Contains(ended[0].Error, c.why) {
						t.Errorf("%s ended as %+v, want one %s with %q", id, ended, c.want, c.why)
					}
				}
			})
		})
	}
}

// A driver that hangs is answered for; what it says later is dropped.
func TestHangingDriverIsUnknownAndItsLateAnswerIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b inbox
		release := make(chan struct{})
		crew := newCrew(func(context.Context, workers.Order) workers.Result { <-release; return workers.Sent() }, &b)
		began := time.Now()
		crew.Start(action(1))
		if err := crew.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("answered after %s", took)
		}
		close(release)
		synctest.Wait()
		got := b.results(t)["attempt-1"]
		if len(got) != 1 || got[0].Outcome != term.AttemptUnknown {
			t.Errorf("results %+v, want one unknown", got)
		}
	})
}

// Results outlive a full inbox, in order and each once.
func TestResultsAreKeptUntilTheInboxTakesThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inbox{full: true}
		crew := newCrew(func(context.Context, workers.Order) workers.Result { return workers.Sent() }, &b)
		for n := range plant.MaxPublishesOpen {
			crew.Start(action(n))
		}
		synctest.Wait()
		<-time.After(time.Hour) // of the bubble's clock
		if orders, results := crew.Open(); orders != 0 || results != plant.MaxPublishesOpen {
			t.Fatalf("%d orders open and %d results waiting, want 0 and %d", orders, results, plant.MaxPublishesOpen)
		}
		b.setFull(false)
		if err := crew.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := b.results(t)
		for id, ended := range got {
			if len(ended) != 1 {
				t.Errorf("%s has %d results", id, len(ended))
			}
		}
		if len(got) != plant.MaxPublishesOpen || b.refused == 0 {
			t.Errorf("%d results, %d refusals", len(got), b.refused)
		}
	})
}

func TestCloseGivesUpOnADeafInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := inbox{full: true}
		crew := newCrew(func(context.Context, workers.Order) workers.Result { return workers.Sent() }, &b)
		crew.Start(action(1))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := crew.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close says %v", err)
		}
	})
}

// proves invariant 10: an action key is handed out once in a process life.
func TestTheSameActionTwiceEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b inbox
		crew := newCrew(func(context.Context, workers.Order) workers.Result { return workers.Sent() }, &b)
		crew.Start(action(1))
		func() {
			defer func() {
				if fault := recover(); fault == nil || !strings.Contains(fmt.Sprint(fault), "invariant 10") {
					t.Errorf("the second Start gave %v", fault)
				}
			}()
			crew.Start(action(1))
		}()
		if err := crew.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(b.results(t)["attempt-1"]); n != 1 {
			t.Errorf("%d results", n)
		}
	})
}

// More orders than there is room for are surely not sent, and Start still does not wait.
func TestNoRoomIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b inbox
		release := make(chan struct{})
		crew := newCrew(func(context.Context, workers.Order) workers.Result { <-release; return workers.Sent() }, &b)
		for n := range 2*plant.MaxPublishesOpen + 3 {
			crew.Start(action(n))
		}
		synctest.Wait()
		close(release)
		if err := crew.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		count := map[term.AttemptOutcome]int{}
		for _, ended := range b.results(t) {
			count[ended[0].Outcome]++
		}
		if count[term.AttemptSent] != 2*plant.MaxPublishesOpen || count[term.AttemptNotSent] != 3 {
			t.Errorf("outcomes %v", count)
		}
	})
}

func TestOrderIsLateByEitherClock(t *testing.T) {
	start := time.Now()
	wall := start.Round(0)
	order := workers.Order{StartedAt: start}
	fenced := order
	fenced.FencedAt = wall.Add(-time.Second)
	short := order
	short.DeadlineAt = wall.Add(time.Second)
	for _, c := range []struct {
		name  string
		order workers.Order
		now   time.Time
		want  bool
	}{
		{"at once", order, start, false},
		{"just in time", order, start.Add(plant.SendBefore - 1), false},
		{"both clocks over", order, start.Add(plant.SendBefore), true},
		{"wall clock over, as after sleep", order, wall.Add(plant.SendBefore), true},
		{"wall clock was set back, monotonic over", workers.Order{StartedAt: start}, start.Add(plant.SendBefore + time.Hour), true},
		{"paused between commit and start: in time", fenced, start.Add(plant.SendBefore - time.Second - 1), false},
		{"paused between commit and start: over", fenced, start.Add(plant.SendBefore - time.Second), true},
		{"deadline of the attempt", short, start.Add(time.Second), true},
	} {
		if got := c.order.Late(c.now); got != c.want {
			t.Errorf("%s: late is %v", c.name, got)
		}
	}
}
