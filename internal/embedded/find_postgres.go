package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// oldestPostgres is the first major version Surehand is tested with.
const oldestPostgres = 15

// postgresPrograms is a folder with initdb and postgres in it.
type postgresPrograms struct {
	bin       string
	major     int
	libraries string // LD_LIBRARY_PATH of an unpacked copy
}

var postgresSoftware = software{
	title:    "PostgreSQL 15 or newer",
	install:  "postgresql",
	programs: []string{"usr/lib/postgresql/*/bin/initdb", "usr/lib/postgresql/*/bin/postgres"},
	unpack: func(ctx context.Context, a *apt) ([]string, error) {
		out, err := a.run(ctx, "/", "apt-cache", a.options("depends", "postgresql")...)
		if err != nil {
			return nil, err
		}
		for word := range strings.FieldsSeq(out) {
			if major, ok := strings.CutPrefix(word, "postgresql-"); ok && leadingNumber(major) >= oldestPostgres {
				return []string{"postgresql-" + major, "postgresql-client-" + major, "libpq5"}, nil
			}
		}
		return nil, fmt.Errorf("the package lists know no PostgreSQL %d or newer", oldestPostgres)
	},
	byHand: "install PostgreSQL 15 or newer with its server programs and set PG_BIN to the folder that holds " +
		"initdb and postgres (Debian: 'apt-get install postgresql', then PG_BIN=/usr/lib/postgresql/15/bin; " +
		"Homebrew: 'brew install postgresql@15'), or for tests set TEST_DATABASE_URL to a server that may be written to",
}

// findOrBringPostgres finds the server programs, and brings them where there are none.
// want is the major version of an existing cluster, 0 for any.
func findOrBringPostgres(ctx context.Context, log *slog.Logger, packages string, want int) (postgresPrograms, error) {
	programs, err := findPostgres(ctx, packages, want)
	if err == nil || os.Getenv("PG_BIN") != "" {
		return programs, err
	}
	if want > 0 {
		if other, otherErr := findPostgres(ctx, packages, 0); otherErr == nil {
			return programs, fmt.Errorf("this cluster was made by PostgreSQL %d, but the installed one is %d (%s): "+
				"install PostgreSQL %d, or set PG_BIN to it, or delete the folder to start with an empty database",
				want, other.major, other.bin, want)
		}
	}
	err = bring(ctx, log, packages, postgresSoftware, func() bool {
		programs, err = findPostgres(ctx, packages, want)
		return err == nil
	})
	if err != nil {
		return programs, err
	}
	return findPostgres(ctx, packages, want)
}

// findPostgres looks in the documented order: PG_BIN and nothing else when it
// is set, Debian's folders with the newest first, PATH, our unpacked copy.
func findPostgres(ctx context.Context, packages string, want int) (postgresPrograms, error) {
	if bin := os.Getenv("PG_BIN"); bin != "" {
		programs, err := examine(ctx, bin, "")
		switch {
		case err != nil:
			return programs, fmt.Errorf("PG_BIN=%s: %w; set it to a folder with initdb and postgres, or unset it", bin, err)
		case programs.major < oldestPostgres || want > 0 && programs.major != want:
			return programs, fmt.Errorf("PG_BIN=%s holds PostgreSQL %d, but %d is needed", bin, programs.major, max(want, oldestPostgres))
		}
		return programs, nil
	}
	bins := newestFirst("/usr/lib/postgresql/*/bin")
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(initdb); err == nil {
			bins = append(bins, filepath.Dir(real))
		}
	}
	installed := len(bins)
	bins = append(bins, newestFirst(filepath.Join(packages, "root/usr/lib/postgresql/*/bin"))...)
	for i, bin := range bins {
		libraries := ""
		if i >= installed {
			libraries = unpackedLibraries(packages)
		}
		programs, err := examine(ctx, bin, libraries)
		if err == nil && programs.major >= oldestPostgres && (want == 0 || programs.major == want) {
			return programs, nil
		}
	}
	return postgresPrograms{}, fmt.Errorf("no PostgreSQL %d or newer found", max(want, oldestPostgres))
}

// examine runs the server program for its version, which also shows that its
// libraries are there.
func examine(ctx context.Context, bin, libraries string) (postgresPrograms, error) {
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		return postgresPrograms{}, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version")
	cmd.Env = cleanEnvironment("/", libraries)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return postgresPrograms{}, fmt.Errorf("postgres --version: %w: %s", err, strings.TrimSpace(string(out)))
	}
	major, err := postgresMajor(string(out))
	return postgresPrograms{bin: bin, major: major, libraries: libraries}, err
}

// postgresMajor reads "postgres (PostgreSQL) 15.18 (Debian 15.18-0)".
func postgresMajor(version string) (int, error) {
	_, number, ok := strings.Cut(version, "(PostgreSQL) ")
	if major := leadingNumber(number); ok && major > 0 {
		return major, nil
	}
	return 0, fmt.Errorf("not a PostgreSQL version: %q", strings.TrimSpace(version))
}

// newestFirst sorts folders like /usr/lib/postgresql/15/bin by their number.
func newestFirst(pattern string) []string {
	found, _ := filepath.Glob(pattern)
	version := func(bin string) int { return leadingNumber(filepath.Base(filepath.Dir(bin))) }
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	return found
}

// leadingNumber gives the digits at the start of a text as a number, else 0.
func leadingNumber(text string) int {
	end := 0
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	number, _ := strconv.Atoi(text[:end])
	return number
}
