package looptest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

// Line is a production cell in memory and virtual time: parts that are really somewhere, a robot that really moves
// them, machines that work on them. It takes the loop's actions and says what drivers would say. What it counts is the
// truth that the record is held against.
//
// It is the world outside the process: a crash of the loop changes nothing in it, except that results of actions that
// an earlier process life asked for have nobody to go to.
type Line struct {
	now      time.Time
	events   []lineEvent
	serial   int
	epoch    int64
	watched  []plant.WatchedEquipment
	machines map[term.EquipmentID]*lineMachine
	robot    lineRobot
	tools    map[term.EquipmentID]*lineTool
	posts    []message.Message

	// At says where every part is: by number on the wire; Gripper, Exit of the file, or Removed.
	At map[string]int
	// Exit is the number of the exit.
	Exit int
	// Executed counts how often the robot carried out each number, Started how often machines began each.
	Executed, Started map[uint32]int
	// Visits are the machine cycles and scans of each part, in order.
	Visits map[string][]string
	// Violations are what must never happen in a plant.
	Violations []string
	// Strike decides what goes wrong with an action; nil: nothing.
	Strike func(plant.Perform) Mishap
	// LoseAcknowledged tells whether the word that a machine was told is lost; nil: never.
	LoseAcknowledged func() bool
	// MoveTime, CycleTime and ScanTime are how long things take.
	MoveTime, CycleTime, ScanTime time.Duration
}

// Gripper and Removed are places of parts beyond the numbers of the wire.
const (
	Gripper = 0
	Removed = -1
)

// Mishap is what goes wrong with one action.
type Mishap int

const (
	Fine         Mishap = iota
	Unsent              // surely nothing was tried
	Refuses             // surely not done: the part stays
	Drops               // fails with the part in the gripper
	Silent              // done, and the answer is lost: unknown
	SilentBefore        // not begun, and nobody can say: unknown
	AnswersLate         // unknown at first, done and told later
	Stuck               // begins and hangs before the part is picked; unknown
	StuckHolding        // begins and hangs with the part in the gripper; unknown
)

type lineEvent struct {
	at     time.Time
	serial int
	do     func()
}

type lineMachine struct {
	config   plant.WatchedEquipment
	echo     uint32
	result   int
	running  term.Slots
	pending  []int // slots whose done waits for the line to be free
	done     bool
	doneSlot int
	cycle    uint32
	cut      bool
	fault    int
	told     string // predicates last told
	doneTold bool
	toldAt   time.Time
}

type lineRobot struct {
	id     term.EquipmentID
	config plant.WatchedEquipment
	echo   uint32
	busy   bool
	ended  bool
	partAt term.PartAt
	at     int
	fault  int
	cut    bool
	told   string
	toldAt time.Time
}

type lineTool struct {
	config plant.WatchedEquipment
	cut    bool
	told   string
	toldAt time.Time
}

// NewLine makes an empty cell.
func NewLine(now time.Time) *Line {
	return &Line{now: now, machines: map[term.EquipmentID]*lineMachine{}, tools: map[term.EquipmentID]*lineTool{}, At: map[string]int{},
		Executed: map[uint32]int{}, Started: map[uint32]int{}, Visits: map[string][]string{},
		MoveTime: 4 * time.Second, CycleTime: 20 * time.Second, ScanTime: time.Second}
}

// Arrive puts n parts at the dock, whose first place has the number first; part n is called prefix.n.
func (l *Line) Arrive(prefix string, first, n int) {
	for i := 1; i <= n; i++ {
		l.At[fmt.Sprintf("%s.%d", prefix, i)] = first + i - 1
	}
}

// On is the part at a place; empty: none.
func (l *Line) On(place int) string {
	for _, id := range sortedKeys(l.At) {
		if l.At[id] == place {
			return id
		}
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (l *Line) violate(format string, args ...any) {
	l.Violations = append(l.Violations, fmt.Sprintf(format, args...))
}

func (l *Line) after(d time.Duration, do func()) {
	l.serial++
	l.events = append(l.events, lineEvent{l.now.Add(d), l.serial, do})
	slices.SortFunc(l.events, func(a, b lineEvent) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.serial, b.serial))
	})
}

// Next is when something happens in the plant by itself; readings are told at least once a second.
func (l *Line) Next() time.Time {
	next := l.now.Add(time.Second)
	if len(l.events) > 0 && l.events[0].at.Before(next) {
		next = l.events[0].at
	}
	return next
}

// Step lets time pass to now and returns what the drivers say.
func (l *Line) Step(now time.Time) []message.Message {
	for len(l.events) > 0 && !l.events[0].at.After(now) {
		e := l.events[0]
		l.events = l.events[1:]
		l.now = e.at
		e.do()
	}
	l.now = now
	l.tell()
	posts := l.posts
	l.posts = nil
	return posts
}

