// Package bans is our own static check: things that compile, that common linters
// accept, and that break a promise of Surehand all the same.
//
// It owns two sets of rules. Everywhere: no printing outside commands, no
// sleeping in tests, no shared random source. In the packages that decide, and
// in the loop: no wall clock, no randomness, no order that changes from run to
// run, no second goroutine, because the same seed must give the same trace.
//
// It must never judge style, and has no way to silence a line: a rule with
// exceptions is a rule to be written better. Who may import whom is checked by
// internal/house.
package bans

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/types/typeutil"
)

// Analyzer reports every banned use.
var Analyzer = &analysis.Analyzer{
	Name:     "bans",
	Doc:      "report what breaks Surehand's promises: wall clock, randomness, map order and goroutines in deciders, printing, sleeping tests",
	Requires: []*analysis.Analyzer{inspect.Analyzer},
	Run:      run,
}

const loopPackage = "surehand/internal/loop"

// deciders are the packages of level 2 and below.
var deciders = []string{
	"surehand/internal/term", "surehand/internal/plant", "surehand/internal/message",
	"surehand/internal/automation", "surehand/internal/production",
	"surehand/internal/scheduler", "surehand/internal/recovery",
}

// loopEdges are the files in which the loop meets other goroutines.
var loopEdges = []string{"run.go", "inbox.go"}

// checker looks at one package. The fields about the file are set anew for each.
type checker struct {
	*analysis.Pass
	path         string
	isTest       bool // a _test.go file
	mustBeSame   bool // same input, same decision: a decider or the loop
	mayTalk      bool // goroutines and channels are allowed here
	insideSample bool // an Example function, whose output is the test
}

func run(pass *analysis.Pass) (any, error) {
	c := &checker{Pass: pass, path: packagePath(pass.Pkg.Path())}
	visit := pass.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	visit.Nodes(nil, func(n ast.Node, push bool) bool {
		switch n := n.(type) {
		case *ast.File:
			if push {
				c.enterFile(n)
			}
		case *ast.FuncDecl:
			c.insideSample = push && c.isTest && strings.HasPrefix(n.Name.Name, "Example")
		}
		if push {
			c.check(n)
		}
		return true
	})
	return nil, nil
}

// packagePath makes the path of a test variant that of the package it tests.
func packagePath(path string) string {
	path, _, _ = strings.Cut(path, " [")
	return strings.TrimSuffix(strings.TrimSuffix(path, ".test"), "_test")
}

func (c *checker) enterFile(file *ast.File) {
	name := filepath.Base(c.Fset.Position(file.FileStart).Filename)
	c.isTest = strings.HasSuffix(name, "_test.go")
	c.mustBeSame = !c.isTest && (c.path == loopPackage || slices.Contains(deciders, c.path))
	c.mayTalk = !c.mustBeSame || c.path == loopPackage && slices.Contains(loopEdges, name)
}

func (c *checker) check(n ast.Node) {
	switch n := n.(type) {
	case *ast.Ident:
		c.checkUse(n)
	case *ast.RangeStmt:
		c.checkRange(n)
	case *ast.GoStmt:
		c.talks(n, "a go statement")
	case *ast.SendStmt:
		c.talks(n, "a channel send")
	case *ast.SelectStmt:
		c.talks(n, "a select")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			c.talks(n, "a channel receive")
		}
	case *ast.CallExpr:
		c.checkBuiltin(n)
	}
}

// checkUse judges functions and types by what they are, not by how they are
// written: renamed and dot imports are seen, and methods of the same name are not.
func (c *checker) checkUse(id *ast.Ident) {
	object := c.TypesInfo.Uses[id]
	if object == nil || object.Pkg() == nil || object.Parent() != object.Pkg().Scope() {
		return
	}
	name := object.Name()
	switch object.Pkg().Path() {
	case "time":
		c.checkTime(id, name)
	case "math/rand", "math/rand/v2":
		_, isFunction := object.(*types.Func)
		switch {
		case c.mustBeSame:
			c.Reportf(id.Pos(), "rand.%s: randomness is an argument here, never made", name)
		case isFunction && !strings.HasPrefix(name, "New"):
			c.Reportf(id.Pos(), "rand.%s draws from the shared source, which no seed can replay: use rand.New with a source of your own", name)
		}
	case "crypto/rand":
		if c.mustBeSame {
			c.Reportf(id.Pos(), "rand.%s: randomness is an argument here, never made", name)
		}
	case "sync":
		if c.mustBeSame && slices.Contains([]string{"Mutex", "RWMutex", "Locker", "Cond", "Map"}, name) {
			c.Reportf(id.Pos(), "sync.%s: one goroutine owns this state, so there is nothing to lock", name)
		}
	case "fmt":
		if strings.HasPrefix(name, "Print") {
			c.prints(id, "fmt."+name)
		}
	}
}

