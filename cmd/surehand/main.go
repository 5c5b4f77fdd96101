// Command surehand is the product: one process that runs fleets of MQTT devices on one machine, with
// PostgreSQL as its only truth.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"surehand/internal/config"
	"surehand/internal/dbstate/migrate"
	"surehand/internal/observe"
	"surehand/internal/service"
)

type commands struct {
	Config string `help:"Configuration file (YAML); the environment wins over it." short:"c" type:"path" placeholder:"FILE"`

	Serve   serveCommand   `cmd:"" help:"Run until SIGTERM, or until 'surehand stop'."`
	Stop    stopCommand    `cmd:"" help:"Ask the running process to end."`
	Migrate migrateCommand `cmd:"" help:"Bring the database to the schema of this version."`
	Check   checkCommand   `cmd:"" help:"Check the configuration, and a device file, without running anything."`
	Import  importCommand  `cmd:"" help:"Send a device file to the running process."`
	Version versionCommand `cmd:"" help:"Print the version."`
}

func main() {
	var c commands
	parser := kong.Must(&c, kong.Name("surehand"), kong.Description("Runs fleets of MQTT devices: a physical action is never fired twice, never lost, and never called done without proof."),
		kong.UsageOnError())
	k, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(err)
	if err := k.Run(&c); err != nil {
		fmt.Fprintln(os.Stderr, "surehand:", err)
		os.Exit(1)
	}
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
	Devices string `arg:"" optional:"" help:"Device file (YAML)." type:"existingfile"`
}

func (k *checkCommand) Run(c *commands) error {
	if _, _, err := c.load(); err != nil {
		return err
	}
	if k.Devices == "" {
		fmt.Println("The configuration is well formed.")
		return nil
	}
	data, err := os.ReadFile(k.Devices)
	if err != nil {
		return err
	}
	devices, problems := config.Devices(data)
	for _, p := range problems {
		fmt.Fprintf(os.Stderr, "%s:%d: %s %s\n", k.Devices, p.Line, p.Pointer, p.Detail)
	}
	if len(problems) > 0 {
		return errors.New("the device file has faults")
	}
	fmt.Printf("Well formed: %d profiles, %d devices, %d rules. References are checked when it is imported.\n",
		len(devices.Profiles), len(devices.Devices), len(devices.Rules))
	return nil
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
