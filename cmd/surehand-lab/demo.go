package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"surehand/internal/config"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/dbstate/read"
	"surehand/internal/embedded"
	"surehand/internal/message"
	"surehand/internal/observe"
	"surehand/internal/service"
	"surehand/internal/simulator"
)

//go:embed greenhouse.yaml
var greenhouse []byte

type demoCommand struct {
	State   string  `help:"Folder of the demo's database." default:".state" type:"path"`
	Listen  string  `help:"Address of the HTTP interface, on loopback." default:"127.0.0.1:8750" env:"SUREHAND_HTTP_LISTEN"`
	Speed   float64 `help:"Model seconds in a second." default:"20"`
	Seed    uint64  `help:"Seed of the simulated devices." default:"1"`
	Verbose bool    `help:"Log every stage, not only warnings."`
}

// Run starts the parts in order and ends them in reverse.
func (d *demoCommand) Run() (err error) {
	level := slog.LevelWarn // the instructions stay in sight
	if d.Verbose {
		level = slog.LevelInfo
	}
	log := observe.NewLogger(os.Stderr, level)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	databaseURL, endDatabase, err := d.database(ctx, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endDatabase()) }()
	if os.Getenv("SUREHAND_DATABASE_URL") != "" {
		if err := onlyTheDemos(ctx, databaseURL); err != nil {
			return err
		}
	}
	if err := migrate.Up(ctx, databaseURL, log); err != nil {
		return err
	}
	brokerURL, endBroker, err := d.broker(log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endBroker()) }()

	conf, err := config.Load("", demoEnvironment(databaseURL, brokerURL, d.Listen))
	if err != nil {
		return err
	}
	running, err := service.Start(context.Background(), service.Options{Config: conf, Log: log, Version: "demo"})
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- running.Wait() }()
	if err := d.furnish(ctx, running); err != nil {
		running.Stop(false)
		return errors.Join(err, <-ended)
	}
	house, err := simulator.NewGreenhouse(simulator.GreenhouseOptions{BrokerURL: brokerURL, Seed: d.Seed, Speed: d.Speed})
	if err != nil {
		running.Stop(false)
		return errors.Join(err, <-ended)
	}
	house.Start()
	d.explain(running.Address(), databaseURL, brokerURL)

	select {
	case <-ctx.Done():
		fmt.Fprintln(os.Stderr, "\nStopping. The database keeps what happened; start again to go on.")
		running.Stop(false)
		err = <-ended
	case err = <-ended:
	}
	house.Stop()
	return err
}

// database is the outside server when one is named, else a private cluster in the state folder.
func (d *demoCommand) database(ctx context.Context, log *slog.Logger) (url string, end func() error, err error) {
	if url := os.Getenv("SUREHAND_DATABASE_URL"); url != "" {
		return url, func() error { return nil }, nil
	}
	server, err := embedded.StartPostgres(ctx, embedded.PostgresOptions{Dir: filepath.Join(d.State, "postgres"), Durable: true, Log: log})
	if err != nil {
		return "", nil, err
	}
	end = func() error {
		stopping, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return server.Stop(stopping)
	}
	if err := server.CreateDatabase(ctx, "surehand"); err != nil {
		return "", nil, errors.Join(err, end())
	}
	return server.URL("surehand"), end, nil
}

// onlyTheDemos refuses a database with devices of a real site: the demo must not switch anything there.
func onlyTheDemos(ctx context.Context, url string) error {
	if err := migrate.Check(ctx, url); errors.Is(err, migrate.ErrEmpty) {
		return nil
	} else if err != nil { // a site's older schema is not ours to migrate
		return err
	}
	reader, err := read.Open(ctx, url)
	if err != nil {
		return err
	}
	defer reader.Close()
	ours, problems := config.Devices(greenhouse)
	if len(problems) > 0 {
		return fmt.Errorf("greenhouse.yaml, line %d: %s", problems[0].Line, problems[0].Detail)
	}
	known := map[string]bool{}
	for _, d := range ours.Devices {
		known[d.Serial] = true
	}
	page, err := reader.Devices(ctx, read.DeviceFilter{})
	if err != nil {
		return err
	}
	for _, d := range page.Items {
		if !known[d.Serial] {
			return fmt.Errorf("the database of SUREHAND_DATABASE_URL has a device %s that is not the demo's: unset the variable, or name a database of the demo's own", d.ID)
		}
	}
	return nil
}

