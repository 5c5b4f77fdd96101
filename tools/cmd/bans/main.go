// Command bans reports what this repository does not allow itself; see package
// bans. Run it in the repository's root: bans ./...
package main

import (
	"golang.org/x/tools/go/analysis/singlechecker"

	"surehand/tools/bans"
)

func main() { singlechecker.Main(bans.Analyzer) }
