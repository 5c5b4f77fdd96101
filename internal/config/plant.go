package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// The keys of the two files that a person writes; no key is of both.
var (
	deviceKeys = []string{"organisations", "farms", "profiles", "devices", "rules"}
	plantKeys  = []string{"cell", "equipment", "routes"}
)

// Kind of file that a person writes.
type Kind string

const (
	DeviceFile Kind = "device file"
	PlantFile  Kind = "plant file"
)

// KindOf tells what a file means to be by its first known key at the top. One that is no YAML, is empty or has no key
// that is known is neither, and its problem says so.
func KindOf(data []byte) (Kind, *message.Problem) {
	root, problem := parse(data)
	if problem != nil {
		return "", problem
	}
	if root != nil {
		for _, p := range root.pairs {
			switch {
			case slices.Contains(plantKeys, p.key):
				return PlantFile, nil
			case slices.Contains(deviceKeys, p.key):
				return DeviceFile, nil
			}
		}
	}
	return "", fault(1, "neither a device file (%s) nor a plant file (%s)", strings.Join(deviceKeys, ", "), strings.Join(plantKeys, ", "))
}

// Plant reads the production half: cell, equipment and routes. With problems the import is not to be used. Every
// single value is checked here, with the line of its fault; what concerns the whole (names that must exist, numbers
// of places that overlap, what is still in use) is the loop's to decide. What is left out is zero, but for the one
// slot of a machine; the loop fills in the other defaults.
func Plant(data []byte) (message.ImportPlant, []message.Problem) {
	root, problem := parse(data)
	if problem != nil {
		return message.ImportPlant{}, []message.Problem{*problem}
	}
	f := &form{}
	o := f.object(root, "", plantKeys...)
	out := message.ImportPlant{File: string(data)}
	if o.has("cell") {
		out.Cell = cell(o.object("cell", "name", "dock", "buffer", "exit", "options"))
	} else {
		o.fault("cell", "is missing: name, dock, buffer and exit")
	}
	wires := wires{}
	each(o, "equipment", equipmentKeys, func(o object, id string) {
		e := equipment(o, id)
		wires.take(o, e)
		out.Equipment = append(out.Equipment, e)
	})
	each(o, "routes", []string{"id", "name", "steps"}, func(o object, id string) { out.Routes = append(out.Routes, route(o, id)) })
	if n := len(out.Equipment); n > plant.MaxEquipment {
		o.fault("equipment", "has %d entries; at most %d are allowed", n, plant.MaxEquipment)
	}
	if len(f.problems) > 0 {
		return message.ImportPlant{}, f.problems
	}
	return out, nil
}

func cell(o object) message.ImportCell {
	c := message.ImportCell{Name: o.name("name", o.required("name")), Line: o.line}
	c.Config.Dock, c.Config.Buffer = places(o, "dock"), places(o, "buffer")
	c.Config.Exit = o.must("exit", 1, maxNumber, "number of the exit on the wire")
	p := o.object("options", "automaticRelease", "keepPausedInMachine", "refillAt", "refillBy")
	c.Config.Options = term.CellOptions{AutomaticRelease: p.is("automaticRelease"), KeepPausedInMachine: p.is("keepPausedInMachine"),
		RefillAt: p.within("refillAt", 1, plant.MaxPlaces), RefillBy: p.within("refillBy", 1, plant.MaxPlaces)}
	return c
}

func places(o object, key string) term.PlaceRow {
	if !o.has(key) {
		o.fault(key, "is missing: places and first")
		return term.PlaceRow{}
	}
	p := o.object(key, "places", "first")
	r := term.PlaceRow{Count: p.must("places", 1, plant.MaxPlaces, "how many places there are"),
		First: p.must("first", 1, maxNumber, "number of place 1 on the wire")}
	p.fits("first", r.First, r.Count)
	return r
}

var equipmentKeys = []string{"id", "kind", "name", "group", "slots", "batch", "maxWait", "first", "actionTime", "driver"}

func equipment(o object, id string) message.ImportEquipment {
	e := message.ImportEquipment{ID: term.EquipmentID(o.name("id", id)), Name: o.text("name"),
		Kind: equipmentKind(o), Line: o.line}
	e.Config.Group, e.Config.ActionTime = o.name("group", o.text("group")), o.lasting("actionTime", time.Second, time.Hour)
	if e.Kind == "" { // what else is right depends on it
		return e
	}
	c := &e.Config
	switch e.Kind {
	case term.KindMachine:
		if c.Slots = 1; o.has("slots") {
			c.Slots = o.within("slots", 1, plant.MaxSlots)
		}
		c.Batch, c.MaxWait = o.is("batch"), o.lasting("maxWait", time.Second, 24*time.Hour)
		if o.has("maxWait") && !c.Batch {
			o.fault("maxWait", "has no meaning here: only a batch machine waits for more parts")
		}
	case term.KindRobot:
		o.none("a robot is no place, and no route names it", "first", "group")
		fallthrough
	default:
		o.none("only a machine has it", "slots", "batch", "maxWait")
	}
	if e.Kind != term.KindRobot {
		c.First = o.must("first", 1, maxNumber, "number on the wire of slot 1, or of the tool station")
		o.fits("first", c.First, max(c.Slots, 1))
	}
	c.Driver = driver(o, e.Kind)
	return e
}

