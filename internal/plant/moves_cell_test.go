package plant

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/term"
)

type minted struct{ n int }

func (m *minted) ID(now time.Time) string { m.n++; return DerivedID(now, fmt.Sprint(m.n)) }
func (*minted) Fraction() float64         { return 0 }

var six = time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC)

func workOn(t *testing.T, rows ...Row) *Work {
	s, err := Load(Fence{Epoch: 3}, rows)
	require.NoError(t, err)
	return s.Begin(six, &minted{}, NewSession(), nil, nil)
}

// aCell is a cell with a lathe of two slots, a robot and an order; the rows of the test come on top.
func aCell(order term.OrderState, rows ...Row) []Row {
	o := &Order{ID: "A", Version: 1, State: order, Planned: 1}
	if order == term.OrderStopping {
		o.Inside = term.InsideRetire
	}
	config := term.EquipmentConfig{Slots: 2, First: 41, ActionTime: term.Duration(time.Minute)}
	base := []Row{&Cell{Version: 1, Config: term.CellConfig{Dock: term.PlaceRow{Count: 8, First: 1}, Buffer: term.PlaceRow{Count: 8, First: 21}, Exit: 99}}, o,
		&Equipment{ID: "lathe", Version: 1, Type: term.KindMachine, Status: term.EquipmentIdle, Latch: term.LatchNone, Config: config},
		&Equipment{ID: "robot", Version: 1, Type: term.KindRobot, Status: term.EquipmentIdle, Latch: term.LatchNone}}
	number := 0
	for _, r := range rows {
		if j, ok := r.(*Job); ok {
			number++
			j.ID, j.Version, j.OrderID, j.Number, j.EnteredAt = term.NewJobID("A", number), 1, "A", number, six
			o.Planned = number
			if j.Disposition == "" {
				j.Disposition = term.DispositionNone
			}
		}
	}
	for n := 1; n <= 2; n++ {
		id := term.NewSlotID("lathe", n)
		if !slices.ContainsFunc(rows, func(r Row) bool { return r.Kind() == KindSlot && r.Key() == string(id) }) {
			base = append(base, slotRow(n, term.SlotEmpty, ""))
		}
	}
	return append(base, rows...)
}

func slotRow(n int, state term.SlotState, job term.JobID) *Slot {
	s := &Slot{ID: term.NewSlotID("lathe", n), Version: 1, EquipmentID: "lathe", Number: n, State: state, JobID: job}
	if job != "" {
		s.EnteredAt = six
	}
	return s
}

func jobRow(state term.JobState, at term.Place, home int) *Job {
	return &Job{State: state, Position: at, TempSlotNo: home}
}

// edges runs every move on every picture and gathers the edges of one kind of row. A move that may not start there
// must break with the number of its invariant, and a savepoint that is dropped leaves nothing.
func edges(t *testing.T, kind Kind, pictures map[string][]Row, moves map[string]func(*Tx)) map[string]bool {
	found := map[string]bool{}
	for name, rows := range pictures {
		for move, do := range moves {
			t.Run(move+" in "+name, func(t *testing.T) {
				w := workOn(t, rows...)
				before := w.state.Rows()
				tx := w.Tx()
				broke := func() (why string) {
					defer func() {
						if p := recover(); p != nil {
							why = fmt.Sprint(p)
						}
					}()
					do(tx)
					return ""
				}()
				if broke != "" {
					require.Regexp(t, `^invariant \d+: `, broke)
				} else {
					for _, c := range w.journal {
						if c.After.Kind() == kind && c.Before != nil {
							found[c.Move+": "+stateWord(c.Before)+" -> "+stateWord(c.After)] = true
							require.Equal(t, c.Before.Ver()+1, c.After.Ver())
						}
					}
				}
				w.Drop(tx)
				require.Equal(t, before, w.state.Rows())
			})
		}
	}
	return found
}

// tabled lists the edges that a table of moves says there are.
func tabled[S ~string](moves []Move[S]) map[string]bool {
	all := map[string]bool{}
	for _, m := range moves {
		for _, s := range m.From {
			to := m.To
			if to == "" {
				to = s
			}
			all[m.Name+": "+string(s)+" -> "+string(to)] = true
		}
	}
	return all
}

// same holds the edges that happen against those of the table; others are moves of the row that are no edges.
func same(t *testing.T, want, got map[string]bool, others ...string) {
	t.Helper()
	for e := range want {
		require.True(t, got[e], "in the table, and never happens: %s", e)
	}
	for e := range got {
		name, _, _ := strings.Cut(e, ":")
		require.True(t, want[e] || slices.Contains(others, name), "happens, and is not in the table: %s", e)
	}
}

