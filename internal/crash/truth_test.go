package crash

import (
	"fmt"
	"sort"
	"time"

	"github.com/stretchr/testify/assert"

	"surehand/internal/simulator"
)

// told is what the database says about one command.
type told struct {
	intent, state, serial, endpoint, target string
	possiblyExecuted                        bool
	created, ended                          time.Time
	attempts                                map[int]time.Time // by number: when it was fenced
}

func (w *world) commands() map[string]*told {
	w.t.Helper()
	all := map[string]*told{}
	for _, r := range w.rows(`SELECT command_id, id::text, state, serial, endpoint_id, target_value, possibly_executed::text,
		(extract(epoch FROM created_at) * 1000000)::bigint::text, (extract(epoch FROM coalesce(ended_at, updated_at)) * 1000000)::bigint::text
		FROM automation_command_intents WHERE command_id IS NOT NULL`) {
		all[r[0]] = &told{intent: r[1], state: r[2], serial: r[3], endpoint: r[4], target: r[5], possiblyExecuted: r[6] == "true",
			created: micros(r[7]), ended: micros(r[8]), attempts: map[int]time.Time{}}
	}
	for _, r := range w.rows("SELECT command_id, number::text, (extract(epoch FROM fenced_at) * 1000000)::bigint::text FROM command_attempts") {
		number := 0
		_, _ = fmt.Sscan(r[1], &number)
		all[r[0]].attempts[number] = micros(r[2])
	}
	return all
}

func micros(text string) time.Time {
	var n int64
	_, _ = fmt.Sscan(text, &n) // a bigint as PostgreSQL writes it
	return time.UnixMicro(n)
}

// checkTruth holds the database's word on every command against what its device really did.
func (w *world) checkTruth(truth map[string]simulator.Truth) {
	w.t.Helper()
	said := w.commands()
	for serial, t := range truth {
		assert.Zero(w.t, t.Forgotten, "the truth about %s is whole", serial)
		for id, c := range t.Commands {
			command := said[id]
			if !assert.NotNil(w.t, command, "invariant 1: %s received command %s, which is not in the database", serial, id) {
				continue
			}
			assert.Equal(w.t, serial, command.serial, "command %s went to another device", id)
			w.checkCopies(t.Class, id, c, command)
			w.checkExecutions(t.Class, id, c, command)
		}
	}
	for id, command := range said {
		w.checkEnd(id, command, truth[command.serial])
	}
}

// checkCopies: every copy that arrived belongs to an attempt that was committed before.
func (w *world) checkCopies(class simulator.Class, id string, c simulator.CommandTruth, command *told) {
	w.t.Helper()
	copies := map[int]int{}
	for _, number := range c.Attempts {
		copies[number]++
		_, stored := command.attempts[number]
		assert.True(w.t, stored, "invariant 1: %s received attempt %d of %s, which has no row", command.serial, number, id)
	}
	first := time.Time{}
	for _, at := range command.attempts {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	assert.False(w.t, c.FirstReceived.Before(first), "invariant 1: %s received %s at %s, before the fence at %s", command.serial, id, c.FirstReceived, first)
	for number, n := range copies {
		if class != simulator.ClassA { // QoS 1 may bring a copy twice, QoS 0 must not
			assert.Equal(w.t, 1, n, "attempt %d of %s came %d times to class %s", number, id, n, class)
		}
	}
}

// checkExecutions: invariant 3.
func (w *world) checkExecutions(class simulator.Class, id string, c simulator.CommandTruth, command *told) {
	w.t.Helper()
	switch class {
	case simulator.ClassA:
		assert.LessOrEqual(w.t, c.Executed, 1, "invariant 3: class A %s executed %s %d times", command.serial, id, c.Executed)
	case simulator.ClassB:
		for boot, n := range c.ExecutedByBoot {
			assert.LessOrEqual(w.t, n, 1, "invariant 3: class B %s executed %s %d times in boot %s", command.serial, id, n, boot)
		}
	case simulator.ClassC:
		assert.LessOrEqual(w.t, c.Received, 1, "invariant 3: class C %s received %s %d times", command.serial, id, c.Received)
	}
}

// checkEnd: invariant 4. What is called applied was so; what is called not done was not done.
func (w *world) checkEnd(id string, command *told, t simulator.Truth) {
	w.t.Helper()
	c := t.Commands[id]
	switch {
	case command.state == "applied":
		assert.True(w.t, c.Executed > 0 || held(t, command), "invariant 4: %s %s to %s (%s) is applied; it was not executed and the value did not hold",
			command.endpoint, id, command.target, command.intent)
	case command.state == "failed", command.state == "expired" && !command.possiblyExecuted:
		assert.Zero(w.t, c.Executed, "invariant 4: %s %s to %s (%s) is %s and was executed at %s",
			command.endpoint, id, command.target, command.intent, command.state, c.LastExecuted)
	}
}

// held tells whether the endpoint had the target value at any time of the command's life.
func held(t simulator.Truth, command *told) bool {
	key := command.endpoint[len(command.serial)+1:]
	value := map[string]string{"on": "false", "speed": "0"}[key]
	changes := t.Actuators[key]
	sort.SliceStable(changes, func(a, b int) bool { return changes[a].At.Before(changes[b].At) })
	for _, change := range changes {
		if change.At.After(command.ended) {
			break
		}
		if change.At.After(command.created) && value == command.target {
			return true
		}
		value = fmt.Sprint(change.To)
	}
	return value == command.target
}
