package plant_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

// The drawings in docs/cell-states.md are made from the tables of moves, and what is said of each state from its
// comment in package term.
func TestDrawingOfTheCell(t *testing.T) {
	const file = "../../docs/cell-states.md"
	says := stateComments(t)
	var b strings.Builder
	b.WriteString("# The states of the cell\n\nGenerated from the tables of moves in `internal/plant/moves_cell.go` and the comments in `internal/term`.\n" +
		"Each state says what is true, who moves it on, and what a crash leaves there. Why something does not run is a hold beside the state.\n")
	drawEntity(t, &b, says, "A part (job)", term.JobState("").Values(), term.JobState.Ended, "NOT_ARRIVED: CreateJob", plant.JobMoves())
	drawEntity(t, &b, says, "An order", term.OrderState("").Values(), term.OrderState.Ended, "draft: CreateOrder", plant.OrderMoves())
	drawEntity(t, &b, says, "An action (task)", term.TaskState("").Values(), term.TaskState.Ended, "PENDING: CreateTask", plant.TaskMoves())
	drawEntity(t, &b, says, "A slot of a machine", term.SlotState("").Values(), func(term.SlotState) bool { return false }, "EMPTY: CreateSlot", plant.SlotMoves())
	drawEntity(t, &b, says, "An alarm", term.AlarmState("").Values(), func(s term.AlarmState) bool { return s == term.AlarmNormal }, "unacknowledged: RaiseAlarm", plant.AlarmMoves())
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(have), "write it anew: go test ./internal/plant -run Drawing -update")
}

func drawEntity[S ~string](t *testing.T, b *strings.Builder, says map[string]string, title string, states []string, ended func(S) bool, begin string, moves []plant.Move[S]) {
	fmt.Fprintf(b, "\n## %s\n\n| state | |\n|---|---|\n", title)
	for _, s := range states {
		text := says[fmt.Sprintf("%T %s", S(""), s)]
		require.NotEmpty(t, text, "%T %s has no comment", S(""), s)
		fmt.Fprintf(b, "| %s | %s |\n", s, text)
	}
	fmt.Fprintf(b, "\n```mermaid\nstateDiagram-v2\n  [*] --> %s\n", begin)
	kept := map[string][]string{}
	var names []string
	for _, m := range moves {
		for _, from := range m.From {
			if m.To != "" && m.To != from {
				fmt.Fprintf(b, "  %s --> %s: %s\n", from, m.To, m.Name)
				continue
			}
			if kept[m.Name] == nil {
				names = append(names, m.Name)
			}
			kept[m.Name] = append(kept[m.Name], string(from))
		}
	}
	for _, s := range states {
		if ended(S(s)) {
			fmt.Fprintf(b, "  %s --> [*]\n", s)
		}
	}
	b.WriteString("```\n")
	if len(names) > 0 {
		b.WriteString("\n| keeps the state | in |\n|---|---|\n")
	}
	for _, n := range names {
		fmt.Fprintf(b, "| %s | %s |\n", n, strings.Join(kept[n], ", "))
	}
}

// stateComments reads what package term says of each state: by type and value.
func stateComments(t *testing.T) map[string]string {
	says := map[string]string{}
	var decls []ast.Decl
	for _, file := range []string{"cell.go", "task.go", "question.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), "../term/"+file, nil, parser.ParseComments)
		require.NoError(t, err)
		decls = append(decls, f.Decls...)
	}
	for _, d := range decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			of, ok := v.Type.(*ast.Ident)
			if !ok || v.Doc == nil {
				continue
			}
			value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			text := strings.Join(strings.Fields(v.Doc.Text()), " ")
			says["term."+of.Name+" "+value] = strings.Replace(strings.TrimLeft(strings.TrimPrefix(text, v.Names[0].Name), ": "), "(end): ", "end: ", 1)
		}
	}
	return says
}