// proves C-9: the edges of a part are exactly those of the table.
func TestTheMovesOfAPart(t *testing.T) {
	pictures := map[string][]Row{}
	add := func(name string, j *Job, rows ...Row) {
		for _, d := range []term.Disposition{term.DispositionNone, term.DispositionScrap, term.DispositionCancel} {
			n := *j
			n.Disposition = d
			pictures[fmt.Sprint(name, ", ", d)] = aCell(term.OrderRunning, append([]Row{&n, jobRow(term.NotArrived, term.Place{Type: term.Nowhere}, 0)}, rows...)...)
		}
	}
	in := term.SlotPlace("lathe:1")
	add("NOT_ARRIVED", jobRow(term.NotArrived, term.Place{Type: term.Nowhere}, 0))
	add("QUEUED", jobRow(term.Queued, term.DockPlace(1), 3))
	add("WAITING", jobRow(term.Waiting, term.BufferPlace(3), 3))
	add("MOVING from the dock", jobRow(term.Moving, term.DockPlace(1), 3))
	add("MOVING from the buffer", jobRow(term.Moving, term.BufferPlace(3), 3))
	add("MOVING from a slot", jobRow(term.Moving, in, 3), slotRow(1, term.SlotDone, "A.1"))
	add("MOVING in the gripper", jobRow(term.Moving, term.GripperPlace(), 3))
	add("PROCESSING", jobRow(term.Processing, in, 3), slotRow(1, term.SlotOccupied, "A.1"))
	add("WAITING_UNLOAD", jobRow(term.WaitingUnload, in, 3), slotRow(1, term.SlotDone, "A.1"))
	add("WAITING_JUDGEMENT in its slot", jobRow(term.WaitingJudgement, in, 3), slotRow(1, term.SlotDone, "A.1"))
	add("WAITING_JUDGEMENT on the buffer", jobRow(term.WaitingJudgement, term.BufferPlace(3), 3))
	moves := map[string]func(*Tx){
		"arrive":  func(tx *Tx) { tx.ArriveOnPallet("A.1", 1) },
		"reserve": func(tx *Tx) { tx.ReserveBufferPlace("A.1", 4) },
		"claim":   func(tx *Tx) { tx.ClaimJobForAction("A.1", term.TaskMove, "robot", term.OutPlace(term.OutExit), nil) },
		"return":  func(tx *Tx) { tx.ReturnJobToRest("A.1") },
		"grip":    func(tx *Tx) { tx.MoveJobToGripper("A.1", "") },
		"buffer":  func(tx *Tx) { tx.MoveJobToBuffer("A.1") },
		"load":    func(tx *Tx) { tx.MoveJobToEquipment("A.1", "lathe:2") },
		"step":    func(tx *Tx) { tx.CompleteStep("A.1", term.StepResult{}) },
		"work":    func(tx *Tx) { tx.StartSlot("lathe:1", six) },
		"judge":   func(tx *Tx) { tx.AwaitJudgement("A.1", term.StepResult{}) },
		"rework":  func(tx *Tx) { tx.ReworkJob("A.1", 0) },
		"dispose": func(tx *Tx) { tx.DisposeOfJob("A.1", term.DispositionScrap, "x") },
		"finish":  func(tx *Tx) { tx.FinishJob("A.1", term.OutExit) },
	}
	for _, p := range []term.Place{term.DockPlace(1), term.BufferPlace(5), term.GripperPlace(), in, term.SlotPlace("lathe:2")} {
		moves["correct to "+p.String()] = func(tx *Tx) { tx.CorrectJobPlace("A.1", p, false) }
		moves["correct, done, to "+p.String()] = func(tx *Tx) { tx.CorrectJobPlace("A.1", p, true) }
	}
	same(t, tabled(JobMoves()), edges(t, KindJob, pictures, moves))
}

// proves C-9
func TestTheMovesOfAnOrder(t *testing.T) {
	pictures := map[string][]Row{}
	for _, s := range openOrders {
		for n := 1; n <= 2; n++ {
			rows := []Row{jobRow(term.Waiting, term.BufferPlace(1), 1)}
			if n == 2 {
				rows = append(rows, jobRow(term.Waiting, term.BufferPlace(2), 2))
			}
			pictures[fmt.Sprint(s, " with ", n)] = aCell(s, rows...)
		}
	}
	same(t, tabled(OrderMoves()), edges(t, KindOrder, pictures, map[string]func(*Tx){
		"start":   func(tx *Tx) { tx.StartOrder("A") },
		"cancel":  func(tx *Tx) { tx.CancelOrder("A", term.InsideFinish) },
		"claim":   func(tx *Tx) { tx.ClaimJobForAction("A.1", term.TaskMove, "robot", term.OutPlace(term.OutExit), nil) },
		"finish":  func(tx *Tx) { tx.FinishJob("A.1", term.OutExit) },
		"recount": func(tx *Tx) { tx.RecountOrder("A", 0, 0, 0) },
		"all":     func(tx *Tx) { tx.RecountOrder("A", 0, 1, 0) },
	}))
}

