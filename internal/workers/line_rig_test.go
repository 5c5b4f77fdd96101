package workers_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/workertest"
)

// loopStub is an inbox that answers, unless it is told not to.
type loopStub struct {
	mu     sync.Mutex
	full   bool
	silent bool
	all    []message.Message
}

func (l *loopStub) Post(m message.Message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full {
		return false
	}
	l.all = append(l.all, m)
	if m.Reply != nil && !l.silent {
		m.Reply <- message.Answer{MessageID: m.ID}
	}
	return true
}

func (l *loopStub) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// answerLast gives the answer that is missing.
func (l *loopStub) answerLast() {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.all[len(l.all)-1]
	last.Reply <- message.Answer{MessageID: last.ID}
}

// take gives the payloads of one type that have come, and forgets everything.
func take[T message.Payload](l *loopStub) (all []T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.all {
		if p, ok := m.Payload.(T); ok {
			all = append(all, p)
		}
	}
	l.all = nil
	return all
}

// lineRig is a line with mocks, in a bubble of its own time.
type lineRig struct {
	t     *testing.T
	loop  loopStub
	line  *workers.Line
	epoch int64
	turn  int64

	mu    sync.Mutex
	mocks map[term.EquipmentID]*workertest.Mock
	made  map[term.EquipmentID]int
	wrap  func(workers.Driver) workers.Driver
}

// onLine runs a test in a bubble, and ends the line after it.
func onLine(t *testing.T, test func(*lineRig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &lineRig{t: t, epoch: 7, mocks: map[term.EquipmentID]*workertest.Mock{}, made: map[term.EquipmentID]int{}}
		var ids atomic.Int64
		r.line = workers.NewLine(workers.LineOptions{
			Poster: &r.loop, Clock: wallClock{}, NewID: func(time.Time) string { return fmt.Sprint(ids.Add(1)) }, Drivers: r.drivers,
		})
		test(r)
		r.loop.set(func() { r.loop.full = false })
		if err := r.line.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func (r *lineRig) drivers(e plant.WatchedEquipment) (workers.Driver, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made[e.ID]++
	if e.ID == "undriven" {
		return nil, errors.New("no driver for it")
	}
	if r.mocks[e.ID] == nil {
		r.mocks[e.ID] = workertest.NewMock(e.Type, wallClock{})
	}
	if r.wrap != nil {
		return r.wrap(r.mocks[e.ID]), nil
	}
	return r.mocks[e.ID], nil
}

func equipment(id term.EquipmentID, kind term.EquipmentKind) plant.WatchedEquipment {
	return plant.WatchedEquipment{ID: id, Type: kind, Config: term.EquipmentConfig{Driver: term.DriverConfig{Address: string(id)}}}
}

func (r *lineRig) watch(all ...plant.WatchedEquipment) {
	r.turn++
	r.line.Start(plant.Watch{Epoch: r.epoch, Turn: r.turn, Equipment: all})
	synctest.Wait()
}

func task(id term.EquipmentID, no uint32, kind term.TaskKind) plant.Perform {
	return plant.Perform{TaskID: term.TaskID(fmt.Sprint("task-", no)), Type: kind, EquipmentID: id, Driver: term.DriverConfig{Address: string(id)},
		ActionNo: no, Attempt: 1, Epoch: 7, From: 1, To: 2, Slot: 1, FencedAt: time.Now().Round(0), Bound: 10 * time.Second}
}

// pass lets time go by, in the bubble.
func pass(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	<-ctx.Done()
	synctest.Wait()
}
