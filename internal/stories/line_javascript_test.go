package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// linePlant is the line of testdata/line.mjs.
const linePlant = `
cell: {name: line-js, dock: {places: 3, first: 1}, buffer: {places: 3, first: 21}, exit: 90}
equipment:
  - id: mill
    kind: machine
    first: 41
    driver: {type: opcua-machine, address: "opc.tcp://127.0.0.1:%d", namespace: "urn:example:line", node: Mill, poll: 20ms, stale: 10s, timeout: 5s}
  - {id: robot, kind: robot, driver: {type: mqtt-robot, topic: line/robot, stale: 10s}}
routes:
  - {id: lid, steps: [{machine: mill, program: 12, expected: 1s, timeout: 2m}]}
`

// A machine on OPC UA and a robot on MQTT, both of another language, make an order although the process is killed with a part
// in the gripper: nothing is done twice, and nothing is guessed. proves C-5, C-13, X-1
func TestLineOfOPCUAAndMQTTMakesAnOrderOverAKill(t *testing.T) {
	t.Parallel()
	dir := npm(t, "mqtt@5 node-opcua-server@2.182.2", "line.mjs")
	s := prepare(t)
	js := world(t, dir, "line.mjs", s.broker.URL(), "line/robot", dir)
	s.start()
	s.tellOnFailure(js)
	s.post("plant", "application/yaml", fmt.Sprintf(linePlant, js.ports["mill"]))
	until(t, "the line is compared", func() bool { return s.tries("recovery/confirm", `{"reason":"first look"}`) })

	const parts = 3
	js.asks(map[string]any{"arrive": parts, "hold": 3})
	s.post("orders", "application/json", `{"id":"WO-1","route":"lid","quantity":3}`)
	s.post("orders/WO-1/pallets", "application/json", `{"pallet":"P-1","quantity":3}`)
	s.post("orders/WO-1/start", "application/json", ``)
	look := map[string]any{"truth": true}
	until(t, "the robot stands still with a part", func() bool { return js.asks(look).Holding != 0 })
	s.Kill()

	// The next life finds an action in doubt. It begins nothing, and asks; it asks on when the robot has ended the action.
	s.start()
	tells := func(words string) func() bool {
		return func() bool {
			out, err := s.surehand("recovery", "list")
			require.NoError(t, err, out)
			return strings.Contains(out, words)
		}
	}
	until(t, "it asks", tells("action_unknown"))
	before := js.asks(map[string]any{"go": true})
	until(t, "the evidence speaks for done", tells("\n * done"))
	require.Equal(t, before.Commands, js.asks(look).Commands, "while it asks, nothing is begun")
	until(t, "the answer is taken", func() bool {
		_, err := s.surehand("recovery", "answer", "only", "done", "--reason", "I looked, the part is there", "--yes")
		return err == nil // refused while a signal has just changed
	})
	until(t, "the recovery is confirmed", func() bool { return s.tries("recovery/confirm", `{"reason":"I looked at the line"}`) })
	var w workOrder
	until(t, "the order is completed", func() bool {
		w = ask[workOrder](s, "/api/v1/orders/WO-1")
		return w.State == "completed"
	})
	require.Equal(t, workOrder{State: "completed", Planned: parts, Completed: parts}, w)

	truth := js.asks(look)
	require.Empty(t, truth.Violations)
	require.Len(t, truth.Parts, parts)
	for _, p := range truth.Parts {
		require.Equal(t, "exit", p.At)
		inOrder(t, p.History, "mill", "mill starts", "mill ends", "exit")
	}
	// Each number was begun once, by the equipment that Surehand meant, and means there what it says here. What it does not
	// call done, such as a start that was under way at the kill and was proven not to have begun, was not begun.
	var meant, begun []action
	for _, a := range ask[list[action]](s, "/api/v1/tasks?limit=500").Items {
		if a.State == "SUCCEEDED" {
			meant = append(meant, action{EquipmentID: a.EquipmentID, ActionNo: a.ActionNo, Slot: a.Slot, Program: a.Program})
		}
	}
	for _, c := range truth.Commands {
		if c.Begun { // a copy of a request may come, and begins nothing
			begun = append(begun, action{EquipmentID: c.Who, ActionNo: c.Number, Slot: c.Slot, Program: c.Program})
		}
	}
	require.ElementsMatch(t, meant, begun)
}
