// Command surehand is the product: one process that runs fleets of MQTT devices on one machine, with
// PostgreSQL as its only truth.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"surehand/internal/config"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/message"
	"surehand/internal/observe"
	"surehand/internal/production"
	"surehand/internal/service"
	"surehand/internal/supervisor"
	"surehand/internal/system"
)

type commands struct {
	Config string `help:"Configuration file (YAML); the environment wins over it." short:"c" type:"path" placeholder:"FILE"`

	Serve     serveCommand     `cmd:"" help:"Run until SIGTERM, or until 'surehand stop'."`
	Stop      stopCommand      `cmd:"" help:"Ask the running process to end."`
	Migrate   migrateCommand   `cmd:"" help:"Bring the database to the schema of this version."`
	Check     checkCommand     `cmd:"" help:"Check the configuration, and a device or plant file, without running anything."`
	Import    importCommand    `cmd:"" help:"Send a device or plant file to the running process."`
	Order     orderCommand     `cmd:"" help:"Work orders of the production cell."`
	Pallet    palletCommand    `cmd:"" help:"Pallets at the dock."`
	Recovery  recoveryCommand  `cmd:"" help:"What a person has to answer before the cell goes on."`
	Cell      cellCommand      `cmd:"" help:"The production cell: look, pause, release, compare."`
	Part      partCommand      `cmd:"" help:"Parts in the cell."`
	Equipment equipmentCommand `cmd:"" help:"Machines, robot and tools of the cell."`
	Alarm     alarmCommand     `cmd:"" help:"Alarms of the cell."`
	Version   versionCommand   `cmd:"" help:"Print the version."`

	in  io.Reader // of a person's yes
	out io.Writer
}

func main() {
	c := commands{in: os.Stdin, out: os.Stdout}
	parser := c.parser()
	k, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(err)
	if err := k.Run(&c); err != nil {
		fmt.Fprintln(os.Stderr, "surehand:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode tells what only a person can put right from what may be over at the next start: deploy/surehand.service
// starts again after everything but 78, which is EX_CONFIG of sysexits.h.
func exitCode(err error) int {
	var wrong *config.Error
	var schema *migrate.VersionError
	if errors.As(err, &wrong) || errors.As(err, &schema) {
		return 78
	}
	return 1
}

func (c *commands) parser() *kong.Kong {
	return kong.Must(c, kong.Name("surehand"), kong.UsageOnError(),
		kong.Description("Runs fleets of MQTT devices and a production cell: a physical action is never fired twice, never lost, and never called done without proof."))
}

// load reads the configuration and makes the logger that it asks for.
func (c *commands) load() (config.Config, *slog.Logger, error) {
	conf, err := config.Load(c.Config, os.LookupEnv)
	if err != nil {
		return conf, nil, err
	}
	log := observe.NewLogger(os.Stderr, conf.Log.Level)
	switch conf.Log.Format {
	case "text", "json":
		log = slog.New(observe.NewHandler(os.Stderr, conf.Log.Format == "text", conf.Log.Level))
	}
	return conf, log, nil
}

type serveCommand struct {
	Takeover bool `help:"End another process that holds this database. Only when you know that it must not run."`
}

func (s *serveCommand) Run(c *commands) error {
	conf, log, err := c.load()
	if err != nil {
		return err
	}
	calmCollector()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	running, err := service.Start(ctx, service.Options{Config: conf, Log: log, Version: version(), Takeover: s.Takeover})
	if err != nil {
		return err
	}
	told := tellSupervisor(ctx, running, log)
	defer told()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		log.Info("stopping; a second signal ends at once")
		running.Stop(false)
		<-signals
		cancel()
	}()
	return running.Wait()
}

// tellSupervisor lets systemd follow the service, if systemd started it. What it returns waits for the last word.
func tellSupervisor(ctx context.Context, running *service.Service, log *slog.Logger) (told func()) {
	s, err := supervisor.FromEnvironment(os.LookupEnv)
	if err != nil { // it may be a leftover of the environment: no reason not to run
		log.Error("systemd cannot be told how this process is", "error", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Follow(ctx, supervisor.Process{Opened: running.Opened(), Ending: running.Ending(), Clock: system.Clock{}, Log: log,
			Health: func() supervisor.Health {
				h := running.Health()
				return supervisor.Health{LastTurn: h.LastTurn, DatabaseAway: h.DatabaseAway}
			}})
	}()
	return func() { <-done }
}

// calmCollector trades memory for time: the live heap is small, a turn makes much short-lived garbage, and
// collecting it was a third of the loop's CPU (bench: go_cpu). GOGC and GOMEMLIMIT of the environment win.
func calmCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(2 << 30)
	}
}

type migrateCommand struct {
	Up     migrateUp     `cmd:"" default:"1" help:"Apply what is missing (default)."`
	Status migrateStatus `cmd:"" help:"Show what is applied and what is missing."`
}

type migrateUp struct{}

func (*migrateUp) Run(c *commands) error {
	conf, log, err := c.load()
	if err != nil {
		return err
	}
	return migrate.Up(context.Background(), conf.Database.URL.Reveal(), log)
}

type migrateStatus struct{}

func (*migrateStatus) Run(c *commands) error {
	conf, _, err := c.load()
	if err != nil {
		return err
	}
	status, err := migrate.Status(context.Background(), conf.Database.URL.Reveal())
	if err != nil {
		return err
	}
	for _, m := range status {
		word := "missing"
		if m.Applied {
			word = "applied"
		}
		fmt.Printf("%d %-8s %s\n", m.Version, word, m.Name)
	}
	return nil
}

type checkCommand struct {
	File string `arg:"" optional:"" help:"Device or plant file (YAML)." type:"existingfile"`
}

func (k *checkCommand) Run(c *commands) error {
	if k.File == "" {
		if _, _, err := c.load(); err != nil {
			return err
		}
		_, err := fmt.Fprintln(c.out, "The configuration is well formed.")
		return err
	}
	data, err := os.ReadFile(k.File)
	if err != nil {
		return err
	}
	kind, problem := config.KindOf(data)
	if problem != nil {
		return faults(k.File, []message.Problem{*problem})
	}
	found, later := "", ""
	var problems []message.Problem
	switch kind {
	case config.PlantFile:
		var p message.ImportPlant
		if p, problems = config.Plant(data); len(problems) == 0 {
			problems = production.Check(p)
		}
		found, later = fmt.Sprintf("%d equipment, %s", len(p.Equipment), count(len(p.Routes), "route")), "What is in use is checked when it is imported."
	default:
		var d message.ImportDevices
		d, problems = config.Devices(data)
		found = fmt.Sprintf("%s, %s, %s", count(len(d.Profiles), "profile"), count(len(d.Devices), "device"), count(len(d.Rules), "rule"))
		later = "References are checked when it is imported."
	}
	if len(problems) > 0 {
		return faults(k.File, problems)
	}
	_, err = fmt.Fprintf(c.out, "Well formed: %s. %s\n", found, later)
	return err
}

// faults lists what is wrong with a file, each where an editor finds it.
func faults(file string, problems []message.Problem) error {
	text := fmt.Sprintf("%s has %s", file, count(len(problems), "fault"))
	for _, p := range problems {
		text += fmt.Sprintf("\n%s:%d: ", file, max(p.Line, 1))
		if p.Pointer != "" {
			text += p.Pointer + " "
		}
		text += p.Detail
	}
	return errors.New(text)
}

type versionCommand struct{}

func (versionCommand) Run() error { fmt.Println(version()); return nil }

// version is what the build recorded: the module's version, or the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v == "(devel)" {
			v = s.Value
		}
	}
	return v
}
