package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"surehand/internal/config"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/dbstate/read"
	"surehand/internal/embedded"
	"surehand/internal/embedded/pgproxy"
	"surehand/internal/lab"
	"surehand/internal/message"
	"surehand/internal/observe"
)

type demoCommand struct {
	State   string  `help:"Folder of the demo's database, and of where its parts are." default:".state" type:"path"`
	Listen  string  `help:"Address of Surehand's HTTP interface, on loopback." default:"127.0.0.1:8750" env:"SUREHAND_HTTP_LISTEN"`
	Lab     string  `help:"Address at which faults are switched, on loopback." default:"127.0.0.1:8751" env:"SUREHAND_LAB_LISTEN"`
	Speed   float64 `help:"Plant seconds in a second, 0.1 to 100." default:"20"`
	Houses  int     `help:"Greenhouses of ten devices each, 1 to 20." default:"5"`
	Seed    uint64  `help:"Seed of the simulated plant." default:"1"`
	Bare    bool    `help:"No plant: only database, broker and Surehand, for files and simulators of your own. It has a database of its own."`
	Verbose bool    `help:"Log every stage, not only warnings."`
}

// demo is what runs, in the order of its start; it ends in reverse.
type demo struct {
	*demoCommand
	log         *slog.Logger
	databaseURL string
	brokerURL   string
	mosquitto   *embedded.Mosquitto // nil: an outside one
	plant       *lab.Plant
	surehand    *lab.Supervisor
	ends        []func() error
}

// Run starts the parts in order and ends them in reverse.
func (c *demoCommand) Run() (err error) {
	if c.Speed < 0.1 || c.Speed > 100 || c.Houses < 1 || c.Houses > 20 {
		return errors.New("--speed is 0.1 to 100, --houses 1 to 20")
	}
	d := &demo{demoCommand: c, log: observe.NewLogger(os.Stderr, c.level())}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer func() { err = errors.Join(err, d.end()) }()
	for _, start := range []func(context.Context) error{d.database, d.broker, d.world} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return d.serve(ctx, stop)
}

func (c *demoCommand) level() slog.Level {
	if c.Verbose {
		return slog.LevelInfo
	}
	return slog.LevelWarn // the instructions stay in sight
}

func (d *demo) end() error {
	var faults []error
	for i := len(d.ends) - 1; i >= 0; i-- {
		faults = append(faults, d.ends[i]())
	}
	return errors.Join(faults...)
}

// world starts the simulated line and greenhouses, with the faults of everything around them.
func (d *demo) world(ctx context.Context) error {
	o := lab.Options{BrokerURL: d.brokerURL, Houses: d.Houses, Speed: d.Speed, Seed: d.Seed, File: filepath.Join(d.State, "plant.json")}
	if d.Bare {
		o = lab.Options{Speed: d.Speed, Line: &message.ImportPlant{}}
	}
	var err error
	if d.plant, err = lab.Start(o); err != nil {
		return err
	}
	d.ends = append(d.ends, d.plant.Close)
	if d.mosquitto != nil {
		d.plant.Add(lab.Fault{ID: "kill:broker", Group: "Broker", Label: "kill -9, started again at once", Kind: lab.Once}, func(bool) error {
			again, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			if err := d.mosquitto.Kill(); err != nil {
				return err
			}
			return d.mosquitto.Restart(again)
		})
		d.plant.Add(lab.Fault{ID: "wipe:broker", Group: "Broker", Label: "kill -9, and it comes back without its sessions", Kind: lab.Once}, func(bool) error {
			again, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			return d.mosquitto.RestartEmpty(again)
		})
	}
	proxy, err := pgproxy.Start(d.databaseURL)
	if err != nil {
		return err
	}
	d.ends = append(d.ends, proxy.Close)
	d.databaseURL = proxy.URL()
	d.plant.Add(lab.Fault{ID: "cut:database", Group: "Database", Label: "Cannot be reached", Kind: lab.Switch}, func(on bool) error {
		proxy.Refuse(on)
		if on {
			proxy.Cut()
		}
		return nil
	})
	return nil
}

