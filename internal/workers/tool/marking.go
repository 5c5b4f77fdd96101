package tool

import (
	"fmt"
	"strconv"
	"strings"

	"surehand/internal/term"
	"surehand/internal/workers"
)

// state is the first word of a marker's answer: what became of the number behind it.
type state string

const (
	stateDone    state = "DONE"    // it is on the part
	stateFailed  state = "FAIL"    // it surely is not, and a reason follows
	stateVoid    state = "VOID"    // it was withdrawn before it began, and can begin no more
	stateBusy    state = "BUSY"    // it is being marked
	stateUnknown state = "UNKNOWN" // it was interrupted; 0: the marker has lost its memory
	stateNone    state = "NONE"    // surely nothing was ever marked under a number; none follows
	stateOld     state = "OLD"     // the last number, which the one asked for is not newer than
)

// answer of a marker.
type answer struct {
	state  state
	no     uint32
	reason string
}

func (a answer) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", a.state, a.no, a.reason))
}

// parse takes a line for an answer. Anything else says nothing about any number.
func parse(line string) (answer, error) {
	word, rest, _ := strings.Cut(line, " ")
	a := answer{state: state(word)}
	switch a.state {
	case stateNone:
		if rest == "" {
			return a, nil
		}
	case stateDone, stateFailed, stateVoid, stateBusy, stateUnknown, stateOld:
		digits, reason, more := strings.Cut(rest, " ")
		no, err := strconv.ParseUint(digits, 10, 32)
		if err == nil && digits[0] != '+' && (no != 0 || a.state == stateUnknown) && (!more || a.state == stateFailed) {
			a.no, a.reason = uint32(no), reason
			return a, nil
		}
	}
	return answer{}, fmt.Errorf("the answer %q means nothing", line)
}

// reading is what an answer to LAST or VOID says.
func (a answer) reading() term.Reading {
	return term.Reading{Reached: true, Ready: true, Echo: a.no, Busy: a.state == stateBusy, Ended: a.state == stateDone,
		Failed: a.state == stateFailed, Void: a.state == stateVoid}
}

// before tells whether a marker whose last number is a.no may still begin number no.
func (a answer) before(no uint32) bool { return term.MayBegin(a.no, no) }

// forgets tells whether this answer knows less than an earlier one: the marker has lost its memory, so that it says
// nothing about the numbers since.
func (a answer) forgets(earlier uint32) bool {
	return earlier != 0 && a.no != earlier && a.before(earlier)
}

// older says that the marker takes no such number.
func (a answer) older(t workers.Task) error {
	return fmt.Errorf("number %d is not newer than %d, which the marker knows; if somebody else gave it that, let the cell be compared", t.ActionNo, a.no)
}

// own is how the marker's answer to MARK ends the mark; ok is false when it does not. That this very number is old says
// that the marker has had it already, as behind a gateway that repeats a request: it may be on the part.
func (a answer) own(t workers.Task) (e workers.Ending, ok bool) {
	switch {
	case a.state == stateDone && a.no == t.ActionNo:
		return workers.Happened(term.PartGripper), true
	case a.state == stateFailed && a.no == t.ActionNo:
		return workers.NotBegun(t, "the marker failed and did not mark the part: "+a.reason), true
	case a.state == stateOld && a.no != t.ActionNo && !a.before(t.ActionNo):
		return workers.NotBegun(t, a.older(t).Error()), true
	case a.state == stateBusy && a.no != t.ActionNo:
		return workers.NotBegun(t, fmt.Sprintf("the marker is busy with number %d", a.no)), true
	}
	return e, false
}

// later is how an answer to LAST or VOID ends a mark that may have begun; ok is false when it may still go on or begin.
func (a answer) later(t workers.Task, why string) (e workers.Ending, ok bool) {
	switch {
	case a.no == t.ActionNo && a.state == stateVoid:
		return workers.NotBegun(t, why+"; it was withdrawn before the marker began it"), true
	case a.no == t.ActionNo && a.state == stateUnknown:
		return workers.InDoubt(why + "; the marker was interrupted and does not know"), true
	case a.no == t.ActionNo && a.state != stateBusy:
		return a.own(t)
	case a.no != t.ActionNo && !a.before(t.ActionNo):
		return workers.InDoubt(fmt.Sprintf("%s; the marker has gone on to number %d", why, a.no)), true
	}
	return e, false
}
