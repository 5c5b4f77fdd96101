package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unpack is a normal user's way: download the packages and unpack them into our
// own folder, with every shared library the machine lacks. Nothing outside the
// folder changes.
func (a *apt) unpack(ctx context.Context, soft software) error {
	names, err := soft.unpack(ctx, a)
	if err != nil {
		// Also the case of a machine on which root never updated the lists.
		if err := a.ownLists(ctx); err != nil {
			return err
		}
		if names, err = soft.unpack(ctx, a); err != nil {
			return err
		}
	}
	plan, err := a.run(ctx, "/", "apt-get", a.options("install", "-s", "--no-install-recommends", names[0])...)
	if err != nil {
		return err
	}
	absent := installedBy(plan)
	wanted := slices.DeleteFunc(slices.Clone(absent), func(name string) bool { return !neededUnpacked(name, names) })
	for _, name := range names {
		if !slices.Contains(wanted, name) {
			wanted = append(wanted, name)
		}
	}
	if err := a.fetch(ctx, wanted); err != nil {
		return err
	}
	return a.checkLibraries(ctx, soft.programs)
}

// options puts our own package lists in front of the machine's, once we have any.
func (a *apt) options(args ...string) []string {
	lists := filepath.Join(a.folder, "lists")
	if _, err := os.Stat(lists); err != nil {
		return args
	}
	return append([]string{
		"-o", "Dir::State::lists=" + lists,
		"-o", "Dir::Cache=" + filepath.Join(a.folder, "cache"),
		"-o", "Debug::NoLocking=1",
	}, args...)
}

func (a *apt) ownLists(ctx context.Context) error {
	for _, dir := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.folder, dir), 0o755); err != nil {
			return err
		}
	}
	_, err := a.run(ctx, "/", "apt-get", a.options("update")...)
	return err
}

// fetch downloads and unpacks. A stale list names versions that are gone from
// the archive; our own fresh lists then help once.
func (a *apt) fetch(ctx context.Context, names []string) error {
	downloads := filepath.Join(a.folder, "downloads")
	if err := os.MkdirAll(downloads, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(downloads)
	download := func() error {
		_, err := a.run(ctx, downloads, "apt-get", a.options(append([]string{"download"}, names...)...)...)
		return err
	}
	if first := download(); first != nil {
		if err := a.ownLists(ctx); err != nil {
			return errors.Join(first, err)
		}
		if err := download(); err != nil {
			return err
		}
	}
	files, err := filepath.Glob(filepath.Join(downloads, "*.deb"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if _, err := a.run(ctx, "/", "dpkg-deb", "-x", file, a.tree()); err != nil {
			return err
		}
	}
	return nil
}

// checkLibraries asks the loader itself, instead of trusting package metadata.
func (a *apt) checkLibraries(ctx context.Context, programs []string) error {
	var missing []string
	for _, program := range programs {
		found, err := filepath.Glob(filepath.Join(a.tree(), program))
		if err != nil || len(found) == 0 {
			return fmt.Errorf("the unpacked packages do not hold %s", program)
		}
		for _, path := range found {
			out, err := a.run(ctx, "/", "env", "LD_LIBRARY_PATH="+unpackedLibraries(a.folder), "ldd", path)
			if err != nil {
				return err
			}
			missing = append(missing, missingLibraries(out)...)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("shared libraries are still missing: %s", strings.Join(slices.Compact(missing), ", "))
	}
	return nil
}

// unpackedLibraries is the LD_LIBRARY_PATH for programs of the unpacked tree.
func unpackedLibraries(packages string) string {
	var dirs []string
	for _, pattern := range []string{"usr/lib/*-linux-*", "lib/*-linux-*"} {
		found, _ := filepath.Glob(filepath.Join(packages, "root", pattern))
		dirs = append(dirs, found...)
	}
	return strings.Join(dirs, ":")
}

// installedBy reads the names out of the plan that "apt-get install -s" prints.
func installedBy(plan string) []string {
	var names []string
	for line := range strings.Lines(plan) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Inst" {
			names = append(names, fields[1])
		}
	}
	return names
}

// neededUnpacked leaves out what only an installation needs: Perl for the
// cluster scripts, certificates, and LLVM, since our clusters run without JIT.
func neededUnpacked(name string, asked []string) bool {
	if slices.Contains(asked, name) {
		return true
	}
	if !strings.HasPrefix(name, "lib") {
		return false
	}
	for _, part := range []string{"perl", "libllvm", "libz3"} {
		if strings.Contains(name, part) {
			return false
		}
	}
	return true
}

// missingLibraries reads the lines "libx.so.1 => not found" of ldd.
func missingLibraries(ldd string) []string {
	var names []string
	for line := range strings.Lines(ldd) {
		if name, state, ok := strings.Cut(strings.TrimSpace(line), " => "); ok && strings.HasPrefix(state, "not found") {
			names = append(names, name)
		}
	}
	return names
}
