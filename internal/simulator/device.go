package simulator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"
)

// inboxSize bounds what waits for the device's goroutine; a request that finds it full holds back the broker.
const inboxSize = 256

// ErrStopped says that the device is not running.
var ErrStopped = errors.New("device is not running")

// Device is one simulated device. One goroutine owns all of it but the physical values and the truth; everything else
// hands it functions to run.
type Device struct {
	options   Options
	endpoints map[string]*Endpoint
	methods   map[string]Method
	clock     Clock
	recorder  *recorder

	startOnce, stopOnce sync.Once
	started             chan struct{}
	quit, done          chan struct{}
	goodbye             bool // written before quit is closed
	inbox               chan func(now time.Time)
	wake                chan struct{}

	// Owned by the device's goroutine.
	agenda    agenda
	dice      *dice
	memory    *memory
	busyLeft  map[string]int
	seq       int64
	boots     int
	link      *link // nil without power
	online    bool
	batch     []reading
	held      *outgoing // telemetry waiting to be overtaken
	nextTimed time.Time

	mu          sync.Mutex
	values      map[string]any // the physical state; it outlives every reboot
	faults      Faults
	bootID      string
	lastCommand string
	connected   chan struct{} // closed while the broker knows the device as online
}

// NewDevice checks the options and returns a device without power.
func NewDevice(o Options) (*Device, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Device{
		options: o, endpoints: map[string]*Endpoint{}, methods: map[string]Method{}, clock: o.Clock,
		recorder: newRecorder(o.Serial, o.TruthSize, o.TruthLog),
		started:  make(chan struct{}), quit: make(chan struct{}), done: make(chan struct{}),
		inbox: make(chan func(time.Time), inboxSize), wake: make(chan struct{}, 1),
		dice: newDice(o.Seed, o.Serial), memory: newMemory(o.DedupeSize, o.Class == ClassA),
		busyLeft: map[string]int{}, online: true,
		values: map[string]any{}, faults: o.Faults.withDefaults(), connected: make(chan struct{}),
	}
	for i := range o.Endpoints {
		e := &o.Endpoints[i]
		d.endpoints[e.Key] = e
		d.values[e.Key] = e.Initial
	}
	for _, m := range o.Methods {
		d.methods[m.Name] = m
	}
	return d, nil
}

// Start switches the device on. It keeps dialling until the broker is there; Connected waits for that.
func (d *Device) Start() {
	d.startOnce.Do(func() {
		close(d.started)
		go d.live()
	})
}

// Stop says goodbye to the broker and ends the device for good.
func (d *Device) Stop() { d.end(true) }

// Kill ends the device for good as a power cut does; the broker publishes its will.
func (d *Device) Kill() { d.end(false) }

func (d *Device) end(goodbye bool) {
	d.startOnce.Do(func() { // never started: nothing lives, and a later Start does nothing
		close(d.started)
		close(d.done)
	})
	d.stopOnce.Do(func() {
		d.goodbye = goodbye
		close(d.quit)
	})
	<-d.done
}

// Serial returns the serial number.
func (d *Device) Serial() string { return d.options.Serial }

