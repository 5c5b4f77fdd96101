package robotrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"surehand/internal/term"
	"surehand/internal/workers"
)

const (
	maxStateBytes = 4 << 10
	maxIDBytes    = 64
	lastPlace     = 1<<16 - 1
)

// Methods of a request.
const (
	methodMove    = "move"
	methodPresent = "present"
	methodPlace   = "place"
	methodVoid    = "void"
	methodRelease = "release"
	methodAsk     = "ask"
)

// request is what we publish.
type request struct {
	Method   string `json:"method"`
	ActionNo uint32 `json:"actionNo,omitempty"`
	From     int    `json:"from,omitempty"`
	To       int    `json:"to,omitempty"`
	NotAfter string `json:"notAfter,omitempty"` // RFC 3339
	Token    string `json:"token"`
}

func (r request) payload() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // a struct of plain values
	}
	return b
}

// command is the request that begins a task, or why it cannot be said on this wire.
func command(t workers.Task) (request, error) {
	r := request{ActionNo: t.ActionNo, From: t.From, To: t.To}
	switch {
	case t.Type != term.TaskMove:
		return r, fmt.Errorf("a robot cannot do %s", t.Type)
	case t.Present && t.FromGripper:
		return r, errors.New("no method of the robot presents a part that it holds already")
	case t.To < 1 || t.To > lastPlace || !t.FromGripper && (t.From < 1 || t.From > lastPlace):
		return r, fmt.Errorf("from %d to %d: numbers of places are 1 to %d", t.From, t.To, lastPlace)
	case t.FromGripper:
		r.Method, r.From = methodPlace, 0
	case t.Present:
		r.Method = methodPresent
	default:
		r.Method = methodMove
	}
	return r, nil
}

// result of the number that the echo names.
type result string

const (
	resultNone  result = "none"
	resultDone  result = "done"
	resultError result = "error"
	resultVoid  result = "void"
)

// state is one state of the robot, whole.
type state struct {
	echo     uint32
	busy     bool
	result   result
	fault    int
	partAt   term.PartAt
	gripper  bool
	position int
	ready    bool
	seq      uint64
	boot     string
	answers  answers
}

// answers names the last request that the robot has looked at.
type answers struct {
	Token   string `json:"token"`
	Refused string `json:"refused"`
}

// shown: an end that nobody has released.
func (s state) shown() bool { return s.result == resultDone || s.result == resultError }

var partsAt = map[string]term.PartAt{"unknown": term.PartUnknown, "from": term.PartAtFrom, "gripper": term.PartGripper, "to": term.PartAtTo}

// parse reads a state. What is missing is not guessed: a state counts as a whole or not at all.
func parse(payload []byte) (state, error) {
	var p struct {
		Echo     *uint32  `json:"echo"`
		Busy     *bool    `json:"busy"`
		Result   *result  `json:"result"`
		Error    *int32   `json:"error"`
		PartAt   *string  `json:"partAt"`
		Gripper  *bool    `json:"gripper"`
		Position *int32   `json:"position"`
		Ready    *bool    `json:"ready"`
		Seq      *uint64  `json:"seq"`
		BootID   *string  `json:"bootId"`
		Answers  *answers `json:"answers"`
	}
	if len(payload) > maxStateBytes {
		return state{}, fmt.Errorf("%d bytes; a state has %d at most", len(payload), maxStateBytes)
	}
	if err := json.Unmarshal(payload, &p); err != nil {
		return state{}, fmt.Errorf("it is not the JSON of a state: %w", err)
	}
	if p.Echo == nil || p.Busy == nil || p.Result == nil || p.PartAt == nil || p.Gripper == nil || p.Ready == nil || p.Seq == nil || p.BootID == nil {
		return state{}, errors.New("echo, busy, result, partAt, gripper, ready, seq and bootId must all be there")
	}
	s := state{echo: *p.Echo, busy: *p.Busy, result: *p.Result, gripper: *p.Gripper, ready: *p.Ready, seq: *p.Seq, boot: *p.BootID}
	if p.Error != nil {
		s.fault = int(*p.Error)
	}
	if p.Position != nil {
		s.position = int(*p.Position)
	}
	if p.Answers != nil {
		s.answers = *p.Answers
	}
	at, known := partsAt[*p.PartAt]
	s.partAt = at
	switch {
	case !known:
		return state{}, errors.New("partAt must be unknown, from, gripper or to")
	case s.result != resultNone && s.result != resultDone && s.result != resultError && s.result != resultVoid:
		return state{}, errors.New("result must be none, done, error or void")
	case (s.result == resultError) != (s.fault != 0):
		return state{}, errors.New("error must be a number other than 0 with the result error, and 0 else")
	case s.boot == "" || len(s.boot) > maxIDBytes:
		return state{}, fmt.Errorf("bootId must be a text of 1 to %d bytes", maxIDBytes)
	}
	return s, nil
}

// words are a text of the robot, fit to be shown.
func words(text string) string {
	const most = 100
	clean := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	if runes := []rune(clean); len(runes) > most {
		return string(runes[:most])
	}
	return clean
}

// untilText is a moment as the robot reads it.
func untilText(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
