package simulator

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// GreenhouseOptions describe the demo. The zero value of each field has the default named at it.
type GreenhouseOptions struct {
	Name      string // what the serial numbers begin with: greenhouse
	BrokerURL string
	Prefix    string
	Username  string
	Password  string
	Seed      uint64
	Speed     float64          // model seconds in a second: 10
	Period    time.Duration    // of telemetry, and of the model's steps without Ticks: 1 s
	Ticks     <-chan time.Time // drives the model; nil: the greenhouse's own ticker
	TruthLog  *TruthLog
}

// Greenhouse is ten devices, with these serial numbers behind its name and these endpoint keys. Sensors are class C (they
// take no commands), actuators class A.
//
//	-climate   temperature (°C), humidity (%)
//	-light     illuminance (lx)
//	-soil-1/2  moisture (%)
//	-fan-1     running (bool), speed (0 to 100 %, 100 at first)
//	-valve-1/2 open (bool)
//	-heater-1  on (bool)
//	-lamp-1    level (0 to 100 %)
//	-pump-1    running (bool), tank (%, sensor)
//
// All are around one model of a small warm house. It never comes to rest: without the fan it
// settles above 30 °C by day and night and with it below 23 °C, and soil always dries, so that rules with a band
// (above 28 fan on, below 24 off; moisture below 30 valve open, above 60 closed) keep switching for ever.
type Greenhouse struct {
	*Fleet
	options GreenhouseOptions
	mu      sync.Mutex
	model   climate
	stop    context.CancelFunc
	stopped chan struct{}
}

// NewGreenhouse builds the devices and the model, at rest.
func NewGreenhouse(o GreenhouseOptions) (*Greenhouse, error) {
	setDefault(&o.Name, "greenhouse")
	setDefault(&o.Speed, 10)
	setDefault(&o.Period, time.Second)
	g := &Greenhouse{options: o, model: newClimate(o.Seed)}
	fleet, err := NewFleet(greenhouseDevices(o))
	if err != nil {
		return nil, err
	}
	g.Fleet = fleet
	g.show()
	return g, nil
}

func greenhouseDevices(o GreenhouseOptions) []Options {
	percent := func(key string, actuator bool, initial float64) Endpoint {
		low, high := 0.0, 100.0
		return Endpoint{Key: key, Actuator: actuator, Type: Float, Initial: initial, Min: &low, Max: &high}
	}
	sensor := func(key string) Endpoint { return Endpoint{Key: key, Type: Float} }
	switched := func(key string) Endpoint { return Endpoint{Key: key, Actuator: true, Type: Bool} }
	list := []struct {
		name      string
		class     Class
		endpoints []Endpoint
	}{
		{"climate", ClassC, []Endpoint{sensor("temperature"), sensor("humidity")}},
		{"light", ClassC, []Endpoint{sensor("illuminance")}},
		{"soil-1", ClassC, []Endpoint{sensor("moisture")}},
		{"soil-2", ClassC, []Endpoint{sensor("moisture")}},
		{"fan-1", ClassA, []Endpoint{switched("running"), percent("speed", true, 100)}},
		{"valve-1", ClassA, []Endpoint{switched("open")}},
		{"valve-2", ClassA, []Endpoint{switched("open")}},
		{"heater-1", ClassA, []Endpoint{switched("on")}},
		{"lamp-1", ClassA, []Endpoint{percent("level", true, 0)}},
		{"pump-1", ClassA, []Endpoint{switched("running"), percent("tank", false, 80)}},
	}
	var out []Options
	for _, l := range list {
		out = append(out, Options{
			Serial: o.Name + "-" + l.name, Prefix: o.Prefix, BrokerURL: o.BrokerURL, Username: o.Username,
			Password: o.Password, Class: l.class, Endpoints: l.endpoints, TelemetryPeriod: o.Period,
			ApplyDelay: 200 * time.Millisecond, Seed: o.Seed, TruthLog: o.TruthLog,
		})
	}
	return out
}

// Start switches the devices and the model on.
func (g *Greenhouse) Start() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	g.stop, g.stopped = cancel, make(chan struct{})
	g.Fleet.Start()
	go g.run(ctx)
}

// Stop ends the model and says goodbye for the devices.
func (g *Greenhouse) Stop() {
	g.stopModel()
	g.Fleet.Stop()
}

// Kill ends the model and cuts the devices' power.
func (g *Greenhouse) Kill() {
	g.stopModel()
	g.Fleet.Kill()
}

func (g *Greenhouse) stopModel() {
	g.mu.Lock()
	stop, stopped := g.stop, g.stopped
	g.mu.Unlock()
	if stop != nil {
		stop()
		<-stopped
	}
}

func (g *Greenhouse) run(ctx context.Context) {
	defer close(g.stopped)
	ticks := g.options.Ticks
	if ticks == nil {
		ticker := time.NewTicker(g.options.Period)
		defer ticker.Stop()
		ticks = ticker.C
	}
	var last time.Time
	for {
		select {
		case now, open := <-ticks:
			if !open {
				return
			}
			if !last.IsZero() {
				g.Step(now.Sub(last))
			}
			last = now
		case <-ctx.Done():
			return
		}
	}
}

