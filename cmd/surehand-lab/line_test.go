package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"surehand/internal/config"
	"surehand/internal/message"
	"surehand/internal/term"
)

// simulate starts the example's plant on free ports, with names that say nothing.
func simulate(t *testing.T) *simulated {
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
	s, err := (&lineCommand{Move: time.Millisecond, Cycle: time.Millisecond, Speed: 1}).start(plant)
	require.NoError(t, err)
	t.Cleanup(s.world.Close)
	return s
}

func (s *simulated) told(words string) string {
	var out strings.Builder
	s.obey(&out, strings.Fields(words))
	return out.String()
}

func TestNamesAreThoseOfThePlantFile(t *testing.T) {
	s := simulate(t)
	for _, words := range []string{"cut arm", "restore arm", "freeze scan-mill", "thaw scan-mill", "restart scan-mill", "cut scan-mill", "restore scan-mill",
		"cut camera", "restore camera", "noread", "noread camera",
		"cut laser", "restore laser", "restart laser", "failmark", "losemark"} {
		require.Equal(t, "ok\n", s.told(words), words)
	}
	for words, want := range map[string]string{
		"freeze camera":  "camera is a scanner and has no program to freeze",
		"thaw camera":    "camera is a scanner and has no program to thaw",
		"restart camera": "camera is a scanner and has no program to restart",
		"cut robot":      `"robot" is none of: arm, scan-lathe, scan-mill, scan-oven, camera, laser`,
		"freeze laser":   "laser is a marker and has no program to freeze",
		"cut":            `"" is none of`,
		"noread arm":     `"arm" is none of: camera`,
		"help":           "Commands, one a line",
	} {
		require.Contains(t, s.told(words), want, words)
	}
}

func TestAScannerThatIsCutStaysCut(t *testing.T) {
	s := simulate(t)
	camera := s.world.Scanner("camera")
	s.told("cut camera")
	for _, words := range []string{"freeze camera", "thaw camera", "restart camera"} {
		s.told(words)
		c, err := net.Dial("tcp", camera.Address())
		if err == nil {
			_ = c.Close()
		}
		require.Error(t, err, words)
	}
	s.told("restore camera")
	c, err := net.Dial("tcp", camera.Address())
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

func TestNoReadStrikesTheScannerOfThePlant(t *testing.T) {
	s := simulate(t)
	s.told("noread")
	camera := s.world.Scanner("camera")
	c, err := net.Dial("tcp", camera.Address())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(c, "TRIG\n")
	require.NoError(t, err)
	answer, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "NOREAD\n", answer)
}
