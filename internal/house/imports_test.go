package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "surehand"

// goPackage is the part of "go list -json" that is needed here. Imports leaves
// test files out and follows the default build tags.
type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
	Error      *struct{ Err string }
}

// short gives a package of ours relative to the module, false for all others.
func short(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Deps,Error", "./...")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -buildvcs=false")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	require.NoError(t, err, problems.String())
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else {
			require.NoError(t, err)
		}
		packages = append(packages, p)
	}
}

func TestImportsOfOurOwnPackages(t *testing.T) {
	packages := listPackages(t)
	require.NotEmpty(t, packages)
	for _, p := range packages {
		for _, problem := range problemsOf(p) {
			t.Error(problem)
		}
	}
}

// problemsOf checks one package against all three rules.
func problemsOf(p goPackage) []string {
	name, ours := short(p.ImportPath)
	if !ours {
		return nil
	}
	if p.Error != nil && !strings.Contains(p.Error.Err, "no non-test Go files") {
		return []string{fmt.Sprintf("%s can not be read: %s", name, p.Error.Err)}
	}
	edges, known := allowedFrom(name)
	if !known {
		return []string{fmt.Sprintf("package %s is not in the allow list: add it to internal/house/allowed_test.go with what it may import and why", name)}
	}
	var problems []string
	for _, path := range p.Imports {
		target, ours := short(path)
		switch {
		case ours && !permits(edges, target):
			problems = append(problems, fmt.Sprintf("%s imports %s, which is not in the allow list: "+
				"move the code to where it belongs, or add the edge with its reason to internal/house/allowed_test.go", name, target))
		case !ours && slices.Contains(pure, name):
			if banned, why := impureImport(path); banned {
				problems = append(problems, fmt.Sprintf("%s imports %s: %s", name, path, why))
			}
		}
	}
	if name == "cmd/surehand" {
		for _, dep := range p.Deps {
			if dep == "testing" {
				problems = append(problems, "the product binary reaches package testing: some package of ours that only tests may use is wired into it")
			}
			if target, ours := short(dep); ours && slices.Contains(notInProduct, target) {
				problems = append(problems, fmt.Sprintf("the product binary reaches %s, which is for the lab and for tests only", target))
			}
		}
	}
	return problems
}

// allowedFrom prefers the package's own line to one that ends in "/...".
func allowedFrom(name string) (map[string]string, bool) {
	if edges, ok := allowed[name]; ok {
		return edges, true
	}
	for pattern, edges := range allowed {
		if below(pattern, name) {
			return edges, true
		}
	}
	return nil, false
}

func permits(edges map[string]string, target string) bool {
	if _, ok := edges[target]; ok {
		return true
	}
	for pattern := range edges {
		if below(pattern, target) {
			return true
		}
	}
	return false
}

func below(pattern, name string) bool {
	root, isTree := strings.CutSuffix(pattern, "...")
	return isTree && strings.HasPrefix(name, root)
}

func impureImport(path string) (bool, string) {
	for banned, why := range impure {
		if path == banned || strings.HasPrefix(path, banned+"/") {
			return true, why
		}
	}
	return false, ""
}

func TestEveryEdgeHasAReasonAndIsUsed(t *testing.T) {
	packages := listPackages(t)
	for from, edges := range allowed {
		for to, reason := range edges {
			require.NotEmpty(t, reason, "%s -> %s", from, to)
			require.True(t, uses(packages, from, to), "nothing of %s imports %s any more: take the edge out of internal/house/allowed_test.go", from, to)
		}
	}
}

// uses tells whether an edge of the table stands for an import that there is.
func uses(packages []goPackage, from, to string) bool {
	for _, p := range packages {
		name, ours := short(p.ImportPath)
		if !ours || name != from && !below(from, name) {
			continue
		}
		for _, path := range p.Imports {
			if target, ours := short(path); ours && (target == to || below(to, target)) {
				return true
			}
		}
	}
	return false
}

// The checker is shown packages that do not exist, one per rule.
func TestTheCheckerFindsWhatItShould(t *testing.T) {
	for _, c := range []struct {
		what string
		p    goPackage
		want string // "" for legal
	}{
		{"a package nobody thought of", goPackage{ImportPath: "surehand/internal/helpers"}, "not in the allow list"},
		{"the law reads the database", goPackage{ImportPath: "surehand/internal/plant", Imports: []string{"surehand/internal/dbstate"}}, "imports internal/dbstate"},
		{"the loop knows a worker", goPackage{ImportPath: "surehand/internal/loop", Imports: []string{"surehand/internal/workers"}}, "imports internal/workers"},
		{"the API writes", goPackage{ImportPath: "surehand/api", Imports: []string{"surehand/internal/dbstate"}}, "imports internal/dbstate"},
		{"the schema knows the law", goPackage{ImportPath: "surehand/ent/schema", Imports: []string{"surehand/internal/plant"}}, "imports internal/plant"},
		{"a decider waits", goPackage{ImportPath: "surehand/internal/automation", Imports: []string{"context"}}, "imports context"},
		{"a decider listens", goPackage{ImportPath: "surehand/internal/automation", Imports: []string{"net/http"}}, "imports net/http"},
		{"a decider rolls dice", goPackage{ImportPath: "surehand/internal/scheduler", Imports: []string{"math/rand/v2"}}, "imports math/rand/v2"},
		{"a decider logs", goPackage{ImportPath: "surehand/internal/automation", Imports: []string{"log/slog"}}, "imports log/slog"},
		{"the product brings a simulator", goPackage{ImportPath: "surehand/cmd/surehand", Deps: []string{"surehand/internal/simulator"}}, "reaches internal/simulator"},
		{"the product brings test code", goPackage{ImportPath: "surehand/cmd/surehand", Deps: []string{"fmt", "testing"}}, "reaches package testing"},
		{"a package that does not build", goPackage{ImportPath: "surehand/api", Error: &struct{ Err string }{"import cycle"}}, "can not be read"},

		{"the law uses its words", goPackage{ImportPath: "surehand/internal/plant", Imports: []string{"surehand/internal/term", "time", "slices", "errors"}}, ""},
		{"generated code", goPackage{ImportPath: "surehand/ent/order", Imports: []string{"surehand/ent/predicate", "context"}}, ""},
		{"the lab uses all", goPackage{ImportPath: "surehand/cmd/surehand-lab", Imports: []string{"surehand/internal/embedded"}, Deps: []string{"surehand/internal/simulator"}}, ""},
		{"names that only look alike", goPackage{ImportPath: "surehand/internal/plant", Imports: []string{"network", "logic"}}, ""},
	} {
		problems := problemsOf(c.p)
		if c.want == "" {
			require.Empty(t, problems, c.what)
			continue
		}
		require.Len(t, problems, 1, c.what)
		require.Contains(t, problems[0], c.want, c.what)
	}
}
