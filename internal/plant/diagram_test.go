package plant_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

var update = flag.Bool("update", false, "write docs/commands.md anew")

// meanings are what a person reads; the doc comments of the states say the same at length.
var meanings = map[term.CommandState]string{
	term.PendingDispatch: "decided and stored; waits for a gate, or is being sent",
	term.Dispatched:      "the broker acknowledged the publish, or it was written to the socket",
	term.Acknowledged:    "the device itself accepted this command id",
	term.Retrying:        "the last attempt brought nothing; the next waits for its time",
	term.Applied:         "end: the target was proven after the fence; the evidence is stored",
	term.Failed:          "end: surely no effect can still come",
	term.Expired:         "end: budget or deadline over and no signal came; `possiblyExecuted` tells whether an attempt had left",
	term.Uncertain:       "it may have run and proof is missing; left by evidence or a person",
}

// The drawing in docs/commands.md is made from the table of moves, so that it cannot be wrong.
func TestDrawing(t *testing.T) {
	const file = "../../docs/commands.md"
	drawn := draw()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(drawn), 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, drawn, string(have), "write it anew: go test ./internal/plant -run Drawing -update")
}

func draw() string {
	var b strings.Builder
	b.WriteString("# The states of a command\n\nGenerated from the table of moves in `internal/plant/moves_command.go`.\n\n")
	b.WriteString("| state | what is true |\n|---|---|\n")
	for _, s := range term.CommandStates() {
		b.WriteString("| " + string(s) + " | " + meanings[s] + " |\n")
	}
	b.WriteString("\n```mermaid\nstateDiagram-v2\n  [*] --> pending_dispatch: CreateIntent\n")
	for _, m := range plant.CommandMoves() {
		for _, from := range m.From {
			if m.To != "" && m.To != from {
				b.WriteString("  " + string(from) + " --> " + string(m.To) + ": " + m.Name + "\n")
			}
		}
	}
	for _, s := range term.CommandStates() {
		if s.Ended() {
			b.WriteString("  " + string(s) + " --> [*]\n")
		}
	}
	b.WriteString("```\n\nMoves that keep the state:\n\n| move | in |\n|---|---|\n")
	for _, m := range plant.CommandMoves() {
		if m.To == "" {
			var from []string
			for _, s := range m.From {
				from = append(from, string(s))
			}
			b.WriteString("| " + m.Name + " | " + strings.Join(from, ", ") + " |\n")
		}
	}
	return b.String()
}