// Crash: the process that was told things is gone. What it had asked for goes on.
func (l *Line) Crash() {
	l.posts, l.watched, l.epoch = nil, nil, 0
}

// Take starts what the loop handed out.
func (l *Line) Take(actions []plant.Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case plant.Watch:
			l.watch(a)
		case plant.Acknowledge:
			l.acknowledge(a)
		case plant.Perform:
			l.perform(a)
		}
	}
}

func (l *Line) watch(w plant.Watch) {
	l.epoch, l.watched = w.Epoch, w.Equipment
	for _, e := range w.Equipment {
		switch e.Type {
		case term.KindMachine:
			m := l.machines[e.ID]
			if m == nil {
				m = &lineMachine{}
				l.machines[e.ID] = m
			}
			m.config, m.told, m.doneTold = e, "", false
		case term.KindRobot:
			l.robot.id, l.robot.config, l.robot.told = e.ID, e, ""
		default:
			if l.tools[e.ID] == nil {
				l.tools[e.ID] = &lineTool{}
			}
			l.tools[e.ID].config, l.tools[e.ID].told = e, ""
		}
	}
}

// acknowledge does what the workers do: only a done that was told in this process life is taken back on the wire; when
// none was told and the machine shows none, what an earlier life stored is over.
func (l *Line) acknowledge(a plant.Acknowledge) {
	m := l.machines[a.EquipmentID]
	if m == nil || m.cut {
		return
	}
	epoch := l.epoch
	l.after(50*time.Millisecond, func() {
		if m.cut || l.epoch != epoch || m.done && !m.doneTold {
			return
		}
		m.done, m.doneTold = false, false
		if l.LoseAcknowledged == nil || !l.LoseAcknowledged() {
			l.post(message.FromWorker, message.DoneAcknowledged{Machine: a.EquipmentID})
		}
		l.raise(m)
	})
}

// raise shows the next done that waits.
func (l *Line) raise(m *lineMachine) {
	if m.done || len(m.pending) == 0 {
		return
	}
	m.done, m.doneSlot, m.doneTold = true, m.pending[0], false
	m.pending = m.pending[1:]
	m.cycle++
}

func (l *Line) post(source message.Source, p message.Payload) {
	if l.epoch == 0 {
		return
	}
	l.posts = append(l.posts, message.Message{Source: source, Payload: p, CreatedAt: l.now})
}

// result tells how an action ended, to the process life that asked for it.
func (l *Line) result(p plant.Perform, o term.Outcome, at term.PartAt, code, fault string, late bool) {
	if p.Epoch == l.epoch {
		l.post(message.FromWorker, message.ActionEnded{Task: p.TaskID, Kind: p.Type, Attempt: p.Attempt, Epoch: p.Epoch, Outcome: o, PartAt: at, Code: code, Error: fault, Late: late})
	}
}

func (l *Line) perform(p plant.Perform) {
	m := Fine
	if l.Strike != nil {
		m = l.Strike(p)
	}
	if m == Unsent {
		l.after(time.Millisecond, func() {
			if p.Epoch == l.epoch {
				l.post(message.FromWorker, message.ActionEnded{Task: p.TaskID, Kind: p.Type, Attempt: p.Attempt, Epoch: p.Epoch, Outcome: term.NotDone, PartAt: from(p), Error: "not sent", Unsent: true})
			}
		})
		return
	}
	switch p.Type {
	case term.TaskStartMachine:
		l.start(p, m)
	case term.TaskMove:
		l.move(p, m)
	default:
		l.scan(p, m)
	}
}

func from(p plant.Perform) term.PartAt {
	switch {
	case p.Type == term.TaskStartMachine:
		return ""
	case p.Type != term.TaskMove, p.FromGripper:
		return term.PartGripper
	}
	return term.PartAtFrom
}

func (l *Line) move(p plant.Perform, m Mishap) {
	switch m {
	case Refuses:
		l.after(l.MoveTime/4, func() { l.result(p, term.NotDone, from(p), "", "refused", false) })
		return
	case SilentBefore:
		l.after(l.MoveTime, func() { l.result(p, term.Unknown, "", "", "no answer", false) })
		return
	}
	l.after(50*time.Millisecond, func() {
		if !term.NumberNewer(l.robot.echo, p.ActionNo) {
			l.violate("number %d was begun after %d", p.ActionNo, l.robot.echo)
			return
		}
		l.Executed[p.ActionNo]++
		l.robot.echo, l.robot.busy, l.robot.ended, l.robot.partAt, l.robot.at = p.ActionNo, true, false, "", 0
		if m == Stuck {
			l.after(l.MoveTime, func() { l.result(p, term.Unknown, "", "", "hangs", false) })
			return
		}
		l.after(l.MoveTime/2, func() { l.pick(p, m) })
	})
}

