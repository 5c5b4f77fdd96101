package robotrpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/mqttconn"
)

// Options of a driver. Equipment, URL, Prefix or Config.Topic, Installation and Clock are required.
type Options struct {
	Equipment term.EquipmentID
	Config    term.DriverConfig

	URL                string      // of the process's broker
	TLS                *tls.Config // for mqtts; nil: the system's roots
	Username, Password string
	Prefix             string // of all topics

	// InDoubt is the number of an action that an earlier process life handed out and that may still begin; 0: none.
	InDoubt uint32
	// Installation names this plant at the broker. It is asked after Confirm.
	Installation func() string
	Clock        workers.Clock
	// Confirm is asked before each connection, and before a publish when its last word is older than plant.SendBefore,
	// whether this process still owns the database. nil: always.
	Confirm func(context.Context) error
	// Count counts "robot_state_rejected" by reason: retained, malformed, old, old_boot.
	Count func(name, label string)
	Log   *slog.Logger
}

// Driver is a workers.Driver of a robot.
type Driver struct {
	o     Options
	topic string
	turn  chan struct{} // held by the one action, or the one acknowledgement

	mu        sync.Mutex
	changed   chan struct{} // closed and renewed when anything below has changed
	conn      *mqttconn.Connection
	down      string    // why there is no connection
	confirmed time.Time // when the database was last asked, with success

	seen    *state // the last state that counted, of any connection
	heard   bool   // it is of this connection
	heardAt time.Time
	retired []string // boot ids that were replaced: what still says them is late
	token   string   // asked and not answered; empty: answered
	owed    *owed    // the number that may still begin
	last    uint32   // number published last; 0: none
	void    uint32   // number that was surely not begun, by its void; 0: none
	lower   uint32   // number whose shown end is to be released; 0: none
	doing   *action  // under way
	told    []term.Reading
	wake    chan struct{} // has room for one
	prompt  chan struct{} // has room for one: something is to be asked at once
}

// owed is a number that was published and is neither begun nor void.
type owed struct {
	no    uint32
	boot  string // of the life of the robot that it was published to, or that was seen with an older echo; empty: none yet
	loose bool   // its void is to be asked for
}

var _ workers.Driver = (*Driver)(nil)

// New makes a driver. It connects when it runs.
func New(o Options) (*Driver, error) {
	o.Config = o.Config.WithDefaults()
	if o.Confirm == nil {
		o.Confirm = func(context.Context) error { return nil }
	}
	if o.Count == nil {
		o.Count = func(string, string) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	topic := o.Config.Topic
	if topic == "" {
		topic = o.Prefix + "/equipment/" + string(o.Equipment)
	}
	switch {
	case o.Clock == nil || o.Installation == nil || o.Equipment == "":
		return nil, errors.New("robotrpc: Equipment, Installation and Clock are required")
	case topic != strings.Trim(topic, "/") || strings.ContainsAny(topic, "+#\x00") || strings.HasPrefix(topic, "$") || len(topic) > 1024:
		return nil, fmt.Errorf("the topic %q must not begin or end with '/', begin with '$', or hold '+' or '#'", topic)
	case o.deviceTopic(topic):
		return nil, fmt.Errorf("the topic %q is that of a device with this serial number: its states would be taken for a device's; name another, %q for example",
			topic, o.Prefix+"/equipment/"+string(o.Equipment))
	}
	if _, _, err := mqttconn.Address(o.URL); err != nil {
		return nil, err
	}
	d := &Driver{o: o, topic: topic, turn: make(chan struct{}, 1), changed: make(chan struct{}), down: "there is no connection to the broker yet",
		wake: make(chan struct{}, 1), prompt: make(chan struct{}, 1)}
	if o.InDoubt != 0 {
		d.owed = &owed{no: o.InDoubt, loose: true}
	}
	return d, nil
}

// deviceTopic tells whether a device's topics would be those of the robot: the prefix and one level.
func (o Options) deviceTopic(topic string) bool {
	serial, below := strings.CutPrefix(topic, o.Prefix+"/")
	return o.Prefix != "" && below && !strings.Contains(serial, "/")
}

// releaseWithin is how long an acknowledgement may take.
const releaseWithin = 5 * time.Second

// Acknowledge releases the shown end of an action whose end the record knows: the result goes, echo and the place of
// the part stay. A robot that moves is left alone.
func (d *Driver) Acknowledge(ctx context.Context, _ workers.DoneCycle, acknowledged func()) error {
	until := d.now().Add(releaseWithin)
	if err := d.takeTurn(ctx, until); err != nil {
		return err
	}
	defer d.leaveTurn()
	busy := false
	err := d.await(ctx, until, func() bool {
		why := d.unreached()
		busy = why == "" && d.seen.busy
		if why == "" && !busy && d.seen.shown() {
			d.release(d.seen.echo)
		}
		return busy || why == "" && !d.seen.shown()
	})
	switch {
	case busy:
		return errors.New("the robot is moving")
	case err != nil:
		return fmt.Errorf("the end of an action is not released yet: %w", err)
	}
	acknowledged()
	return nil
}

func (d *Driver) takeTurn(ctx context.Context, until time.Time) error {
	late := time.NewTimer(until.Sub(d.now()))
	defer late.Stop()
	select {
	case d.turn <- struct{}{}:
		return nil
	case <-late.C:
		return errors.New("late: the driver had no time for it")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *Driver) leaveTurn() { <-d.turn }

func (d *Driver) now() time.Time { return d.o.Clock.Now() }

// errLate: what was waited for did not come in time.
var errLate = errors.New("not in time")

// await waits until holds, which is called with mu held.
func (d *Driver) await(ctx context.Context, until time.Time, holds func() bool) error {
	for {
		d.mu.Lock()
		ok, changed := holds(), d.changed
		d.mu.Unlock()
		left := until.Sub(d.now())
		switch {
		case ok:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case left <= 0:
			return errLate
		}
		look := time.NewTimer(min(left, time.Duration(d.o.Config.Poll))) // a state grows stale without a change
		select {
		case <-changed:
		case <-look.C:
		case <-ctx.Done():
		}
		look.Stop()
	}
}

// change wakes all who wait, and tells how things stand now; the caller holds mu.
func (d *Driver) change() {
	close(d.changed)
	d.changed = make(chan struct{})
	d.tell()
}