// Step moves the model on by so much real time; the model sees it times Speed. The devices' sensors follow.
func (g *Greenhouse) Step(by time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	in := actuators{
		fan:    g.level("fan-1", "running") * g.level("fan-1", "speed") / 100,
		heater: g.level("heater-1", "on"),
		lamp:   g.level("lamp-1", "level") / 100,
		pump:   g.level("pump-1", "running"),
		valve:  [2]float64{g.level("valve-1", "open"), g.level("valve-2", "open")},
	}
	// A machine that slept must not take the model through one giant step: a minute of real time at most.
	seconds := min(max(by, 0), time.Minute).Seconds() * g.options.Speed
	for seconds > 0 {
		g.model.step(min(seconds, 10), in)
		seconds -= 10
	}
	g.show()
}

// level reads an actuator as a number: a bool is 0 or 1.
func (g *Greenhouse) level(name, key string) float64 {
	switch v := g.Device(g.options.Name + "-" + name).Value(key).(type) {
	case bool:
		if v {
			return 1
		}
	case float64:
		return v
	}
	return 0
}

// show lets the sensors see the model, with a little noise and a sensor's resolution.
func (g *Greenhouse) show() {
	m := &g.model
	noise := func(width float64) float64 { return (m.chance.Float64() - 0.5) * width }
	set := func(name, key string, value float64) {
		// The model keeps its quantities inside the endpoints' limits, and every key is one of its own.
		_ = g.Device(g.options.Name+"-"+name).SetValue(key, math.Round(value*100)/100)
	}
	set("climate", "temperature", m.temperature+noise(0.1))
	set("climate", "humidity", m.humidity+noise(0.4))
	set("light", "illuminance", max(0, m.illuminance+noise(20)))
	set("soil-1", "moisture", m.moisture[0]+noise(0.1))
	set("soil-2", "moisture", m.moisture[1]+noise(0.1))
	set("pump-1", "tank", m.tank)
}

// actuators are the positions the model works with, each 0 to 1.
type actuators struct {
	fan, heater, lamp, pump float64
	valve                   [2]float64
}

// climate is the model: first-order lags towards where sun, actuators and losses would settle.
type climate struct {
	seconds     float64 // of the model's day
	temperature float64 // °C
	humidity    float64 // %
	illuminance float64 // lx
	moisture    [2]float64
	tank        float64 // %
	cloud       float64 // 0 clear to 1 overcast
	chance      *rand.Rand
}

const (
	daySeconds     = 24 * 3600.0
	heatLagSeconds = 600.0
	airLagSeconds  = 400.0
	dryBySecond    = 1.0 / 40 // % moisture a model second in shade
	wetBySecond    = 1.0 / 8  // % moisture a model second with the valve open and water in the tank
	drainBySecond  = 1.0 / 60 // % tank a model second and open valve
	fillBySecond   = 1.0 / 10 // % tank a model second
	trickle        = 0.6      // what an empty tank still gives: more than the sun takes
)

func newClimate(seed uint64) climate {
	return climate{
		seconds: daySeconds / 3, temperature: 25, humidity: 60, moisture: [2]float64{45, 52}, tank: 80,
		chance: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)),
	}
}

// step moves the model on by at most some seconds; longer steps would leave the first-order lags.
func (c *climate) step(seconds float64, in actuators) {
	c.seconds = math.Mod(c.seconds+seconds, daySeconds)
	c.cloud = clamp(c.cloud+(c.chance.Float64()-0.5)*0.02*math.Sqrt(seconds), 0, 1)
	height := math.Sin((c.seconds/daySeconds - 0.25) * 2 * math.Pi) // sunrise at 6, noon at 12
	sun := max(0, height) * (1 - 0.5*c.cloud)

	settles := 32 + 5*sun + 8*in.heater + 1.5*in.lamp - 16*in.fan
	c.temperature = clamp(c.temperature+(settles-c.temperature)*lag(seconds, heatLagSeconds), 0, 50)

	moist := (c.moisture[0] + c.moisture[1]) / 2
	air := 50 + 0.4*moist - 20*in.fan - 8*in.heater - 0.5*(c.temperature-25)
	c.humidity = clamp(c.humidity+(air-c.humidity)*lag(seconds, airLagSeconds), 10, 98)
	c.illuminance = 60_000*sun + 8_000*in.lamp

	flow := 1.0
	if c.tank <= 0 {
		flow = trickle
	}
	for i := range c.moisture {
		dry := dryBySecond * (1 + 0.5*sun + 0.2*in.fan) * (1 + 0.1*float64(i))
		c.moisture[i] = clamp(c.moisture[i]+seconds*(wetBySecond*in.valve[i]*flow-dry), 5, 95)
	}
	c.tank = clamp(c.tank+seconds*(fillBySecond*in.pump-drainBySecond*(in.valve[0]+in.valve[1])), 0, 100)
}

func lag(seconds, constant float64) float64 { return 1 - math.Exp(-seconds/constant) }

func clamp(v, low, high float64) float64 { return min(max(v, low), high) }
