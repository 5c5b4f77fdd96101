package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryCommandOfTheLineIsAnswered(t *testing.T) {
	s := simulate(t)
	require.Empty(t, s.told(""))
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
		{"cut scan-mill", "ok\n"},
		{"restore scan-mill", "ok\n"},
		{"freeze arm", "ok\n"},
		{"thaw arm", "ok\n"},
		{"restart scan-lathe", "ok\n"},
		{"cut mil", `"mil" is none of`},
		{"stick", "ok\n"},
		{"free", "ok\n"},
		{"fail", "ok\n"},
		{"noread", "ok\n"},
		{"show", "parts: buffer"},
		{"help", "Commands, one a line"},
	} {
		require.Contains(t, s.told(c.text), c.want, c.text)
	}
}
