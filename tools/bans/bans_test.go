package bans_test

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"surehand/tools/bans"
)

// Each package in testdata holds, for every ban, a line that breaks it (marked
// "want") and the legal way to say the same.
func TestBans(t *testing.T) {
	for _, path := range []string{
		"surehand/internal/plant",         // a decider
		"surehand/internal/loop",          // the loop and its edges
		"surehand/internal/loop/looptest", // free of the loop's rules
		"surehand/internal/workers",       // any other package
		"surehand/cmd/surehand",           // a command
	} {
		t.Run(path, func(t *testing.T) {
			analysistest.Run(t, analysistest.TestData(), bans.Analyzer, path)
		})
	}
}
