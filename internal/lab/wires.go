package lab

import (
	"time"

	"surehand/internal/message"
	"surehand/internal/simulator/line"
	"surehand/internal/term"
)

// Pace is how long things take in a simulated plant, before Speed divides it.
type Pace struct {
	Move, Cycle, Scan, Mark time.Duration
	// Programs are the durations of a machine's programs, by its id; a machine without any takes Cycle for each.
	Programs map[string]map[uint16]time.Duration
	Speed    float64
}

// LineOptions simulates what a plant file calls equipment, each at the address of its driver.
func LineOptions(p message.ImportPlant, pace Pace) line.Options {
	c := p.Cell.Config
	o := line.Options{Dock: line.Row{First: uint16(c.Dock.First), Count: c.Dock.Count}, Buffer: line.Row{First: uint16(c.Buffer.First), Count: c.Buffer.Count},
		Exit: uint16(c.Exit), Speed: pace.Speed}
	inspects := map[string]bool{}
	for _, r := range p.Routes {
		for _, s := range r.Steps {
			inspects[s.Group] = inspects[s.Group] || s.Kind == term.StepInspection
		}
	}
	for _, e := range p.Equipment {
		d := e.Config.WithDefaults(e.ID)
		switch e.Kind {
		case term.KindRobot:
			o.Robot = line.RobotOptions{MoveTime: pace.Move, Modbus: registers(d.Driver)}
		case term.KindMachine:
			o.Machines = append(o.Machines, line.MachineOptions{Name: string(e.ID), First: uint16(d.First), Slots: max(1, d.Slots), Batch: d.Batch,
				Inspects: inspects[d.Group], CycleTime: pace.Cycle, Programs: pace.Programs[string(e.ID)], Modbus: registers(d.Driver)})
		case term.KindScanner:
			o.Scanners = append(o.Scanners, line.ScannerOptions{Name: string(e.ID), Place: uint16(d.First), Listen: d.Driver.Address,
				Trigger: d.Driver.Trigger, ScanTime: pace.Scan})
		case term.KindMarker:
			o.Markers = append(o.Markers, line.MarkerOptions{Name: string(e.ID), Place: uint16(d.First), Listen: d.Driver.Address, MarkTime: pace.Mark})
		}
	}
	return o
}

func registers(d term.DriverConfig) line.ModbusOptions {
	return line.ModbusOptions{Listen: d.Address, Unit: uint8(d.Unit), Command: uint16(d.Command), Status: uint16(d.Status), LowWordFirst: d.WordOrder == "low"}
}