func (l *Line) pick(p plant.Perform, m Mishap) {
	if !p.FromGripper {
		part := l.On(p.From)
		switch {
		case part == "":
			l.violate("action %d picks from the empty place %d", p.ActionNo, p.From)
		case l.On(Gripper) != "":
			l.violate("action %d picks with a full gripper", p.ActionNo)
		case l.working(p.From):
			l.violate("action %d picks from %d, which is being worked on", p.ActionNo, p.From)
		default:
			l.At[part] = Gripper
		}
	} else if l.On(Gripper) == "" {
		l.violate("action %d places with an empty gripper", p.ActionNo)
	}
	switch m {
	case Drops:
		l.robot.busy, l.robot.partAt = false, term.PartGripper
		l.result(p, term.NotDone, term.PartGripper, "", "failed on the way", false)
		return
	case StuckHolding:
		l.after(l.MoveTime, func() { l.result(p, term.Unknown, "", "", "hangs", false) })
		return
	}
	l.after(l.MoveTime/2, func() { l.end(p, m) })
}

func (l *Line) end(p plant.Perform, m Mishap) {
	r := &l.robot
	r.busy, r.ended, r.at = false, true, p.To
	at := term.PartAtTo
	if !p.Present {
		part := l.On(Gripper)
		if part != "" && p.To != l.Exit && l.On(p.To) != "" {
			l.violate("action %d sets %s on %s at %d", p.ActionNo, part, l.On(p.To), p.To)
		}
		if part != "" {
			l.At[part] = p.To
		}
	} else {
		at = term.PartGripper
	}
	r.partAt = at
	switch m {
	case Silent:
		l.result(p, term.Unknown, "", "", "the answer was lost", false)
	case AnswersLate:
		l.result(p, term.Unknown, "", "", "no answer yet", false)
		l.after(3*l.MoveTime, func() { l.result(p, term.Done, at, "", "", true) })
	default:
		l.result(p, term.Done, at, "", "", false)
	}
}

func (l *Line) working(place int) bool {
	for _, e := range l.watched {
		m := l.machines[e.ID]
		if m == nil {
			continue
		}
		n := place - m.config.Config.First + 1
		if n >= 1 && n <= m.config.Config.Slots && m.running.Has(n) {
			return true
		}
	}
	return false
}

func (l *Line) scan(p plant.Perform, m Mishap) {
	l.after(l.ScanTime, func() {
		part := l.On(Gripper)
		switch {
		case m == Refuses || m == Drops || part == "" || l.robot.at != p.To && p.To != 0 && l.robot.at == 0:
			l.result(p, term.NotDone, term.PartGripper, "", "NOREAD", false)
		case m == Silent || m == SilentBefore || m == AnswersLate || m == Stuck || m == StuckHolding:
			l.result(p, term.Unknown, term.PartGripper, "", "no answer", false)
		default:
			l.Visits[part] = append(l.Visits[part], string(p.EquipmentID))
			l.result(p, term.Done, term.PartGripper, "code-"+part, "", false)
		}
	})
}

func (l *Line) start(p plant.Perform, m Mishap) {
	machine := l.machines[p.EquipmentID]
	l.after(100*time.Millisecond, func() {
		switch {
		case m == Refuses || m == Drops:
			l.result(p, term.NotDone, "", "", "refused", false)
			return
		case m == SilentBefore || m == Stuck:
			l.result(p, term.Unknown, "", "", "no answer", false)
			return
		case !term.NumberNewer(machine.echo, p.ActionNo):
			l.violate("start %d of %s after %d", p.ActionNo, p.EquipmentID, machine.echo)
			return
		}
		l.Started[p.ActionNo]++
		machine.echo, machine.result = p.ActionNo, 1
		slots := []int{p.Slot}
		if p.Slot == 0 {
			slots = nil
			for n := 1; n <= machine.config.Config.Slots; n++ {
				if l.On(machine.config.Config.First+n-1) != "" {
					slots = append(slots, n)
				}
			}
		}
		for _, n := range slots {
			if l.On(machine.config.Config.First+n-1) == "" {
				l.violate("start %d of %s with the empty slot %d", p.ActionNo, p.EquipmentID, n)
			}
			machine.running = machine.running.With(n)
		}
		l.after(l.CycleTime, func() { l.cycleEnds(machine, p, slots) })
		switch m {
		case Silent, StuckHolding:
			l.result(p, term.Unknown, "", "", "the answer was lost", false)
		case AnswersLate:
			l.result(p, term.Unknown, "", "", "no answer yet", false)
			l.after(l.CycleTime/2, func() { l.result(p, term.Done, "", "", "", true) })
		default:
			l.result(p, term.Done, "", "", "", false)
		}
	})
}

