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
	// Executed counts how often the robot or a marker carried out each number, Started how often machines began each.
	Executed, Started map[uint32]int
	// Visits are the machine cycles, scans and marks of each part, in order; Marks are the texts that are on it.
	Visits, Marks map[string][]string
	// Marked are the numbers whose text is on a part.
	Marked map[uint32]string
	// Violations are what must never happen in a plant.
	Violations []string
	// Strike decides what goes wrong with an action; nil: nothing.
	Strike func(plant.Perform) Mishap
	// Code is what a scanner reads of a part; nil: "code-" and its name.
	Code func(part string) string
	// Judge says of a part whose cycle has ended pass or fail; nil: no machine inspects.
	Judge func(machine term.EquipmentID, part string) string
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
	ArrivesLate         // of a mark: unknown, and the request comes to the marker later; of others as SilentBefore
)

type lineEvent struct {
	at     time.Time
	serial int
	do     func()
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

// NewLine makes an empty cell.
func NewLine(now time.Time) *Line {
	return &Line{now: now, machines: map[term.EquipmentID]*lineMachine{}, tools: map[term.EquipmentID]*lineTool{}, At: map[string]int{},
		Executed: map[uint32]int{}, Started: map[uint32]int{}, Visits: map[string][]string{}, Marks: map[string][]string{}, Marked: map[uint32]string{},
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
			if e.InDoubt != 0 {
				l.withdraw(e.ID, e.InDoubt, w.Epoch, 50*time.Millisecond)
			}
		}
	}
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
		l.after(time.Millisecond, func() { l.notTried(p) })
		return
	}
	switch p.Type {
	case term.TaskStartMachine:
		l.start(p, m)
	case term.TaskMove:
		l.move(p, m)
	case term.TaskMark:
		l.mark(p, m)
	default:
		l.scan(p, m)
	}
}

// notTried tells that an action was not even tried.
func (l *Line) notTried(p plant.Perform) {
	if p.Epoch == l.epoch {
		l.post(message.FromWorker, message.ActionEnded{Task: p.TaskID, Kind: p.Type, Attempt: p.Attempt, Epoch: p.Epoch, Outcome: term.NotDone, PartAt: from(p), Error: "not sent", Unsent: true})
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
	case SilentBefore, ArrivesLate:
		l.after(l.MoveTime, func() { l.result(p, term.Unknown, "", "", "no answer", false) })
		return
	}
	l.after(50*time.Millisecond, func() {
		if !term.MayBegin(l.robot.echo, p.ActionNo) {
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

// Busy tells whether the robot or a marker is in the middle of an action.
func (l *Line) Busy() bool {
	for _, e := range l.watched {
		if t := l.tools[e.ID]; t != nil && t.busy {
			return true
		}
	}
	return l.robot.busy
}

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
