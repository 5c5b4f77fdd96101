package line

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simonvetter/modbus"
)

const (
	// patience is how long a test waits for something that must come.
	patience = 20 * time.Second
	// impatience is the time-out of a client whose answer must not come.
	impatience = 60 * time.Millisecond
)

// The cell of all tests: dock 1-4, buffer 11-13, mill 40, lathe 50-52, oven 60-62, gauge 70, scanner 80, exit 90.
func cell(t *testing.T, change func(*Options)) *World {
	t.Helper()
	o := Options{
		Dock: Row{First: 1, Count: 4}, Buffer: Row{First: 11, Count: 3}, Exit: 90, Stations: []uint16{81}, Seed: 1,
		Robot: RobotOptions{MoveTime: 2 * time.Millisecond, Modbus: ModbusOptions{HeartbeatEvery: time.Millisecond}},
		Machines: []MachineOptions{
			{Name: "mill", First: 40, Programs: map[uint16]time.Duration{7: 2 * time.Millisecond, 8: time.Millisecond}},
			{Name: "lathe", First: 50, Slots: 3, CycleTime: 2 * time.Millisecond},
			{Name: "oven", First: 60, Slots: 3, Batch: true, CycleTime: 2 * time.Millisecond},
			{Name: "gauge", First: 70, Inspects: true, CycleTime: 2 * time.Millisecond},
		},
		Scanners: []ScannerOptions{{Name: "scanner", Place: 80}, {Name: "second", Place: 80, Trigger: "GO"}},
	}
	if change != nil {
		change(&o)
	}
	w, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Close()
		if t.Failed() {
			t.Log(w)
		}
	})
	return w
}

// put brings parts in by hand: "a@1 b@40", the gripper is 0.
func put(t *testing.T, w *World, parts string) {
	t.Helper()
	for _, word := range strings.Fields(parts) {
		var at int
		id, place, _ := strings.Cut(word, "@")
		if _, err := fmt.Sscan(place, &at); err != nil {
			t.Fatal(err)
		}
		if err := w.Put(Place(at), id, "code-"+id); err != nil {
			t.Fatal(err)
		}
	}
}

// where is a snapshot in words: "a@1 b@gripper".
func where(w *World) string {
	snapshot := w.Snapshot()
	var words []string
	for _, id := range slices.Sorted(maps.Keys(snapshot)) {
		words = append(words, fmt.Sprintf("%s@%s", id, snapshot[id]))
	}
	return strings.Join(words, " ")
}

func violations(w *World) string {
	var words []string
	for _, v := range w.Truth().Violations {
		words = append(words, string(v.Kind))
	}
	return strings.Join(words, ", ")
}

func await(t *testing.T, w *World, what string, until func(Truth) bool) Truth {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.Wait(ctx, until); err != nil {
		t.Fatalf("%s: %v\n%s", what, err, w)
	}
	return w.Truth()
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\ngot  %v\nwant %v", what, got, want)
	}
}

// peer is a Modbus client that knows the tables of docs/drivers.md, and nothing of this package's registers.
type peer struct {
	*testing.T
	*modbus.ModbusClient
	low  bool
	size uint16 // of the status block
}

func dial(t *testing.T, c *Controller, timeout time.Duration) *peer {
	t.Helper()
	client, err := modbus.NewClient(&modbus.ClientConfiguration{
		URL: "tcp://" + c.Address(), Timeout: timeout, Logger: log.New(io.Discard, "", 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.SetUnitId(1); err != nil {
		t.Fatal(err)
	}
	if err := client.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	size := uint16(14)
	if c.Name() == RobotName {
		size = 10
	}
	return &peer{T: t, ModbusClient: client, low: c.o.LowWordFirst, size: size}
}

func (p *peer) words(no uint32) []uint16 {
	if p.low {
		return []uint16{uint16(no), uint16(no >> 16)}
	}
	return []uint16{uint16(no >> 16), uint16(no)}
}

func (p *peer) number(words []uint16) uint32 {
	if p.low {
		return uint32(words[1])<<16 | uint32(words[0])
	}
	return uint32(words[0])<<16 | uint32(words[1])
}

func (p *peer) write(offset uint16, values ...uint16) {
	p.Helper()
	var err error
	if len(values) == 1 {
		err = p.WriteRegister(offset, values[0])
	} else {
		err = p.WriteRegisters(offset, values)
	}
	if err != nil {
		p.Fatalf("write %v at %d: %v", values, offset, err)
	}
	if got := p.registers(offset, uint16(len(values))); !slices.Equal(got, values) {
		p.Fatalf("wrote %v at %d, read back %v", values, offset, got)
	}
}

func (p *peer) registers(address, count uint16) []uint16 {
	p.Helper()
	values, err := p.ReadRegisters(address, count, modbus.HOLDING_REGISTER)
	if err != nil {
		p.Fatalf("read %d at %d: %v", count, address, err)
	}
	return values
}

func (p *peer) status() []uint16 {
	p.Helper()
	return p.registers(100, p.size)
}

// until reads the status block until it is as wanted.
func (p *peer) until(what string, wanted func(s []uint16) bool) []uint16 {
	p.Helper()
	giveUp := time.Now().Add(patience)
	for {
		s := p.status()
		if wanted(s) {
			return s
		}
		if time.Now().After(giveUp) {
			p.Fatalf("%s: never seen, status is %v", what, s)
		}
	}
}

// command writes the number and parameters of a robot action or a machine start, and raises go; all as the contract says.
func (p *peer) command(no uint32, parameters ...uint16) {
	p.Helper()
	p.prepare(no, parameters...)
	p.write(2+uint16(len(parameters)), 1)
}

func (p *peer) prepare(no uint32, parameters ...uint16) {
	p.Helper()
	p.write(2+uint16(len(parameters)), 0)
	p.write(0, append(p.words(no), parameters...)...)
}

// settled waits for the end of a robot action and returns it in words.
func (p *peer) settled() string {
	p.Helper()
	s := p.until("the end of the action", func(s []uint16) bool { return s[2] == 0 && (s[3] != 0 || s[4] != 0) })
	return fmt.Sprintf("echo=%d done=%d error=%d part_at=%d gripper=%d position=%d", p.number(s), s[3], s[4], s[5], s[6], s[7])
}

func (p *peer) release() {
	p.Helper()
	p.write(5, 0)
	s := p.status()
	equal(p.T, "done and error after go = 0", s[3:5], []uint16{0, 0})
}

// machine status in words, without what has its own test.
func (p *peer) machine(s []uint16) string {
	return fmt.Sprintf("echo=%d state=%d running=%03b done=%d slot=%d cycle=%d occupied=%03b fault=%d pass=%d result=%d ready=%03b",
		p.number(s), s[2], s[3], s[4], s[5], p.number(s[6:]), s[8], s[9], s[11], s[12], s[13])
}

func (p *peer) untilDone() []uint16 {
	p.Helper()
	return p.until("done", func(s []uint16) bool { return s[4] == 1 })
}

func (p *peer) acknowledge() {
	p.Helper()
	p.write(5, 1)
	p.until("done taken off", func(s []uint16) bool { return s[4] == 0 })
	p.write(5, 0)
}