func (l *Line) cycleEnds(m *lineMachine, p plant.Perform, slots []int) {
	for _, n := range slots {
		m.running &^= 1 << (n - 1)
		if part := l.On(m.config.Config.First + n - 1); part != "" {
			l.Visits[part] = append(l.Visits[part], string(m.config.ID))
		}
		if !m.config.Config.Batch {
			m.pending = append(m.pending, n)
		}
	}
	if m.config.Config.Batch {
		m.pending = append(m.pending, 0)
	}
	l.raise(m)
}

// tell posts readings that changed, or that were told a second ago, and dones that nobody heard of yet.
func (l *Line) tell() {
	if l.epoch == 0 {
		return
	}
	for _, e := range l.watched {
		switch e.Type {
		case term.KindMachine:
			m := l.machines[e.ID]
			r := l.machineReading(m)
			if m.done && !m.doneTold && !m.cut {
				m.doneTold = true
				l.post(message.FromDevice, message.MachineDone{Machine: e.ID, SlotNo: m.doneSlot, Exact: true, Cycle: m.cycle, Counted: true})
			}
			l.reading(e.ID, r, &m.told, &m.toldAt)
		case term.KindRobot:
			l.reading(e.ID, l.robotReading(), &l.robot.told, &l.robot.toldAt)
		default:
			t := l.tools[e.ID]
			l.reading(e.ID, term.Reading{Reached: !t.cut, Ready: true}, &t.told, &t.toldAt)
		}
	}
}

func (l *Line) reading(id term.EquipmentID, r term.Reading, told *string, at *time.Time) {
	if p := r.Predicates() + fmt.Sprint(r.ReadySlots); p != *told || l.now.Sub(*at) >= time.Second {
		*told, *at = p, l.now
		l.post(message.FromDevice, message.EquipmentStatusChanged{Equipment: id, Epoch: l.epoch, Reading: r})
	}
}

func (l *Line) machineReading(m *lineMachine) term.Reading {
	if m.cut {
		return term.Reading{Error: "cut"}
	}
	r := term.Reading{Reached: true, Ready: true, Echo: m.echo, Running: m.running, Done: m.done, DoneSlot: m.doneSlot, Cycle: m.cycle,
		StartResult: m.result, Fault: m.fault, State: term.MachineIdle}
	for n := 1; n <= m.config.Config.Slots; n++ {
		if l.On(m.config.Config.First+n-1) != "" {
			r.Occupied = r.Occupied.With(n)
		}
		if !m.running.Has(n) {
			r.ReadySlots = r.ReadySlots.With(n)
		}
	}
	switch {
	case m.fault != 0:
		r.State = term.MachineFault
	case m.running != 0:
		r.State = term.MachineRunning
	case m.done:
		r.State = term.MachineDone
	}
	return r
}

func (l *Line) robotReading() term.Reading {
	r := l.robot
	if r.cut {
		return term.Reading{Error: "cut"}
	}
	return term.Reading{Reached: true, Ready: true, Echo: r.echo, Busy: r.busy, Ended: r.ended, PartAt: r.partAt, Gripper: l.On(Gripper) != "", Position: r.at, Fault: r.fault}
}

// Cut takes the link to an equipment away, or gives it back. The equipment itself goes on.
func (l *Line) Cut(id term.EquipmentID, cut bool) {
	if m := l.machines[id]; m != nil {
		m.cut = cut
	} else if t := l.tools[id]; t != nil {
		t.cut = cut
	} else {
		l.robot.cut = cut
	}
}

// Unstick lets a robot that hangs stand still for good: its action is over without success.
func (l *Line) Unstick() { l.robot.busy = false }

// Busy tells whether the robot is in the middle of an action.
func (l *Line) Busy() bool { return l.robot.busy }

// PutBy moves a part by hand.
func (l *Line) PutBy(part string, place int) {
	if place > 0 && place != l.Exit {
		if other := l.On(place); other != "" && other != part {
			l.violate("a person sets %s on %s", part, other)
		}
	}
	l.At[part] = place
}

// String shows where every part is.
func (l *Line) String() string {
	var b strings.Builder
	for _, id := range sortedKeys(l.At) {
		fmt.Fprintf(&b, "%s@%d%v ", id, l.At[id], l.Visits[id])
	}
	fmt.Fprintf(&b, "| robot echo=%d busy=%t", l.robot.echo, l.robot.busy)
	return b.String()
}
