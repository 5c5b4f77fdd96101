package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// identity is the system user a server runs as. nil means: as ourselves.
// PostgreSQL refuses to run as root, and a broker has no reason to.
type identity struct {
	name     string
	uid, gid uint32
}

// serverIdentity picks the first existing user when we are root, and nil when
// we are not: a normal user's servers run as that user.
func serverIdentity(names ...string) (*identity, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range names {
		if found, err := user.Lookup(name); err == nil {
			return identityOf(found)
		}
	}
	return nil, fmt.Errorf("running as root, and none of the users %s exists to run the server as: "+
		"create one (useradd --system %s) or run as a normal user", strings.Join(names, ", "), names[0])
}

func identityOf(u *user.User) (*identity, error) {
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("user %s has no numeric id: %w", u.Username, err)
	}
	return &identity{name: u.Username, uid: uint32(uid), gid: uint32(gid)}, nil
}

// ownerOf gives the identity that owns a path, nil when that is ourselves. A
// cluster keeps the user it was made by, also after a better one appeared.
func ownerOf(path string) (*identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() {
		return nil, nil
	}
	name := strconv.Itoa(int(stat.Uid))
	if found, err := user.LookupId(name); err == nil {
		name = found.Username
	}
	return &identity{name: name, uid: stat.Uid, gid: stat.Gid}, nil
}

func (id *identity) credential() *syscall.Credential {
	if id == nil {
		return nil
	}
	return &syscall.Credential{Uid: id.uid, Gid: id.gid, Groups: []uint32{id.gid}}
}

func (id *identity) suffix() string {
	if id == nil {
		return ""
	}
	return " as user " + id.name
}

// folder makes a private folder that this identity owns.
func (id *identity) folder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return id.own(path)
}

func (id *identity) own(path string) error {
	if id == nil {
		return nil
	}
	return os.Chown(path, int(id.uid), int(id.gid))
}

// reaches tells whether this identity may walk down to path. A checkout below
// /root, whose mode is 0700, is the usual case where it may not.
func (id *identity) reaches(path string) bool {
	if id == nil {
		return true
	}
	for p := path; ; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// It will be made by us, readable for its owner.
		case err != nil || !id.enters(info):
			return false
		}
		if p == filepath.Dir(p) {
			return true
		}
	}
}

func (id *identity) enters(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	mode := info.Mode().Perm()
	switch {
	case stat.Uid == id.uid:
		return mode&0o100 != 0
	case stat.Gid == id.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
