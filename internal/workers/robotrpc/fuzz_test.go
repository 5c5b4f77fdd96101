package robotrpc

import (
	"testing"

	"surehand/internal/term"
	"surehand/internal/workers"
)

// Whatever comes as a state is refused or is whole; nothing breaks, and no end is made up.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"echo":7,"busy":false,"result":"done","error":0,"partAt":"to","gripper":false,"position":3,"ready":true,"answers":{"token":"t"},"seq":9,"bootId":"b"}`))
	f.Add([]byte(`{"echo":4294967295,"busy":true,"result":"none","partAt":"unknown","gripper":true,"ready":false,"seq":18446744073709551615,"bootId":"b"}`))
	f.Add([]byte(`{"echo":7,"busy":false,"result":"error","error":-1,"partAt":"from","gripper":false,"ready":true,"seq":0,"bootId":"b","answers":null}`))
	f.Add([]byte(`{"echo":7,"echo":8}`))
	f.Add([]byte(`[[[[`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		s, err := parse(payload)
		if err != nil {
			if s != (state{}) {
				t.Errorf("refused, and %+v", s)
			}
			return
		}
		var r term.Reading
		s.fill(&r)
		task := move7()
		e, over := workers.Concluded(task.Perform, r)
		if over && e.Outcome == term.Done && (s.echo != 7 || s.busy || s.result != resultDone) {
			t.Errorf("%+v ended %+v", s, e)
		}
		if shown := words(s.answers.Refused); len(shown) > 4*100 {
			t.Errorf("%d bytes of the robot's words are shown", len(shown))
		}
		a := &action{task: task, echo: 6, boot: s.boot}
		a.see(s)
		if a.over && a.ending.Outcome == term.NotDone && s.result != resultVoid && s.result != resultError {
			t.Errorf("%+v ended %+v", s, a.ending)
		}
	})
}

func move7() (t workers.Task) {
	t.Type, t.ActionNo = term.TaskMove, 7
	return t
}