// Connected waits until the broker holds the device's subscription and its online status.
func (d *Device) Connected(ctx context.Context) error {
	for {
		d.mu.Lock()
		connected := d.connected
		d.mu.Unlock()
		select {
		case <-connected:
			return nil
		case <-d.done:
			return ErrStopped
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Reboot cuts the power for RebootTime. It returns once the power is off; memory is lost as the class says.
func (d *Device) Reboot() error { return d.do(func(now time.Time) { d.reboot(now, "") }) }

// GoOffline drops the connection and stays away until GoOnline; the device itself works on.
func (d *Device) GoOffline() error { return d.setOnline(false) }

// GoOnline lets the device connect again.
func (d *Device) GoOnline() error { return d.setOnline(true) }

func (d *Device) setOnline(online bool) error {
	return d.do(func(time.Time) {
		d.online = online
		if d.link != nil {
			d.link.setOnline(online)
		}
		if !online {
			d.setConnected(false)
		}
	})
}

// DropConnection cuts the connection once; the device dials again at once.
func (d *Device) DropConnection() error {
	return d.do(func(time.Time) {
		d.setConnected(false)
		if d.link != nil {
			d.link.closeConn()
		}
	})
}

// PublishTelemetry takes and sends one reading now.
func (d *Device) PublishTelemetry() error { return d.do(d.publishTelemetry) }

// SetValue changes the physical world: what a sensor sees, or an actuator moved by hand. The next reading shows it.
func (d *Device) SetValue(key string, value any) error {
	e := d.endpoints[key]
	if e == nil {
		return fmt.Errorf("device %s has no endpoint %q", d.options.Serial, key)
	}
	v, err := e.accept(value)
	if err != nil {
		return fmt.Errorf("device %s endpoint %s: %w", d.options.Serial, key, err)
	}
	d.move(d.clock.Now(), key, v, "")
	return nil
}

// Value returns the physical value of an endpoint, nil if there is none of that key.
func (d *Device) Value(key string) any {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.values[key]
}

// Faults returns the faults in force.
func (d *Device) Faults() Faults {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.faults
}

// SetFaults changes the faults from the next chance on; plans already thrown stay.
func (d *Device) SetFaults(f Faults) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = f.withDefaults()
}

// Truth returns what has really happened so far.
func (d *Device) Truth() Truth {
	truth, _ := d.recorder.snapshot()
	return truth
}

// WaitTruth waits until the truth satisfies until, which is asked at every change.
func (d *Device) WaitTruth(ctx context.Context, until func(Truth) bool) error {
	return d.recorder.wait(ctx, until)
}

// do runs f on the device's goroutine and waits for it.
func (d *Device) do(f func(now time.Time)) error {
	ran := make(chan struct{})
	select {
	case <-d.started:
	default:
		return ErrStopped
	}
	select {
	case d.inbox <- func(now time.Time) { f(now); close(ran) }:
	case <-d.done:
		return ErrStopped
	}
	select {
	case <-ran:
		return nil
	case <-d.done:
		return ErrStopped
	}
}

// live is the device's goroutine.
func (d *Device) live() {
	defer close(d.done)
	d.boot(d.clock.Now())
	for {
		for {
			now := d.clock.Now()
			do, due := d.agenda.takeDue(now)
			if !due {
				break
			}
			do(now)
		}
		stopWake := func() {}
		if at, waiting := d.agenda.next(); waiting {
			stopWake = d.clock.WakeAt(at, func() {
				select {
				case d.wake <- struct{}{}:
				default:
				}
			})
		}
		select {
		case do := <-d.inbox:
			do(d.clock.Now())
		case <-d.wake:
		case <-d.quit:
			stopWake()
			d.powerOff(d.goodbye)
			return
		}
		stopWake()
	}
}

// boot starts one life: a new bootId, seq from 1, a fresh connection.
func (d *Device) boot(now time.Time) {
	d.boots++
	bootID := d.options.BootID
	if d.boots > 1 {
		bootID = fmt.Sprintf("%s-%d", d.options.BootID, d.boots)
	}
	d.mu.Lock()
	d.bootID = bootID
	d.mu.Unlock()
	d.seq = 0
	d.recorder.record(Event{At: now, Kind: eventBoot, BootID: bootID, Class: d.options.Class})
	if d.boots > 1 && d.options.ResetOnBoot {
		for i := range d.options.Endpoints {
			if e := &d.options.Endpoints[i]; e.Actuator {
				d.move(now, e.Key, e.Initial, "")
			}
		}
	}
	d.openLink()
	if d.options.TelemetryPeriod > 0 {
		d.nextTimed = now.Add(d.options.TelemetryPeriod)
		d.agenda.add(d.nextTimed, d.timedTelemetry)
	}
}

// openLink gives the new life its network. Callbacks of an old life's link find another d.link and do nothing.
func (d *Device) openLink() {
	var l *link
	ready := make(chan struct{})
	post := func(f func(now time.Time)) {
		<-ready
		select {
		case d.inbox <- func(now time.Time) {
			if d.link == l {
				f(now)
			}
		}:
		case <-l.ctx.Done():
		}
	}
	l = openLink(d.options, d.online, linkEvents{
		connected:    func() { post(d.onConnected) },
		disconnected: func() { post(func(time.Time) { d.setConnected(false) }) },
		request: func(payload []byte, retained bool, answerTopic string, correlation []byte) {
			post(func(now time.Time) { d.onRequest(now, payload, retained, answerTopic, correlation) })
		},
		acked:  d.onAcked,
		lost:   d.onLost,
		status: d.status,
	})
	d.link = l
	close(ready)
}

// reboot loses what only memory held. fault names the fault that did it, if one did.
func (d *Device) reboot(now time.Time, fault string) {
	if d.link == nil {
		return // already without power
	}
	if fault != "" {
		d.strike(now, fault, "")
	}
	d.powerOff(false)
	d.agenda.forget()
	d.memory.reboot()
	d.busyLeft = map[string]int{}
	if !d.memory.durable {
		d.mu.Lock()
		d.lastCommand = ""
		d.mu.Unlock()
	}
	d.agenda.add(now.Add(d.options.RebootTime), d.boot)
}

func (d *Device) powerOff(goodbye bool) {
	d.setConnected(false)
	if d.link == nil {
		return
	}
	if goodbye {
		d.link.leave()
	} else {
		d.link.cut()
	}
	d.link = nil
	d.loseUnsent("power cut")
}

func (d *Device) onConnected(now time.Time) {
	if !d.link.isUp() {
		return // gone again before we came to it; the next connection tells us anew
	}
	d.setConnected(true)
	// A device tells its whole state when it comes back; without commandId, since no command asked for it.
	d.sendState(now, d.buildState(now, "", d.snapshot()))
	d.sendBatch(now)
	if d.options.TelemetryPeriod > 0 {
		d.publishTelemetry(now)
	}
}

func (d *Device) setConnected(connected bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	is := closed(d.connected)
	if connected && !is {
		close(d.connected)
	}
	if !connected && is {
		d.connected = make(chan struct{})
	}
}

func (d *Device) status(online bool) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return encode(statusBody{
		Online: online, BootID: d.bootID, Capabilities: d.options.Capabilities, LastCommandID: d.lastCommand,
	})
}

func (d *Device) snapshot() map[string]any {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.values)
}

// move is the one place where the physical world changes.
func (d *Device) move(now time.Time, key string, value any, commandID string) {
	d.mu.Lock()
	from := d.values[key]
	d.values[key] = value
	bootID := d.bootID
	if from != value && d.endpoints[key].Actuator {
		// Recorded under the lock, so that the sequence of changes is the real one.
		d.recorder.record(Event{
			At: now, Kind: eventChanged, Actuators: []string{key}, From: from, To: value, CommandID: commandID, BootID: bootID,
		})
	}
	d.mu.Unlock()
}

// ownTime is the time by the device's own clock, which may be wrong.
func (d *Device) ownTime(now time.Time) time.Time { return now.Add(d.options.ClockSkew) }

func (d *Device) strike(now time.Time, fault, commandID string) {
	d.recorder.record(Event{At: now, Kind: eventFault, Name: fault, CommandID: commandID})
}