// serve runs Surehand, the shift and the lab's own address until ctx ends or one of them cannot go on.
func (d *demo) serve(ctx context.Context, stop func()) error {
	listener, err := net.Listen("tcp", d.Lab)
	if err != nil {
		return fmt.Errorf("%w; is another demo running? --lab names another address", err)
	}
	surehand := lab.Client{Base: "http://" + d.Listen}
	d.surehand = lab.NewSupervisor(d.plant, os.Stderr, d.command)
	var shift *lab.Shift
	if !d.Bare {
		shift = lab.NewShift(d.plant, surehand, d.log)
	}
	server := &http.Server{Handler: d.plant.Handler(), ReadHeaderTimeout: 5 * time.Second}

	var running sync.WaitGroup
	ended := make(chan error, 8)
	start := func(part func(context.Context) error) {
		running.Go(func() {
			if err := part(ctx); err != nil && ctx.Err() == nil {
				ended <- err
				stop()
			}
		})
	}
	start(d.plant.Run)
	start(d.surehand.Run)
	start(func(context.Context) error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	start(func(ctx context.Context) error {
		if err := surehand.Ready(ctx); err != nil {
			return err
		}
		if d.Bare {
			d.explainBare()
			return nil
		}
		if err := d.furnish(ctx, surehand); err != nil {
			return err
		}
		d.explain()
		shift.Run(ctx)
		return nil
	})
	<-ctx.Done()
	fmt.Fprintln(os.Stderr, "\nStopping. The database keeps what happened, and the plant where its parts are; start again to go on.")
	_ = server.Close()
	running.Wait()
	select {
	case err := <-ended:
		return err
	default:
		return nil
	}
}

// command is Surehand as the demo runs it: a process of its own, so that it can be killed while the plant goes on.
func (d *demo) command() *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	c := exec.Command(self, "serve", "--lab", "http://"+d.Lab)
	if d.Verbose {
		c.Args = append(c.Args, "--verbose")
	}
	c.Env = append(os.Environ(), "SUREHAND_DATABASE_URL="+d.databaseURL, "SUREHAND_MQTT_URL="+d.brokerURL, "SUREHAND_HTTP_LISTEN="+d.Listen)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c
}

// furnish imports the greenhouses and the line, as an engineer would.
func (d *demo) furnish(ctx context.Context, surehand lab.Client) error {
	devices, line, err := d.plant.Files()
	if err != nil {
		return err
	}
	if err := surehand.Import(ctx, "/api/v1/configuration/import", devices); err != nil {
		return fmt.Errorf("the greenhouses were not taken: %w", err)
	}
	if err := surehand.Import(ctx, "/api/v1/plant", line); err != nil {
		fmt.Fprintf(os.Stderr, "\nThe plant file was not taken, the line goes on with the last one: %v\n", err)
	}
	return nil
}

// database is the outside server when one is named, else a private cluster in the state folder.
func (d *demo) database(ctx context.Context) error {
	if d.databaseURL = os.Getenv("SUREHAND_DATABASE_URL"); d.databaseURL != "" {
		if err := onlyTheDemos(ctx, d.databaseURL); err != nil {
			return err
		}
		return migrate.Up(ctx, d.databaseURL, d.log)
	}
	server, err := embedded.StartPostgres(ctx, embedded.PostgresOptions{Dir: filepath.Join(d.State, "postgres"), Durable: true, Log: d.log})
	if err != nil {
		return err
	}
	d.ends = append(d.ends, func() error {
		stopping, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return server.Stop(stopping)
	})
	name := "surehand"
	if d.Bare {
		name = "bare"
	}
	if err := server.CreateDatabase(ctx, name); err != nil {
		return err
	}
	d.databaseURL = server.URL(name)
	return migrate.Up(ctx, d.databaseURL, d.log)
}