func (c *checker) checkTime(id *ast.Ident, name string) {
	clock := []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "NewTimer", "NewTicker", "Tick"}
	switch {
	case c.mustBeSame && slices.Contains(clock, name):
		c.Reportf(id.Pos(), "time.%s: time is an argument here, stamped once per turn of the loop", name)
	case c.isTest && name == "Sleep":
		c.Reportf(id.Pos(), "time.Sleep in a test is slow on a fast machine and wrong on a slow one: wait for a signal, or use testing/synctest")
	}
}

func (c *checker) prints(n ast.Node, what string) {
	if strings.HasPrefix(c.path, "surehand/cmd/") || c.insideSample {
		return
	}
	c.Reportf(n.Pos(), "%s writes to the terminal of whoever runs this: log with slog, or take an io.Writer", what)
}

// checkRange sees a map behind a named type or a type parameter, and the
// iterators of package maps, whose order is just as random.
func (c *checker) checkRange(n *ast.RangeStmt) {
	if !c.mustBeSame {
		return
	}
	t := c.TypesInfo.TypeOf(n.X)
	switch {
	case rangesOver(t, func(u types.Type) bool { _, ok := u.(*types.Map); return ok }):
		c.Reportf(n.Pos(), "ranging over a map gives another order in every run: keep a sorted slice, or range over slices.Sorted(maps.Keys(m))")
	case rangesOver(t, func(u types.Type) bool { _, ok := u.(*types.Chan); return ok }):
		c.talks(n, "ranging over a channel")
	case c.mapsIterator(n.X):
		c.Reportf(n.Pos(), "ranging over an iterator of package maps gives another order in every run: range over slices.Sorted(maps.Keys(m))")
	}
}

// rangesOver asks about a type, and about each type that a type parameter allows.
func rangesOver(t types.Type, is func(types.Type) bool) bool {
	if t == nil {
		return false
	}
	constraint, ok := t.Underlying().(*types.Interface)
	if !ok {
		return is(t.Underlying())
	}
	for i := range constraint.NumEmbeddeds() {
		switch e := constraint.EmbeddedType(i).(type) {
		case *types.Union:
			for j := range e.Len() {
				if is(e.Term(j).Type().Underlying()) {
					return true
				}
			}
		default:
			if is(e.Underlying()) {
				return true
			}
		}
	}
	return false
}

func (c *checker) mapsIterator(x ast.Expr) bool {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := typeutil.Callee(c.TypesInfo, call).(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Path() == "maps" && slices.Contains([]string{"Keys", "Values", "All"}, f.Name())
}

func (c *checker) checkBuiltin(call *ast.CallExpr) {
	builtin, ok := typeutil.Callee(c.TypesInfo, call).(*types.Builtin)
	if !ok {
		return
	}
	switch builtin.Name() {
	case "print", "println":
		c.prints(call, builtin.Name())
	case "make":
		if _, ok := c.TypesInfo.TypeOf(call).Underlying().(*types.Chan); ok {
			c.talks(call, "making a channel")
		}
	case "close":
		c.talks(call, "closing a channel")
	}
}

// talks reports what only the edges of the loop may do.
func (c *checker) talks(n ast.Node, what string) {
	if c.mayTalk {
		return
	}
	if c.path == loopPackage {
		c.Reportf(n.Pos(), "%s: the loop meets other goroutines only in %s", what, strings.Join(loopEdges, " and "))
		return
	}
	c.Reportf(n.Pos(), "%s: a decider is a function of its arguments, run by one goroutine", what)
}
