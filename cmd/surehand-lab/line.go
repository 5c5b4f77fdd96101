package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"surehand/internal/config"
	"surehand/internal/lab"
	"surehand/internal/message"
	"surehand/internal/simulator/line"
	"surehand/internal/term"
)

// lineCommand serves the machines, the robot, scanners and markers of a plant file on the addresses that it names.
type lineCommand struct {
	Plant string        `arg:"" help:"Plant file; what it calls a driver is simulated at the driver's address." default:"docs/examples/plant.yaml" type:"existingfile"`
	Move  time.Duration `help:"How long a robot move takes." default:"2s"`
	Cycle time.Duration `help:"How long a machine cycle takes." default:"8s"`
	Speed float64       `help:"Divides both." default:"1"`
}

const lineHelp = `Commands, one a line:
  arrive N              a pallet with N parts is set on the dock (tell Surehand: surehand pallet arrived …)
  show                  where every part really is
  cut NAME, restore NAME       the network link of the robot, a machine, a scanner or a marker, by its id in the plant file
  freeze NAME, thaw NAME       the program of the robot or a machine; a scanner and a marker have none
  restart NAME          the controller of the robot, a machine or a marker, which keeps its memory; a scanner has none
  stick, free           the robot's next action hangs with the part in the gripper; it goes on
  fail                  the robot's next action ends with an error, the part in the gripper
  noread [NAME]         the next scan of a scanner, or of each, reads nothing
  failmark, losemark    the next mark of each marker fails, or its answer is lost
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
	simulated, err := l.start(plant)
	if err != nil {
		return err
	}
	defer simulated.world.Close()
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
			simulated.obey(os.Stdout, strings.Fields(text))
		case <-stop:
			return nil
		}
	}
}

// simulated is a running world, with the names that the plant file gives.
type simulated struct {
	world                       *line.World
	robot                       string
	machines, scanners, markers []string
}

func (l *lineCommand) start(p message.ImportPlant) (*simulated, error) {
	s := &simulated{}
	for _, e := range p.Equipment {
		switch e.Kind {
		case term.KindRobot:
			s.robot = string(e.ID)
		case term.KindMachine:
			s.machines = append(s.machines, string(e.ID))
		case term.KindScanner:
			s.scanners = append(s.scanners, string(e.ID))
		case term.KindMarker:
			s.markers = append(s.markers, string(e.ID))
		}
	}
	var err error
	s.world, err = line.Start(l.options(p))
	return s, err
}

func (l *lineCommand) options(p message.ImportPlant) line.Options {
	o := lab.LineOptions(p, lab.Pace{Move: l.Move, Cycle: l.Cycle, Scan: 300 * time.Millisecond, Mark: time.Second, Speed: l.Speed})
	o.OnViolation = func(v line.Violation) { fmt.Printf("VIOLATION: %+v\n", v) }
	return o
}

// obey does one command of the person at the keyboard. A name that does not exist is said, not a reason to end.
func (s *simulated) obey(out io.Writer, words []string) {
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
	var err error
	number := func(n int, what string) line.Place {
		v, wrong := strconv.Atoi(argument(n))
		if wrong != nil && err == nil {
			err = fmt.Errorf("%s needs %s, a number of the plant file, not %q", words[0], what, argument(n))
		}
		return line.Place(v)
	}
	said := "ok"
	w := s.world
	switch words[0] {
	case "arrive":
		parts, wrong := strconv.Atoi(argument(1))
		if wrong != nil {
			err = fmt.Errorf("arrive needs how many parts, not %q", argument(1))
			break
		}
		var ids []string
		ids, err = w.Arrive(parts)
		said = "on the dock: " + strings.Join(ids, " ")
	case "show":
		said = w.Describe()
	case "cut", "restore", "freeze", "thaw", "restart":
		err = s.disturb(words[0], argument(1))
	case "stick":
		w.Robot().SetFaults(line.RobotFaults{StickAfterPick: 1, Strikes: 1})
	case "free":
		w.Robot().Free()
	case "fail":
		w.Robot().SetFaults(line.RobotFaults{FailAfterPick: 1, Strikes: 1})
	case "noread":
		err = s.noRead(argument(1))
	case "failmark":
		err = s.disturbMarks(line.MarkerFaults{Fail: 1, Strikes: 1})
	case "losemark":
		err = s.disturbMarks(line.MarkerFaults{LoseAnswer: 1, Strikes: 1})
	case "move":
		from, to := number(1, "where from"), number(2, "where to")
		if err == nil {
			err = w.Move(from, to)
		}
	case "take":
		if from := number(1, "where from"); err == nil {
			var id string
			id, err = w.Remove(from)
			said = "taken out: " + id
		}
	default:
		said = strings.TrimSuffix(lineHelp, "\n")
	}
	if err != nil {
		said = err.Error()
	}
	fmt.Fprintln(out, said)
}

// controlled is what robot and machines have in common.
type controlled interface {
	Cut()
	Restore() error
	Freeze()
	Thaw()
	Restart(...line.Memory) error
}

func (s *simulated) disturb(what, name string) error {
	var c controlled
	switch {
	case slices.Contains(s.scanners, name):
		return s.disturbScanner(what, name)
	case slices.Contains(s.markers, name):
		return s.disturbMarker(what, name)
	case slices.Contains(s.machines, name):
		c = s.world.Machine(name)
	case name == s.robot:
		c = s.world.Robot()
	default:
		return s.unknown(name, slices.Concat([]string{s.robot}, s.machines, s.scanners, s.markers))
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

func (s *simulated) disturbScanner(what, name string) error {
	scanner := s.world.Scanner(name)
	switch what {
	case "cut":
		scanner.Cut()
		return nil
	case "restore":
		return scanner.Restore()
	}
	return fmt.Errorf("%s is a scanner and has no program to %s: cut, restore and noread are what can be done to it", name, what)
}

func (s *simulated) disturbMarker(what, name string) error {
	marker := s.world.Marker(name)
	switch what {
	case "cut":
		marker.Cut()
		return nil
	case "restore":
		return marker.Restore()
	case "restart":
		return marker.Restart()
	}
	return fmt.Errorf("%s is a marker and has no program to %s: cut, restore, restart, failmark and losemark are what can be done to it", name, what)
}

// disturbMarks sets what goes wrong with the next mark of each marker.
func (s *simulated) disturbMarks(f line.MarkerFaults) error {
	for _, name := range s.markers {
		s.world.Marker(name).SetFaults(f)
	}
	if len(s.markers) == 0 {
		return errors.New("the plant file has no marker")
	}
	return nil
}

// noRead lets the next scan of one scanner, or of each, read nothing.
func (s *simulated) noRead(name string) error {
	names := s.scanners
	if name != "" {
		names = []string{name}
	}
	for _, n := range names {
		if !slices.Contains(s.scanners, n) {
			return s.unknown(n, s.scanners)
		}
		s.world.Scanner(n).SetFaults(line.ScannerFaults{NoRead: 1, Strikes: 1})
	}
	if len(names) == 0 {
		return errors.New("the plant file has no scanner")
	}
	return nil
}

func (s *simulated) unknown(name string, known []string) error {
	return fmt.Errorf("%q is none of: %s", name, strings.Join(known, ", "))
}
