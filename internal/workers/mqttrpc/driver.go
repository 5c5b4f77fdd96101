package mqttrpc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"surehand/internal/plant"
)

// Driver is the three connections. It is a workers.Publisher at any time; without a connection the answer is
// not_sent.
type Driver struct {
	options Options

	mu   sync.Mutex
	life *life
	live map[plant.Link]*connection
}

// life is what runs between Start and Stop.
type life struct {
	end     context.CancelFunc // of the connections
	silence context.CancelFunc // of the posting
	done    chan struct{}
}

// New checks the options; it connects to nothing.
func New(o Options) (*Driver, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	return &Driver{options: o, live: map[plant.Link]*connection{}}, nil
}

// Start begins to connect, and returns at once. The database must have confirmed this process's epoch
// before. The connections end with the context or at Stop, whichever is first; Stop is needed in any case.
func (d *Driver) Start(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life != nil {
		return errors.New("mqttrpc: started already")
	}
	connected, end := context.WithCancel(ctx)
	posting, silence := context.WithCancel(context.WithoutCancel(ctx))
	d.life = &life{end: end, silence: silence, done: make(chan struct{})}
	var running sync.WaitGroup
	for _, l := range d.links() {
		running.Go(func() { l.run(connected) })
		running.Go(func() { l.intake.run(posting) })
	}
	go func(done chan<- struct{}) {
		running.Wait()
		close(done)
	}(d.life.done)
	return nil
}

func (d *Driver) links() []*link {
	o := d.options
	level := func(c channel) string { return o.Prefix + "/+/" + string(c) }
	own := func(l plant.Link) string { return markerTopic(o.Prefix, o.Installation, string(l)) }
	return []*link{
		{driver: d, name: plant.LinkCommands, maximum: 8, intake: newIntake(d, plant.LinkCommands, 8, 0)},
		{driver: d, name: plant.LinkAnswers, maximum: o.AnswersMaximum, marker: own(plant.LinkAnswers),
			topics: []string{own(plant.LinkAnswers), level(channelResponse), level(channelState), level(channelStatus)},
			intake: newIntake(d, plant.LinkAnswers, o.AnswersMaximum, o.QoS0Room)},
		{driver: d, name: plant.LinkTelemetry, maximum: o.TelemetryMaximum, marker: own(plant.LinkTelemetry),
			topics: []string{own(plant.LinkTelemetry), level(channelTelemetry)},
			intake: newIntake(d, plant.LinkTelemetry, o.TelemetryMaximum, o.QoS0Room)},
	}
}

// Stop disconnects and posts what the connections had brought and that they are down. When its context ends
// first, the rest of that is dropped (the broker has it still) and an error is returned. Afterwards Start may
// be called again.
func (d *Driver) Stop(ctx context.Context) error {
	d.mu.Lock()
	l := d.life
	d.mu.Unlock()
	if l == nil {
		return nil
	}
	l.end()
	var err error
	select {
	case <-l.done:
	case <-ctx.Done():
		err = fmt.Errorf("mqttrpc: the inbox did not take everything: %w", context.Cause(ctx))
		l.silence()
		<-l.done
	}
	l.silence()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life == l {
		d.life = nil
	}
	return err
}

func (d *Driver) setLive(l plant.Link, c *connection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.live[l] = c
}

func (d *Driver) liveCommands() *connection {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live[plant.LinkCommands]
}

// Live tells whether a link is up and can be used.
func (d *Driver) Live(l plant.Link) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live[l] != nil
}

// Unanswered is how many messages of a link wait for the loop's answer; 0 when it is down.
func (d *Driver) Unanswered(l plant.Link) int {
	d.mu.Lock()
	c := d.live[l]
	d.mu.Unlock()
	if c == nil {
		return 0
	}
	return c.ledger.open()
}
