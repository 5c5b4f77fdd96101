// Command surehand-lab is everything that a developer and a curious person need and a production site must
// not have: the demo with its private database and broker and a simulated plant, and simulators at the keyboard. It is
// never part of the product.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

type commands struct {
	Demo  demoCommand  `cmd:"" help:"Run a production line and greenhouses: database, broker, simulators, and Surehand driving them."`
	Fault faultCommand `cmd:"" help:"List what can go wrong in the running demo, or let it."`
	World worldCommand `cmd:"" help:"Tell where every part of the running demo really is."`
	Serve serveCommand `cmd:"" hidden:"" help:"Surehand as the demo runs it."`
	Line  lineCommand  `cmd:"" help:"Simulate the machines, the robot and the tools of a plant file on the wire, with faults at the keyboard."`
}

func main() {
	var c commands
	parser := kong.Must(&c, kong.Name("surehand-lab"), kong.Description("Demo and simulators of Surehand."), kong.UsageOnError())
	k, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(err)
	if err := k.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "surehand-lab:", err)
		os.Exit(1)
	}
}
