package production

import (
	"cmp"
	"fmt"
	"slices"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// ImportPlant applies a plant file as a whole or not at all. A change that would strand a part or an action under way
// is refused; the cell is compared with the machines before it goes on.
func ImportPlant(tx *plant.Tx, p message.ImportPlant) message.Outcome {
	im := importer{tx: tx, problems: Check(p)}
	im.safe(p)
	if len(im.problems) > 0 {
		return message.Outcome{Code: message.Invalid, Reason: "invalid_configuration", Problems: im.problems,
			Detail: fmt.Sprintf("%d faults; nothing was applied.", len(im.problems))}
	}
	return im.apply(p)
}

// Check lists the faults that a plant file shows by itself, whatever the cell holds.
func Check(p message.ImportPlant) []message.Problem {
	im := importer{groups: map[string]term.EquipmentKind{}}
	im.cell(p)
	im.equipment(p)
	im.numbers(p)
	routes := map[term.RouteID]bool{}
	for _, r := range p.Routes {
		if routes[r.ID] {
			im.fault(r.Line, "/routes/"+string(r.ID), "%s stands twice", r.ID)
		}
		routes[r.ID] = true
		im.route(r)
	}
	return im.problems
}

type importer struct {
	tx       *plant.Tx
	groups   map[string]term.EquipmentKind
	problems []message.Problem
}

// maxProblems bounds the answer to a broken file.
const maxProblems = 100

func (im *importer) fault(line int, pointer, format string, args ...any) {
	if len(im.problems) < maxProblems {
		im.problems = append(im.problems, message.Problem{Pointer: pointer, Line: line, Detail: fmt.Sprintf(format, args...)})
	}
}

func (im *importer) named(line int, pointer, id string) {
	if !term.ValidName(id) {
		im.fault(line, pointer, term.NoName, id)
	}
}

func (im *importer) cell(p message.ImportPlant) {
	c := p.Cell
	im.named(c.Line, "/cell/name", c.Name)
	for _, row := range []struct {
		what string
		row  term.PlaceRow
	}{{"dock", c.Config.Dock}, {"buffer", c.Config.Buffer}} {
		if row.row.Count < 1 || row.row.Count > plant.MaxPlaces {
			im.fault(c.Line, "/cell/"+row.what+"/places", "1 to %d places", plant.MaxPlaces)
		}
	}
	o := c.Config.Options
	if o.RefillAt < 0 || o.RefillAt > c.Config.Buffer.Count || o.RefillBy < 0 || o.RefillBy > c.Config.Buffer.Count {
		im.fault(c.Line, "/cell/options", "refillAt and refillBy are 1 to the places of the buffer (%d)", c.Config.Buffer.Count)
	}
}

func (im *importer) equipment(p message.ImportPlant) {
	seen := map[term.EquipmentID]bool{}
	robots := 0
	if len(p.Equipment) > plant.MaxEquipment {
		im.fault(p.Cell.Line, "/equipment", "at most %d", plant.MaxEquipment)
	}
	for _, e := range p.Equipment {
		at := "/equipment/" + string(e.ID)
		im.named(e.Line, at, string(e.ID))
		if seen[e.ID] {
			im.fault(e.Line, at, "%s stands twice", e.ID)
		}
		seen[e.ID] = true
		c := e.Config.WithDefaults(e.ID)
		im.named(e.Line, at+"/group", c.Group)
		if kind, taken := im.groups[c.Group]; taken && kind != e.Kind {
			im.fault(e.Line, at+"/group", "group %s is of kind %s", c.Group, kind)
		} else {
			im.groups[c.Group] = e.Kind
		}
		switch e.Kind {
		case term.KindRobot:
			robots++
			im.slotless(e, at)
		case term.KindScanner, term.KindMarker:
			im.slotless(e, at)
		case term.KindMachine:
			if c.Slots < 1 || c.Slots > plant.MaxSlots {
				im.fault(e.Line, at+"/slots", "1 to %d slots", plant.MaxSlots)
			}
		default:
			im.fault(e.Line, at+"/kind", "kind %q is none of %v", e.Kind, e.Kind.Values())
			continue
		}
		if !slices.Contains(term.DriverTypes(e.Kind), c.Driver.Type) {
			im.fault(e.Line, at+"/driver/type", "a %s is driven by one of %v, not %q", e.Kind, term.DriverTypes(e.Kind), c.Driver.Type)
		}
		if c.ActionTime <= 0 || c.MaxWait <= 0 {
			im.fault(e.Line, at, "a time is not positive")
		}
	}
	if robots != 1 {
		im.fault(p.Cell.Line, "/equipment", "a cell has exactly one robot; this one has %d", robots)
	}
}

func (im *importer) slotless(e message.ImportEquipment, at string) {
	if e.Config.Slots != 0 || e.Config.Batch {
		im.fault(e.Line, at+"/slots", "only a machine has slots")
	}
}

// numbers holds the places' numbers on the wire against each other: each is 1 to 65535 and used once.
func (im *importer) numbers(p message.ImportPlant) {
	type span struct {
		what       string
		line       int
		first, end int
	}
	c := p.Cell.Config
	spans := []span{{"dock", p.Cell.Line, c.Dock.First, c.Dock.First + c.Dock.Count - 1},
		{"buffer", p.Cell.Line, c.Buffer.First, c.Buffer.First + c.Buffer.Count - 1}, {"exit", p.Cell.Line, c.Exit, c.Exit}}
	for _, e := range p.Equipment {
		if e.Kind != term.KindRobot {
			spans = append(spans, span{string(e.ID), e.Line, e.Config.First, e.Config.First + max(1, e.Config.Slots) - 1})
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	for i, s := range spans {
		if s.first < 1 || s.first > 65535 || s.end > 65535 {
			im.fault(s.line, "/"+s.what, "the numbers %d to %d of %s are not within 1 to 65535", s.first, s.end, s.what)
		}
		if i > 0 && s.first <= spans[i-1].end {
			im.fault(s.line, "/"+s.what, "the numbers %d to %d of %s overlap those of %s (%d to %d)", s.first, s.end, s.what,
				spans[i-1].what, spans[i-1].first, spans[i-1].end)
		}
	}
}

func (im *importer) route(r message.ImportRoute) {
	at := "/routes/" + string(r.ID)
	im.named(r.Line, at, string(r.ID))
	if len(r.Steps) < 1 || len(r.Steps) > plant.MaxSteps {
		im.fault(r.Line, at+"/steps", "1 to %d steps", plant.MaxSteps)
	}
	for i, s := range r.Steps {
		here := fmt.Sprintf("%s/steps/%d", at, i)
		want := term.KindMachine
		switch s.Kind {
		case term.StepMachine, term.StepInspection:
		case term.StepScan:
			want = term.KindScanner
		case term.StepMark:
			want = term.KindMarker
		default:
			im.fault(s.Line, here, "a step is one of machine, inspection, scan, mark")
			continue
		}
		if kind, ok := im.groups[s.Group]; !ok {
			im.fault(s.Line, here, "there is no equipment group %q", s.Group)
		} else if kind != want {
			im.fault(s.Line, here, "group %q is of kind %s; a %s step needs a %s", s.Group, kind, s.Kind, want)
		}
		if s.Expected < 0 || s.Timeout < 0 || s.Program < 0 || s.Program > 65535 {
			im.fault(s.Line, here, "a time is negative, or the program is not within 0 to 65535")
		}
		if s.Kind == term.StepInspection && s.Timeout == 0 {
			im.fault(s.Line, here+"/timeout", "an inspection needs a timeout: without a result a person is asked after it")
		}
		if !slices.Contains([]string{"", "scrap", "judge", "rework"}, s.OnFail) || s.OnFail != "" && s.Kind != term.StepInspection {
			im.fault(s.Line, here+"/onFail", "scrap, judge or rework, at an inspection")
		}
		scanned := slices.ContainsFunc(r.Steps[:i], func(s message.ImportStep) bool { return s.Kind == term.StepScan })
		if s.Text != "" && s.Kind != term.StepMark {
			im.fault(s.Line, here+"/text", "only a mark has a text")
		} else if why := plant.MarkTemplate(s.Text, scanned); why != "" {
			im.fault(s.Line, here+"/text", "%s", why)
		}
		if s.OnFail == "rework" && (s.ReworkTo < 1 || s.ReworkTo > i+1 || s.ReworkLimit < 1 || s.ReworkLimit > plant.MaxReworks) {
			im.fault(s.Line, here+"/rework", "rework needs reworkTo (1 to %d) and reworkLimit (1 to %d)", i+1, plant.MaxReworks)
		}
	}
}

// safe refuses what would strand a part or an action.
func (im *importer) safe(p message.ImportPlant) {
	old, exists := im.tx.State().Cell()
	if !exists {
		return
	}
	inside := len(im.tx.State().Placed())
	if c := p.Cell.Config; inside > 0 && (c.Dock != old.Config.Dock || c.Buffer != old.Config.Buffer || c.Exit != old.Config.Exit) {
		im.fault(p.Cell.Line, "/cell", "%d parts are in the cell; dock, buffer and exit can be changed when it is empty", inside)
	}
	for _, e := range im.tx.State().Equipment() {
		at := slices.IndexFunc(p.Equipment, func(n message.ImportEquipment) bool { return n.ID == e.ID })
		pointer := "/equipment/" + string(e.ID)
		if at < 0 {
			im.fault(p.Cell.Line, pointer, "%s is in use and not in the file; equipment cannot be taken out yet: disable it instead", e.ID)
			continue
		}
		n := p.Equipment[at]
		c := n.Config.WithDefaults(n.ID)
		switch {
		case n.Kind != e.Type:
			im.fault(n.Line, pointer+"/kind", "%s is a %s; give the new equipment another name", e.ID, e.Type)
		case c.Slots < e.Config.Slots:
			im.fault(n.Line, pointer+"/slots", "%s has %d slots; slots cannot be taken away yet", e.ID, e.Config.Slots)
		case im.busy(e) && (c.Group != e.Config.Group || c.Batch != e.Config.Batch || c.First != e.Config.First || c.Driver != e.Config.Driver):
			im.fault(n.Line, pointer, "%s holds a part or is in action; it can be changed when it is empty and at rest", e.ID)
		}
	}
}

func (im *importer) busy(e *plant.Equipment) bool {
	for _, s := range im.tx.State().SlotsOf(e.ID) {
		if s.State != term.SlotEmpty {
			return true
		}
	}
	for _, t := range im.tx.State().Tasks() {
		if t.EquipmentID == e.ID || at(t.From, e.ID) || at(t.To, e.ID) { // its numbers are on the wire
			return true
		}
	}
	for _, j := range im.tx.State().Placed() {
		if j.Presented == e.ID {
			return true
		}
	}
	return e.Latch != term.LatchNone
}

// at tells whether a place is a slot of a machine or the station of a tool.
func at(p term.Place, id term.EquipmentID) bool {
	machine, _ := p.Slot()
	return machine == id || p == term.ToolStation(id)
}

func (im *importer) apply(p message.ImportPlant) message.Outcome {
	changed, rewired := 0, false
	_, existed := im.tx.State().Cell()
	if im.tx.ConfigureCell(plant.Printable(p.Cell.Name), p.File, p.Cell.Config) {
		changed++
		rewired = !existed
	}
	for _, e := range p.Equipment {
		n := plant.Equipment{ID: e.ID, Name: plant.Printable(e.Name), Type: e.Kind, Config: e.Config.WithDefaults(e.ID)}
		if im.tx.ConfigureEquipment(n) {
			changed++
			rewired = true
			im.tx.Session().Forget(e.ID)
		}
	}
	for _, r := range p.Routes {
		steps := make([]term.Step, len(r.Steps))
		for i, s := range r.Steps {
			steps[i] = s.Step
		}
		if im.tx.ConfigureRoute(plant.Route{ID: r.ID, Name: plant.Printable(r.Name), Steps: steps}) {
			changed++
		}
	}
	if rewired {
		im.tx.PlaceHold(plant.CellSubject, term.HoldRecovery, "surehand", "the plant file changed the equipment; it is compared first")
		im.tx.Session().SetCompared(false)
		im.tx.WatchEquipment()
	}
	return message.Outcome{Code: message.Accepted, Subject: plant.CellSubject, Changed: changed}
}
