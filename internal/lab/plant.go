package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"surehand/internal/message"
	"surehand/internal/simulator"
	"surehand/internal/simulator/line"
	"surehand/internal/term"
)

// Options of a plant.
type Options struct {
	BrokerURL string  // of the greenhouses
	Houses    int     // greenhouses of ten devices each
	Speed     float64 // plant seconds in a second, above 0
	Seed      uint64
	// File keeps where the parts are, and the ports; empty: nowhere.
	File string
	// Line is a plant whose equipment is simulated at the addresses that its drivers name, at this pace; nil: the demo's own
	// line, at ports that it picks.
	Line *message.ImportPlant
	Pace Pace
	// OnViolation is told what must never happen in a plant; nil: only the world tells.
	OnViolation func(line.Violation)
}

// Plant is the running world of the demo.
type Plant struct {
	o      Options
	World  *line.World
	Houses []*simulator.Greenhouse

	equipment []equipment
	exit      line.Place
	dock      struct {
		first line.Place
		count int
	}
	faults []*fault
	added  int // of them: not the plant's own

	mu      sync.Mutex
	pallets int // that have come, ever
}

// equipment of the line, in the order of the plant file.
type equipment struct {
	id, name string
	kind     term.EquipmentKind
	inspects bool
}

// pace of the line at speed 1.
func pace(speed float64) Pace {
	return Pace{Speed: speed, Move: 6 * time.Second, Cycle: time.Minute, Scan: time.Second, Mark: 5 * time.Second,
		Programs: map[string]map[uint16]time.Duration{
			"lathe": {7: 90 * time.Second},
			"mill":  {12: 2 * time.Minute, 14: 80 * time.Second},
			"oven":  {1: 4 * time.Minute},
			"gauge": {1: 30 * time.Second, 2: 30 * time.Second},
		}}
}

// kept is the file of a plant: what a real one has anyway.
type kept struct {
	Ports map[string]string `json:"ports"`
	Parts []keptPart        `json:"parts"`
	// Pallets is how many have come: the next part's code follows from it.
	Pallets int `json:"pallets"`
}

type keptPart struct {
	Code string
	At   line.Place
	Bad  bool
}

// Start opens the wires. Parts stand where they stood when the plant ended; a machine or robot that was working has lost
// its power meanwhile.
func Start(o Options) (*Plant, error) {
	if o.Speed <= 0 {
		return nil, fmt.Errorf("speed %g must be above 0", o.Speed)
	}
	was, err := remember(o.File)
	if err != nil {
		return nil, err
	}
	p := &Plant{o: o}
	if p.World, err = p.open(was); err != nil {
		return nil, err
	}
	for i, h := range Houses(o.Houses) {
		house, err := simulator.NewGreenhouse(simulator.GreenhouseOptions{Name: h.ID, BrokerURL: o.BrokerURL, Seed: o.Seed + uint64(i), Speed: o.Speed})
		if err != nil {
			p.World.Close()
			return nil, err
		}
		p.Houses = append(p.Houses, house)
	}
	for _, h := range p.Houses {
		h.Start()
	}
	p.faults = p.everyFault()
	return p, nil
}

// own is the demo's line, at the ports that it had.
func own(speed float64, ports map[string]string) (line.Options, message.ImportPlant, error) {
	file, err := PlantFile(speed, func(id string) string { return id + ":1" }) // some address; it is not listened on
	if err != nil {
		return line.Options{}, message.ImportPlant{}, err
	}
	plant, err := parsePlant(file)
	if err != nil {
		return line.Options{}, plant, err
	}
	for i := range plant.Equipment {
		e := &plant.Equipment[i]
		e.Config.Driver.Address = ports[string(e.ID)]
	}
	return LineOptions(plant, pace(speed)), plant, nil
}