// An order whose counters are wrong never ends before its last part, and the recount puts that right.
func TestWrongCountersEndNoOrderEarly(t *testing.T) {
	w := workOn(t, aCell(term.OrderRunning, jobRow(term.Waiting, term.BufferPlace(1), 1), jobRow(term.Waiting, term.BufferPlace(2), 2))...)
	o, _ := w.state.Order("A")
	o.Scrapped = 1 // says that one part is left; there are two
	tx := w.Tx()
	tx.FinishJob("A.1", term.OutExit)
	now, open := tx.State().Order("A")
	require.True(t, open)
	require.Equal(t, 1, now.Left())
	tx.RecountOrder("A", 1, 0, 0)
	tx.FinishJob("A.2", term.OutExit)
	_, open = tx.State().Order("A")
	require.False(t, open)
}

// proves C-9
func TestTheMovesOfATask(t *testing.T) {
	pictures := map[string][]Row{"no task": aCell(term.OrderRunning, jobRow(term.Waiting, term.BufferPlace(1), 1), slotRow(1, term.SlotOccupied, "A.1"))}
	for _, s := range []term.TaskState{term.TaskPending, term.TaskRunning, term.TaskUnknown} {
		k := &Task{ID: "t", Version: 1, Type: term.TaskMove, JobID: "A.1", OrderID: "A", EquipmentID: "robot", State: s, ActionNo: 1, CreatedAt: six}
		if s == term.TaskRunning {
			k.DueAt = six
		}
		pictures[string(s)] = aCell(term.OrderRunning, jobRow(term.Moving, term.BufferPlace(1), 1), k)
	}
	same(t, tabled(TaskMoves()), edges(t, KindTask, pictures, map[string]func(*Tx){
		"start":   func(tx *Tx) { tx.StartMachine("lathe", 1, []int{1}, 0) },
		"doubt":   func(tx *Tx) { tx.DoubtTask("t", "x") },
		"succeed": func(tx *Tx) { tx.FinishTask("t", term.PartAtTo) },
		"fail":    func(tx *Tx) { tx.FailTask("t", term.PartAtFrom, "x") },
		"cancel":  func(tx *Tx) { tx.CancelTask("t", "x") },
	}))
}

// proves C-9 C-12
func TestTheMovesOfASlot(t *testing.T) {
	pictures := map[string][]Row{
		"EMPTY":    aCell(term.OrderRunning, jobRow(term.Moving, term.GripperPlace(), 1)),
		"OCCUPIED": aCell(term.OrderRunning, jobRow(term.Moving, term.GripperPlace(), 1), slotRow(1, term.SlotOccupied, "A.9")),
		"DONE":     aCell(term.OrderRunning, jobRow(term.Moving, term.GripperPlace(), 1), slotRow(1, term.SlotDone, "A.9")),
	}
	same(t, tabled(SlotMoves()), edges(t, KindSlot, pictures, map[string]func(*Tx){
		"load":     func(tx *Tx) { tx.MoveJobToEquipment("A.1", "lathe:1") },
		"start":    func(tx *Tx) { tx.StartSlot("lathe:1", six) },
		"postpone": func(tx *Tx) { tx.PostponeSlot("lathe:1", six, true) },
		"finish":   func(tx *Tx) { tx.FinishSlotIfOccupied("lathe:1") },
		"empty":    func(tx *Tx) { tx.EmptySlot("lathe:1") },
	}))
}

func alarmRow(s term.AlarmState, shelved bool) *Alarm {
	a := &Alarm{ID: "a", Version: 1, Type: term.AlarmFault, Subject: "equipment:lathe", State: s, Text: "x", Count: 1, RaisedAt: six}
	if s == term.AlarmAcknowledged {
		a.AckedBy, a.AckedAt = "kim", six
	}
	if shelved {
		a.ShelvedUntil, a.ShelvedBy, a.ShelveReason = six, "kim", "known"
	}
	return a
}

func TestTheMovesOfAnAlarm(t *testing.T) {
	pictures := map[string][]Row{}
	for _, s := range []term.AlarmState{term.AlarmUnacknowledged, term.AlarmAcknowledged, term.AlarmReturned} {
		for _, shelved := range []bool{false, true} {
			pictures[fmt.Sprint(s, shelved)] = []Row{alarmRow(s, shelved)}
		}
	}
	open := func(tx *Tx) *Alarm { a, _ := tx.State().Alarm("a"); return a }
	same(t, tabled(AlarmMoves()), edges(t, KindAlarm, pictures, map[string]func(*Tx){
		"raise":    func(tx *Tx) { tx.RaiseAlarm(term.AlarmFault, "equipment:lathe", "x") },
		"retext":   func(tx *Tx) { tx.RaiseAlarm(term.AlarmFault, "equipment:lathe", "y") },
		"resolve":  func(tx *Tx) { tx.ResolveAlarm(term.AlarmFault, "equipment:lathe") },
		"ack":      func(tx *Tx) { tx.AcknowledgeAlarm(open(tx), "kim") },
		"shelve":   func(tx *Tx) { tx.ShelveAlarm(open(tx), six.Add(time.Hour), "kim", "known") },
		"unshelve": func(tx *Tx) { tx.UnshelveAlarm(open(tx)) },
	}), "RetextAlarm")
}
