package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"surehand/internal/config"
	"surehand/internal/message"
	"surehand/internal/simulator/line"
	"surehand/internal/term"
)

// lineCommand serves the machines, the robot and the scanner of a plant file on the addresses that it names.
type lineCommand struct {
	Plant string        `arg:"" help:"Plant file; what it calls a driver is simulated at the driver's address." default:"docs/examples/plant.yaml" type:"existingfile"`
	Move  time.Duration `help:"How long a robot move takes." default:"2s"`
	Cycle time.Duration `help:"How long a machine cycle takes." default:"8s"`
	Speed float64       `help:"Divides both." default:"1"`
}

const lineHelp = `Commands, one a line:
  arrive N              a pallet with N parts is set on the dock (tell Surehand: surehand pallet arrived …)
  show                  where every part really is
  cut NAME, restore NAME       the network link of robot, a machine or a scanner
  freeze NAME, thaw NAME       the program of the robot or a machine
  restart NAME          the controller of the robot or a machine, which keeps its memory
  stick, free           the robot's next action hangs with the part in the gripper; it goes on
  fail                  the robot's next action ends with an error, the part in the gripper
  noread                the next scan reads nothing
  move FROM TO          a person moves a part, by the numbers of the plant file (0: gripper)
  take NUMBER           a person takes a part out
  quit
`

func (l *lineCommand) Run() error {
	file, err := os.ReadFile(l.Plant)
	if err != nil {
		return err
	}
	plant, problems := config.Plant(file)
	if len(problems) > 0 {
		return fmt.Errorf("%s:%d: %s", l.Plant, problems[0].Line, problems[0].Detail)
	}
	world, err := line.Start(l.options(plant))
	if err != nil {
		return err
	}
	defer world.Close()
	fmt.Print(lineHelp)
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- in.Text()
		}
	}()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	for {
		select {
		case text, more := <-lines:
			if !more { // without a terminal it serves until it is stopped
				<-stop
				return nil
			}
			if strings.TrimSpace(text) == "quit" {
				return nil
			}
			obey(os.Stdout, world, strings.Fields(text))
		case <-stop:
			return nil
		}
	}
}

func (l *lineCommand) options(p message.ImportPlant) line.Options {
	c := p.Cell.Config
	o := line.Options{Dock: line.Row{First: uint16(c.Dock.First), Count: c.Dock.Count}, Buffer: line.Row{First: uint16(c.Buffer.First), Count: c.Buffer.Count},
		Exit: uint16(c.Exit), Speed: l.Speed,
		PartCode:    func(pallet, place int) string { return fmt.Sprintf("HS-%d%02d", pallet, place) },
		OnViolation: func(v line.Violation) { fmt.Printf("VIOLATION: %+v\n", v) }}
	wire := func(d term.DriverConfig) line.ModbusOptions {
		d = d.WithDefaults()
		return line.ModbusOptions{Listen: d.Address, Unit: uint8(d.Unit), Command: uint16(d.Command), Status: uint16(d.Status), LowWordFirst: d.WordOrder == "low"}
	}
	for _, e := range p.Equipment {
		switch e.Kind {
		case term.KindRobot:
			o.Robot = line.RobotOptions{MoveTime: l.Move, Modbus: wire(e.Config.Driver)}
		case term.KindMachine:
			o.Machines = append(o.Machines, line.MachineOptions{Name: string(e.ID), First: uint16(e.Config.First), Slots: max(1, e.Config.Slots), Batch: e.Config.Batch,
				CycleTime: l.Cycle, Modbus: wire(e.Config.Driver)})
		case term.KindScanner:
			o.Scanners = append(o.Scanners, line.ScannerOptions{Name: string(e.ID), Place: uint16(e.Config.First), Listen: e.Config.Driver.Address,
				Trigger: e.Config.Driver.WithDefaults().Trigger, ScanTime: 300 * time.Millisecond})
		}
	}
	return o
}

// obey does one command of the person at the keyboard. A name that does not exist is said, not a reason to end.
func obey(out io.Writer, w *line.World, words []string) {
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Fprintln(out, fault)
		}
	}()
	if len(words) == 0 {
		return
	}
	argument := func(n int) string {
		if n < len(words) {
			return words[n]
		}
		return ""
	}
	number := func(n int) line.Place { v, _ := strconv.Atoi(argument(n)); return line.Place(v) }
	var err error
	switch words[0] {
	case "arrive":
		var ids []string
		if ids, err = w.Arrive(int(number(1))); err == nil {
			fmt.Fprintln(out, "on the dock:", strings.Join(ids, " "))
		}
	case "show":
		fmt.Fprintln(out, w.Describe())
	case "cut", "restore", "freeze", "thaw", "restart":
		err = disturb(w, words[0], argument(1))
	case "stick":
		w.Robot().SetFaults(line.RobotFaults{StickAfterPick: 1, Strikes: 1})
	case "free":
		w.Robot().Free()
	case "fail":
		w.Robot().SetFaults(line.RobotFaults{FailAfterPick: 1, Strikes: 1})
	case "noread":
		for _, name := range []string{"scanner"} {
			w.Scanner(name).SetFaults(line.ScannerFaults{NoRead: 1, Strikes: 1})
		}
	case "move":
		err = w.Move(number(1), number(2))
	case "take":
		_, err = w.Remove(number(1))
	default:
		fmt.Fprint(out, lineHelp)
	}
	if err != nil {
		fmt.Fprintln(out, err)
	}
}

// controlled is what robot and machines have in common.
type controlled interface {
	Cut()
	Restore() error
	Freeze()
	Thaw()
	Restart(...line.Memory) error
}

func disturb(w *line.World, what, name string) error {
	var c controlled
	switch {
	case name == "robot":
		c = w.Robot()
	case strings.HasPrefix(name, "scan"):
		s := w.Scanner(name)
		if what == "cut" {
			s.Cut()
			return nil
		}
		return s.Restore()
	default:
		c = w.Machine(name)
	}
	switch what {
	case "cut":
		c.Cut()
	case "restore":
		return c.Restore()
	case "freeze":
		c.Freeze()
	case "thaw":
		c.Thaw()
	case "restart":
		return c.Restart()
	}
	return nil
}