// equipmentKind is one of the known kinds; empty with a fault.
func equipmentKind(o object) term.EquipmentKind {
	text := o.text("kind")
	kinds := term.EquipmentKind("").Values()
	switch {
	case !o.has("kind"):
		o.fault("kind", "is missing: %s", strings.Join(kinds, ", "))
	case text == "": // no text: said already
	case !slices.Contains(kinds, text):
		o.fault("kind", "%q is none of %s", text, strings.Join(kinds, ", "))
	default:
		return term.EquipmentKind(text)
	}
	return ""
}

func route(o object, id string) message.ImportRoute {
	r := message.ImportRoute{ID: term.RouteID(o.name("id", id)), Name: o.text("name"), Line: o.line}
	steps := o.list("steps")
	if len(steps) == 0 {
		o.fault("steps", "needs at least one step: machine, inspection, scan or mark")
	}
	if len(steps) > plant.MaxSteps {
		o.fault("steps", "has %d steps; at most %d are allowed", len(steps), plant.MaxSteps)
		return r
	}
	for n, item := range steps {
		r.Steps = append(r.Steps, step(o.f, item, o.at+"/steps/"+strconv.Itoa(n), n+1))
	}
	return r
}

// stepKeys are the keys beside the one that names kind and group.
var stepKeys = map[term.StepKind][]string{
	term.StepMachine:    {"program", "expected", "timeout"},
	term.StepInspection: {"program", "expected", "timeout", "onFail", "reworkTo", "reworkLimit"},
	term.StepScan:       {"expected"},
	term.StepMark:       {"expected", "text"},
}

// step reads step n (from 1): the group stands under the word of its kind.
func step(f *form, item *node, at string, n int) message.ImportStep {
	kinds := term.StepKind("").Values()
	kind := term.StepKind("")
	for _, p := range item.pairs {
		if slices.Contains(kinds, p.key) && kind == "" {
			kind = term.StepKind(p.key)
		}
	}
	if kind == "" {
		f.fault(item.line, at, "must name its equipment group: machine, inspection, scan or mark")
		return message.ImportStep{Line: item.line}
	}
	o := f.object(item, at, append([]string{string(kind)}, stepKeys[kind]...)...)
	s := message.ImportStep{Line: o.line, Step: term.Step{Kind: kind, Group: o.name(string(kind), o.required(string(kind))),
		Program: o.within("program", 0, maxNumber), Expected: o.lasting("expected", time.Millisecond, 24*time.Hour), Timeout: o.lasting("timeout", time.Second, 7*24*time.Hour)}}
	if s.Timeout > 0 && s.Timeout <= s.Expected {
		o.fault("timeout", "must be longer than expected (%s)", durationText(s.Expected))
	}
	if kind == term.StepMark {
		s.Text = o.lineText("text")
	}
	if kind != term.StepInspection {
		return s
	}
	if s.OnFail = o.word("onFail", []string{"scrap", "judge", "rework"}); s.OnFail != "rework" {
		o.none("only onFail: rework has it", "reworkTo", "reworkLimit")
		return s
	}
	s.ReworkTo = o.must("reworkTo", 1, n, "the step to go back to, at most this one")
	s.ReworkLimit = o.must("reworkLimit", 1, plant.MaxReworks, "how often a part may go back")
	return s
}

// maxNumber is the largest number that fits into one register.
const maxNumber = 65535

// name checks a name that a person chose; empty when it is none or missing.
func (o object) name(key, s string) string {
	if s == "" || term.ValidName(s) {
		return s
	}
	o.fault(key, term.NoName, s)
	return ""
}

func (o object) is(key string) bool {
	b := o.bool(key)
	return b != nil && *b
}

// within is a whole number of a range; absent: 0.
func (o object) within(key string, low, high int) int {
	before := len(o.f.problems)
	i := o.int(key)
	if o.has(key) && len(o.f.problems) == before && (i < low || i > high) {
		o.fault(key, "must be from %d to %d, not %d", low, high, i)
		return 0
	}
	return i
}

// must is within for a number that has no default.
func (o object) must(key string, low, high int, what string) int {
	if !o.has(key) {
		o.fault(key, "is missing: %s, %d to %d", what, low, high)
		return 0
	}
	return o.within(key, low, high)
}

// fits: the last number of a row of places must fit into a register too.
func (o object) fits(key string, first, count int) {
	if last := first + count - 1; first > 0 && last > maxNumber {
		o.fault(key, "the last of %d places would have the number %d; %d is the largest", count, last, maxNumber)
	}
}

// lasting is a duration of a range; absent: 0.
func (o object) lasting(key string, low, high time.Duration) term.Duration {
	before := len(o.f.problems)
	d := o.duration(key)
	if o.has(key) && len(o.f.problems) == before && (d < term.Duration(low) || d > term.Duration(high)) {
		o.fault(key, "must be from %s to %s, not %s", durationText(term.Duration(low)), durationText(term.Duration(high)), durationText(d))
		return 0
	}
	return d
}

// none: keys that mean nothing here.
func (o object) none(why string, keys ...string) {
	for _, k := range keys {
		if o.has(k) {
			o.fault(k, "has no meaning here: %s", why)
		}
	}
}

// lineText is text of one line, at most maxLine bytes.
func (o object) lineText(key string) string {
	s := o.text(key)
	if len(s) > maxLine || strings.ContainsAny(s, "\r\n") {
		o.fault(key, "must be one line of at most %d bytes", maxLine)
		return ""
	}
	return s
}

// maxLine is what a scanner's line may have (docs/drivers.md).
const maxLine = 256
