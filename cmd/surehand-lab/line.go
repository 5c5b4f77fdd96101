package main

import (
	"bufio"
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
)

// lineCommand serves the machines, the robot and the tools of a plant file on the addresses that it names.
type lineCommand struct {
	Plant string        `arg:"" help:"Plant file; what it calls a driver is simulated at the driver's address." default:"docs/examples/plant.yaml" type:"existingfile"`
	Move  time.Duration `help:"How long a robot move takes." default:"2s"`
	Cycle time.Duration `help:"How long a machine cycle takes." default:"8s"`
	Speed float64       `help:"Divides both." default:"1"`
}

const lineHelp = `Commands, one a line:
  arrive N              a pallet with N parts is set on the dock (tell Surehand: surehand pallet arrived …)
  show                  where every part really is
  faults                what can go wrong
  on FAULT, off FAULT   let it, or take it back: on cut:mill
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
	if err := simulable(plant); err != nil {
		return fmt.Errorf("%s:%w", l.Plant, err)
	}
	simulated, err := lab.Start(lab.Options{Line: &plant, Speed: l.Speed, Pace: lab.Pace{Move: l.Move, Cycle: l.Cycle, Scan: 300 * time.Millisecond, Mark: time.Second},
		OnViolation: func(v line.Violation) { fmt.Printf("VIOLATION: %+v\n", v) }})
	if err != nil {
		return err
	}
	defer func() { _ = simulated.Close() }() // it keeps no file
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
			obey(simulated, os.Stdout, strings.Fields(text))
		case <-stop:
			return nil
		}
	}
}

// simulable says which equipment speaks what is not simulated here: served on another wire it would look like one that is
// switched off. The error begins with the line of the plant file.
func simulable(plant message.ImportPlant) error {
	spoken := []string{"modbus-machine", "modbus-robot", "tcp-scanner", "tcp-marker"}
	for _, e := range plant.Equipment {
		if !slices.Contains(spoken, e.Config.Driver.Type) {
			return fmt.Errorf("%d: %s has driver %s, which is not simulated; there are %s", e.Line, e.ID, e.Config.Driver.Type, strings.Join(spoken, ", "))
		}
	}
	return nil
}

// obey does one command of the person at the keyboard. What cannot be done is said, not a reason to end.
func obey(p *lab.Plant, out io.Writer, words []string) {
	if len(words) == 0 {
		return
	}
	said, err := "ok", error(nil)
	switch words[0] {
	case "arrive":
		said, err = arrive(p, words)
	case "show":
		said = p.World.Describe()
	case "faults":
		var b strings.Builder
		err = listFaults(&b, p.Faults())
		said = strings.TrimSuffix(b.String(), "\n")
	case "on", "off":
		err = p.Set(argument(words, 1), words[0] == "on")
	case "move", "take":
		said, err = byHand(p, words)
	default:
		said = strings.TrimSuffix(lineHelp, "\n")
	}
	if err != nil {
		said = err.Error()
	}
	_, _ = fmt.Fprintln(out, said)
}

func argument(words []string, n int) string {
	if n < len(words) {
		return words[n]
	}
	return ""
}

func arrive(p *lab.Plant, words []string) (string, error) {
	parts, err := strconv.Atoi(argument(words, 1))
	if err != nil {
		return "", fmt.Errorf("arrive needs how many parts, not %q", argument(words, 1))
	}
	ids, err := p.Arrive(parts)
	return "on the dock: " + strings.Join(ids, " "), err
}

// byHand moves a part, or takes it out.
func byHand(p *lab.Plant, words []string) (string, error) {
	var at [2]line.Place
	for n, what := range []string{"where from", "where to"} {
		if n > 0 && words[0] == "take" {
			break
		}
		v, err := strconv.Atoi(argument(words, n+1))
		if err != nil {
			return "", fmt.Errorf("%s needs %s, a number of the plant file, not %q", words[0], what, argument(words, n+1))
		}
		at[n] = line.Place(v)
	}
	if words[0] == "move" {
		return "ok", p.World.Move(at[0], at[1])
	}
	id, err := p.World.Remove(at[0])
	return "taken out: " + id, err
}
