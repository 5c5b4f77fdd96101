package embedded

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPostgresMajor(t *testing.T) {
	for said, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": 15,
		"postgres (PostgreSQL) 18beta1\n":                        18,
		"postgres (PostgreSQL) 9.6.24":                           9,
	} {
		major, err := postgresMajor(said)
		require.NoError(t, err)
		require.Equal(t, want, major, said)
	}
	for _, said := range []string{"", "initdb: unknown", "postgres (PostgreSQL) devel"} {
		_, err := postgresMajor(said)
		require.ErrorContains(t, err, "not a PostgreSQL version")
	}
}

func TestNewestVersionFirst(t *testing.T) {
	root := t.TempDir()
	for _, version := range []string{"9.6", "15", "17", "16"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, version, "bin"), 0o755))
	}
	var order []string
	for _, bin := range newestFirst(filepath.Join(root, "*/bin")) {
		order = append(order, filepath.Base(filepath.Dir(bin)))
	}
	require.Equal(t, []string{"17", "16", "15", "9.6"}, order)
}

func TestPackagesThatANormalUserUnpacks(t *testing.T) {
	plan := `NOTE: This is only a simulation!
Reading package lists...
The following NEW packages will be installed:
  libicu72 libllvm14 libpq5 postgresql-15
Inst perl (5.36.0-7 Debian:12/stable [amd64])
Inst libjson-perl (4.10000-1 Debian:12/stable [all])
Inst libperl5.36 (5.36.0-7 Debian:12/stable [amd64])
Inst libpq5 (15.18-0 Debian:12/stable [amd64]) []
Inst libllvm14 (1:14.0.6 Debian:12/stable [amd64])
Inst libicu72 (72.1-3 Debian:12/stable [amd64])
Inst ssl-cert (1.1.2 Debian:12/stable [all])
Inst postgresql-common (248 Debian:12/stable [all])
Inst postgresql-15 (15.18-0 Debian:12/stable [amd64])
Conf libpq5 (15.18-0 Debian:12/stable [amd64])
`
	var needed []string
	for _, name := range installedBy(plan) {
		if neededUnpacked(name, []string{"postgresql-15"}) {
			needed = append(needed, name)
		}
	}
	require.Equal(t, []string{"libpq5", "libicu72", "postgresql-15"}, needed)
}

func TestMissingLibraries(t *testing.T) {
	require.Equal(t, []string{"libpq.so.5", "libicui18n.so.72"}, missingLibraries(`
	linux-vdso.so.1 (0x00007ffe)
	libpq.so.5 => not found
	libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f)
	libicui18n.so.72 => not found
`))
}

func TestFirstListener(t *testing.T) {
	for text, want := range map[string]string{
		"listener 1883 127.0.0.1\nlistener 8883": "127.0.0.1:1883",
		"# listener 1\n  listener 8883\n":        "127.0.0.1:8883",
		"listener 1883 ::1":                      "[::1]:1883",
		"listener 1883 0.0.0.0":                  "127.0.0.1:1883",
	} {
		address, err := firstListener(text)
		require.NoError(t, err, text)
		require.Equal(t, want, address)
	}
	for _, text := range []string{"", "port 1883", "listener many", "#listener 1883"} {
		_, err := firstListener(text)
		require.Error(t, err, text)
	}
}

func TestTemporaryFileLeavesAForeignOneAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "policy")
	undo, err := temporaryFile(path, "ours", 0o755)
	require.NoError(t, err)
	require.FileExists(t, path)
	again, err := temporaryFile(path, "ours", 0o755)
	require.NoError(t, err, "one that an earlier run left is taken over")
	again()
	require.NoFileExists(t, path)
	undo()

	require.NoError(t, os.WriteFile(path, []byte("the site's own"), 0o644))
	undo, err = temporaryFile(path, "ours", 0o755)
	require.NoError(t, err)
	undo()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "the site's own", string(text))
}
