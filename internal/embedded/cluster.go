package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	markerName = "surehand-cluster.txt"
	markerText = "A private PostgreSQL cluster, made by Surehand (internal/embedded).\n" +
		"It may be deleted with its folder when no Surehand process uses it.\n"
	elsewhereName = "surehand-cluster-elsewhere.txt"
)

// ErrForeignFolder is returned for a folder that Surehand did not make.
var ErrForeignFolder = errors.New("folder was not made by Surehand")

// cluster is the folder of one private cluster:
//
//	surehand-cluster.txt   the marker, written before anything else
//	lock                   held by the process that runs the server
//	data/                  the cluster; made as data.new and renamed when complete
//	server.log             what the server said since its last start
//	socket/                the unix socket, if its path is short enough
type cluster struct {
	folder string
	lock   *os.File
}

func (c *cluster) data() string { return filepath.Join(c.folder, "data") }
func (c *cluster) log() string  { return filepath.Join(c.folder, "server.log") }

// major is the PostgreSQL version that made the cluster, 0 when there is none.
func (c *cluster) major() int {
	text, err := os.ReadFile(filepath.Join(c.data(), "PG_VERSION"))
	if err != nil {
		return 0
	}
	return leadingNumber(string(text))
}

// openCluster takes a folder: a new or empty one by writing the marker, a
// marked one as it is, any other one not at all.
func openCluster(dir string) (*cluster, error) {
	dir, err := absolute(dir)
	if err != nil {
		return nil, err
	}
	if err := makePath(dir); err != nil {
		return nil, fmt.Errorf("make the cluster's folder: %w", err)
	}
	marker := filepath.Join(dir, markerName)
	if _, err := os.Stat(marker); errors.Is(err, fs.ErrNotExist) {
		if err := refuseForeign(dir); err != nil {
			return nil, err
		}
		if err := os.WriteFile(marker, []byte(markerText), 0o644); err != nil {
			return nil, fmt.Errorf("mark %s as ours: %w", dir, err)
		}
	} else if err != nil {
		return nil, fmt.Errorf("look for the marker of %s: %w", dir, err)
	}
	c := &cluster{folder: dir}
	return c, c.takeLock()
}

// makePath makes a folder that the server's user can walk through, also under a
// strict umask; folders that exist keep their mode.
func makePath(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makePath(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(dir, 0o755)
}

func refuseForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == elsewhereName {
			continue
		}
		what := "is not empty"
		if entry.Name() == "PG_VERSION" || entry.Name() == "data" {
			what = "seems to hold a PostgreSQL cluster"
		}
		return fmt.Errorf("%w: %s %s and has no %s, so it stays untouched: choose an empty folder",
			ErrForeignFolder, dir, what, markerName)
	}
	return nil
}

// takeLock refuses a second process on the same cluster. The lock goes with the
// process that holds it, so it can not be left behind.
func (c *cluster) takeLock() error {
	path := filepath.Join(c.folder, "lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("open the cluster's lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(path)
		_ = file.Close()
		return fmt.Errorf("the database in %s is in use by process %s: stop that one first (%w)",
			c.folder, strings.TrimSpace(string(holder)), err)
	}
	if err := errors.Join(file.Truncate(0), writeAt(file, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		_ = file.Close()
		return fmt.Errorf("write the cluster's lock: %w", err)
	}
	c.lock = file
	return nil
}

func writeAt(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

func (c *cluster) release() {
	if c.lock != nil {
		_ = c.lock.Close()
		c.lock = nil
	}
}

// reachableFolder gives dir itself, or, when the server's user can not walk
// down to it, a folder below /var/lib that belongs to dir. A note in dir says
// where; when that note is gone, the person deleted the folder to start afresh,
// and the old place is emptied too.
func reachableFolder(log *slog.Logger, dir string, as *identity, base string) (string, error) {
	dir, err := absolute(dir)
	if err != nil {
		return "", err
	}
	if as.reaches(dir) {
		return dir, nil
	}
	sum := sha256.Sum256([]byte(dir))
	place := filepath.Join(base, hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cluster's folder: %w", err)
	}
	note := filepath.Join(dir, elsewhereName)
	if _, err := os.Stat(note); errors.Is(err, fs.ErrNotExist) {
		if err := refuseForeign(dir); err != nil {
			return "", err
		}
		if err := removeCluster(place); err != nil {
			return "", err
		}
		text := "User " + as.name + ", who runs the server, can not enter this folder. The cluster is in\n" + place + "\n"
		if err := os.WriteFile(note, []byte(text), 0o644); err != nil {
			return "", fmt.Errorf("note where the cluster is: %w", err)
		}
	}
	log.Info("the server's user can not enter the state folder; the cluster is kept elsewhere",
		"user", as.name, "folder", dir, "cluster", place)
	return place, nil
}

// removeCluster deletes a cluster of ours that nobody runs.
func removeCluster(folder string) error {
	if _, err := os.Stat(filepath.Join(folder, markerName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c, err := openCluster(folder)
	if err != nil {
		return err
	}
	defer c.release()
	if len(processesIn(c.data(), "postgres")) > 0 {
		return fmt.Errorf("a server still runs in %s: stop it before starting afresh", folder)
	}
	return os.RemoveAll(folder)
}

// longestSocketFolder keeps "<folder>/.s.PGSQL.5432.lock" below the 107 bytes
// that a unix socket's address can hold.
const longestSocketFolder = 107 - len("/.s.PGSQL.5432.lock")

// socketFolder makes a private folder for the socket: in the cluster, or in the
// temporary folder when that path is too long. The temporary name follows from
// the cluster's, so that lives killed without warning do not pile up folders.
func (c *cluster) socketFolder(as *identity) (string, error) {
	dir := filepath.Join(c.folder, "socket")
	if len(dir) > longestSocketFolder {
		sum := sha256.Sum256([]byte(c.folder))
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("surehand-%d-%s", os.Geteuid(), hex.EncodeToString(sum[:6])))
	}
	if len(dir) > longestSocketFolder {
		return "", fmt.Errorf("no place for a unix socket: %s is longer than %d bytes; set TMPDIR to a short folder",
			dir, longestSocketFolder)
	}
	if err := os.Mkdir(dir, 0o700); err == nil {
		return dir, as.own(dir)
	} else if !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the socket's folder: %w", err)
	}
	// It exists. In a shared temporary folder someone else may have made it.
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	wanted := uint32(os.Geteuid())
	if as != nil {
		wanted = as.uid
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || stat.Uid != wanted || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("the socket's folder %s exists and is not private to user id %d: delete it", dir, wanted)
	}
	return dir, nil
}