// open starts the line at the ports it had; where one is taken meanwhile, at free ones.
func (p *Plant) open(was kept) (*line.World, error) {
	var o line.Options
	var plant message.ImportPlant
	var err error
	if p.o.Line != nil {
		p.o.Pace.Speed = p.o.Speed
		plant, o = *p.o.Line, LineOptions(*p.o.Line, p.o.Pace)
	} else if o, plant, err = own(p.o.Speed, was.Ports); err != nil {
		return nil, err
	}
	o.OnViolation = p.o.OnViolation
	o.Seed, o.TruthSize = p.o.Seed, 500
	p.exit, p.equipment = line.Place(o.Exit), nil
	p.dock.first, p.dock.count = line.Place(o.Dock.First), o.Dock.Count
	for _, e := range plant.Equipment {
		known := equipment{id: string(e.ID), name: cmp.Or(e.Name, string(e.ID)), kind: e.Kind}
		for _, m := range o.Machines {
			known.inspects = known.inspects || m.Name == known.id && m.Inspects
		}
		p.equipment = append(p.equipment, known)
	}
	first := was.Pallets
	o.PartCode = func(pallet, place int) string { return fmt.Sprintf("HS-%d%02d", first+pallet, place) }
	world, err := line.Start(o)
	if err != nil && len(was.Ports) > 0 && p.o.Line == nil {
		was.Ports = nil
		return p.open(was)
	}
	if err != nil {
		return nil, err
	}
	for i, part := range was.Parts {
		id := fmt.Sprintf("kept-%d", i+1)
		if err = world.Put(part.At, id, part.Code); err == nil && part.Bad {
			err = world.MarkBad(id, true)
		}
		if err != nil {
			world.Close()
			return nil, fmt.Errorf("put the parts back where they stood: %w; delete %s to begin with an empty line", err, p.o.File)
		}
	}
	p.pallets = was.Pallets
	return world, nil
}

// Run keeps the file up to date until ctx ends, so that not even a kill of the plant loses a part.
func (p *Plant) Run(ctx context.Context) error {
	for {
		if err := p.keep(); err != nil {
			return err
		}
		again := time.NewTimer(time.Second)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return nil
		}
	}
}

// Arrive sets a pallet with n raw parts on the dock, and says how they are called.
func (p *Plant) Arrive(n int) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ids, err := p.World.Arrive(n)
	if err == nil {
		p.pallets++
	}
	return ids, err
}

// AtDock counts the parts on the dock.
func (p *Plant) AtDock() (n int) {
	for _, at := range p.World.Snapshot() {
		if at >= p.dock.first && at < p.dock.first+line.Place(p.dock.count) {
			n++
		}
	}
	return n
}

// Close ends the wires and the devices, and keeps where the parts are then: Surehand, which ends before, may have been told of
// a move until its own end.
func (p *Plant) Close() error {
	for _, h := range p.Houses {
		h.Stop()
	}
	err := p.keep()
	p.World.Close()
	return err
}

// Address is where an equipment of the line listens.
func (p *Plant) Address(id string) string {
	for _, e := range p.equipment {
		if e.id == id {
			return p.wired(e).Address()
		}
	}
	return ""
}

// Files are the device file and the plant file that Surehand is to be told.
func (p *Plant) Files() (devices, plant []byte, err error) {
	if devices, err = DeviceFile(Houses(p.o.Houses)); err == nil {
		plant, err = PlantFile(p.o.Speed, p.Address)
	}
	return devices, plant, err
}

func remember(file string) (was kept, err error) {
	if file == "" {
		return was, nil
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return was, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &was)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w; delete it to begin with an empty line", file, err)
	}
	return was, err
}

func (p *Plant) keep() error {
	if p.o.File == "" {
		return nil
	}
	p.mu.Lock()
	is := kept{Ports: map[string]string{}, Pallets: p.pallets}
	p.mu.Unlock()
	for _, e := range p.equipment {
		is.Ports[e.id] = p.wired(e).Address()
	}
	parts := p.World.Truth().Parts
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		if part := parts[id]; part.At >= line.Gripper && part.At != p.exit {
			is.Parts = append(is.Parts, keptPart{part.Code, part.At, part.Bad})
		}
	}
	data, err := json.MarshalIndent(is, "", " ")
	if err != nil {
		return err
	}
	fresh := filepath.Join(filepath.Dir(p.o.File), "."+filepath.Base(p.o.File)+".new")
	if err := os.WriteFile(fresh, data, 0o600); err != nil {
		return err
	}
	return os.Rename(fresh, p.o.File)
}