// broker is the outside one when it is named, else one inside this process.
func (d *demoCommand) broker(log *slog.Logger) (url string, end func() error, err error) {
	if url := os.Getenv("SUREHAND_MQTT_URL"); url != "" {
		return url, func() error { return nil }, nil
	}
	if !d.Verbose { // its warnings are about itself, not about the greenhouse
		log = observe.NewLogger(os.Stderr, slog.LevelError)
	}
	broker, err := embedded.StartBroker("127.0.0.1:0", log)
	if err != nil {
		return "", nil, err
	}
	return broker.URL(), broker.Stop, nil
}

// demoEnvironment is the process's environment with the demo's own parts in place.
func demoEnvironment(databaseURL, brokerURL, listen string) func(string) (string, bool) {
	own := map[string]string{"SUREHAND_DATABASE_URL": databaseURL, "SUREHAND_MQTT_URL": brokerURL, "SUREHAND_HTTP_LISTEN": listen}
	return func(name string) (string, bool) {
		if v, ok := own[name]; ok {
			return v, true
		}
		return os.LookupEnv(name)
	}
}

// furnish imports the greenhouse, as an engineer would.
func (d *demoCommand) furnish(ctx context.Context, s *service.Service) error {
	devices, problems := config.Devices(greenhouse)
	if len(problems) > 0 {
		return fmt.Errorf("greenhouse.yaml, line %d: %s", problems[0].Line, problems[0].Detail)
	}
	outcome, err := s.Decide(ctx, "demo", devices)
	if err != nil {
		return err
	}
	if outcome.Code != message.Accepted {
		return fmt.Errorf("the greenhouse was not taken: %s %v", outcome.Detail, outcome.Problems)
	}
	return nil
}

func (d *demoCommand) explain(address, databaseURL, brokerURL string) {
	base := "http://" + address
	fmt.Fprintf(os.Stderr, `
Database %[3]s
Broker   %[4]s

A greenhouse of ten devices is running. Surehand reads them over MQTT, fires its
rules, sends commands, and calls a command applied only with proof. Look at it:

  curl -s %[1]s/api/v1/devices                        the devices
  curl -s %[1]s/api/v1/devices/climate                one of them, with what was last seen of it
  curl -s '%[1]s/api/v1/commands?limit=5'             the newest commands and their states
  curl -s %[1]s/api/v1/commands/ID/timeline           everything about one of them (an id from the line above)
  curl -s '%[1]s/api/v1/executions?limit=5'           why a rule did, or did not, do something
  curl -N %[1]s/api/v1/stream                         all of it as it happens
  curl -s %[1]s/metrics | grep ^surehand_             the figures

Switch something by hand:

  curl -s %[1]s/api/v1/commands -H 'Content-Type: application/json' \
       -H "Idempotency-Key: $(date +%%s)" -d '{"endpoint":"heater-1/on","value":true}'

Break it: kill -9 %[2]d while commands are in flight, and start it again. Nothing is fired twice, nothing
is lost. The simulated devices die with it, so a command that was acknowledged may stay uncertain: nobody can
know. It lets its endpoint go to the next command after about a minute and a half; a person who has looked may
POST {"verdict":"applied","reason":"..."} to /api/v1/commands/ID/verdict. Ctrl-C ends it.

`, base, os.Getpid(), place(databaseURL), brokerURL)
}

// place is a database without its password.
func place(databaseURL string) string {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "(as given)"
	}
	return u.Redacted()
}