// onlyTheDemos refuses a database with devices or a cell of a real site: the demo must not switch or move anything there.
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
	switch cell, err := reader.Cell(ctx); {
	case errors.Is(err, read.ErrNotFound):
	case err != nil:
		return err
	case cell.Name != lab.CellName:
		return fmt.Errorf("the database of SUREHAND_DATABASE_URL has a cell %s that is not the demo's: unset the variable, or name a database of the demo's own", cell.Name)
	}
	file, err := lab.DeviceFile(lab.Houses(20))
	if err != nil {
		return err
	}
	ours, problems := config.Devices(file)
	if len(problems) > 0 {
		return fmt.Errorf("devices.yaml, line %d: %s", problems[0].Line, problems[0].Detail)
	}
	known := map[string]bool{}
	for _, device := range ours.Devices {
		known[device.Serial] = true
	}
	page, err := reader.Devices(ctx, read.DeviceFilter{})
	if err != nil {
		return err
	}
	for _, device := range page.Items {
		if !known[device.Serial] {
			return fmt.Errorf("the database of SUREHAND_DATABASE_URL has a device %s that is not the demo's: unset the variable, or name a database of the demo's own", device.ID)
		}
	}
	return nil
}

// broker is the outside one when it is named, else a mosquitto of the demo's own, which can be taken away. Its sessions end
// with the demo, as its devices do.
func (d *demo) broker(ctx context.Context) error {
	if d.brokerURL = os.Getenv("SUREHAND_MQTT_URL"); d.brokerURL != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "surehand-demo-")
	if err != nil {
		return err
	}
	d.ends = append(d.ends, func() error { return os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { // root runs it as another user
		return err
	}
	if d.mosquitto, err = embedded.StartMosquitto(ctx, embedded.MosquittoOptions{Dir: filepath.Join(dir, "mosquitto"), Log: d.log}); err != nil {
		return err
	}
	d.ends = append(d.ends, func() error {
		stopping, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return d.mosquitto.Stop(stopping)
	})
	d.brokerURL = d.mosquitto.URL()
	return nil
}

func (d *demo) explain() {
	fmt.Fprintf(os.Stderr, `
Database %[3]s
Broker   %[4]s

Open  http://%[1]s

A line (dock, buffer, code reader, lathe, mill, oven, gauge, marker, one robot) and %[5]d greenhouse devices are
running at %[6]g times the speed of a real plant. Surehand moves the parts, fires the rules, and calls nothing done without proof. Break it, on the page or here:

  .state/bin/surehand-lab fault%[8]s                        what can go wrong
  .state/bin/surehand-lab fault%[8]s kill:surehand          kill -9, started again after %[7]s (now process %[2]d)
  .state/bin/surehand-lab fault%[8]s cut:mill on            the mill's cable is pulled; "off" puts it back
  .state/bin/surehand-lab world%[8]s                        where every part really is

Nothing is fired twice, nothing is lost; what cannot be known becomes a question on the page. Ctrl-C ends it.

`, d.Listen, d.surehand.PID(), place(d.databaseURL), d.brokerURL, 10*d.Houses, d.Speed, lab.RestartAfter, d.elsewhere())
}

// elsewhere is what a command needs to find a demo that does not listen where it looks by itself.
func (d *demo) elsewhere() string {
	if d.Lab == "127.0.0.1:8751" {
		return ""
	}
	return " --lab " + d.Lab
}

func (d *demo) explainBare() {
	fmt.Fprintf(os.Stderr, `
Database %[2]s
Broker   %[3]s

Open  http://%[1]s

Surehand runs with nothing to do. Tell it a device file or a plant file: .state/bin/surehand import FILE. Ctrl-C ends it.

`, d.Listen, place(d.databaseURL), d.brokerURL)
}

// place is a database without its password.
func place(databaseURL string) string {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "(as given)"
	}
	return u.Redacted()
}
