package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/config"
	"surehand/internal/lab"
	"surehand/internal/message"
	"surehand/internal/term"
)

// simulate starts the example's plant and a marker on free ports, with names that say nothing.
func simulate(t *testing.T) *lab.Plant {
	t.Helper()
	file, err := os.ReadFile("../../docs/examples/plant.yaml")
	require.NoError(t, err)
	plant, problems := config.Plant(file)
	require.Empty(t, problems)
	plant.Equipment = append(plant.Equipment, message.ImportEquipment{ID: "laser", Kind: term.KindMarker, Config: term.EquipmentConfig{First: 82}})
	for i := range plant.Equipment {
		e := &plant.Equipment[i]
		e.Config.Driver.Address = "127.0.0.1:0"
		switch e.Kind {
		case term.KindRobot:
			e.ID = "arm"
		case term.KindScanner:
			e.ID = "camera"
		case term.KindMachine:
			e.ID = "scan-" + e.ID
		}
	}
	p, err := lab.Start(lab.Options{Line: &plant, Speed: 1, Pace: lab.Pace{Move: time.Millisecond, Cycle: time.Millisecond}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func told(p *lab.Plant, words string) string {
	var out strings.Builder
	obey(p, &out, strings.Fields(words))
	return out.String()
}

func TestEveryCommandOfTheLineIsAnswered(t *testing.T) {
	p := simulate(t)
	require.Empty(t, told(p, ""))
	for _, c := range []struct{ text, want string }{
		{"arrive", `arrive needs how many parts, not ""`},
		{"arrive 2", "on the dock: 1.1 1.2\n"},
		{"arrive 2", "dock 1 (1) holds 1.1"},
		{"take", `take needs where from, a number of the plant file, not ""`},
		{"take one", `take needs where from, a number of the plant file, not "one"`},
		{"take 1", "taken out: 1.1\n"},
		{"take 1", "no part at"},
		{"move 2", `move needs where to, a number of the plant file, not ""`},
		{"move", `move needs where from`},
		{"move 2 21", "ok\n"},
		{"on cut:scan-mill", "ok\n"},
		{"off cut:scan-mill", "ok\n"},
		{"on restart:laser", "ok\n"},
		{"on stick:arm", "ok\n"},
		{"on freeze:camera", "there is no such fault"}, // it has no program
		{"on cut:robot", "there is no such fault"},     // names are those of the plant file
		{"on", "there is no such fault"},
		{"faults", "  stick:arm"},
		{"faults", "Hangs in the next move, with the part in the gripper  ON"},
		{"show", "parts: buffer"},
		{"help", "Commands, one a line"},
	} {
		require.Contains(t, told(p, c.text), c.want, c.text)
	}
}

// Equipment on a wire that is not simulated is named, and nothing is started.
func TestAWireThatIsNotSimulated(t *testing.T) {
	file, err := os.ReadFile("../../docs/examples/plant.yaml")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "plant.yaml")
	onMQTT := strings.Replace(string(file), `{type: modbus-robot, address: "127.0.0.1:15020", unit: 1, command: 0, status: 100}`, "{type: mqtt-robot}", 1)
	require.NoError(t, os.WriteFile(path, []byte(onMQTT), 0o600))
	err = (&lineCommand{Plant: path, Speed: 1}).Run()
	require.ErrorContains(t, err, "plant.yaml:")
	require.ErrorContains(t, err, ": robot has driver mqtt-robot, which is not simulated")
}

// What is switched reaches the wire of the equipment that it names.
func TestAFaultReachesTheWire(t *testing.T) {
	p := simulate(t)
	camera := p.World.Scanner("camera")
	told(p, "on cut:camera")
	c, err := net.Dial("tcp", camera.Address())
	if err == nil {
		_ = c.Close()
	}
	require.Error(t, err)
	told(p, "off cut:camera")
	told(p, "on noread:camera")
	c, err = net.Dial("tcp", camera.Address())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(c, "TRIG\n")
	require.NoError(t, err)
	answer, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "NOREAD\n", answer)
}
