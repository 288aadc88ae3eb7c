// Package held finds, opens and removes files in a directory that is held open: whatever becomes of
// its path meanwhile, it is this very directory. It follows no link, neither on the way to the
// directory nor in it.
package held

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is a directory that is held open.
type Dir struct {
	open *os.File
	path string
	user uint32 // whom the files belong to
}

// File is a regular file as one look at it has shown it.
type File struct {
	Path, Base string
	Dev, Ino   uint64
	Size       int64
	Changed    time.Time // of the content
}

// IsSame says that two looks saw one file, whatever its content.
func (f *File) IsSame(g *File) bool { return f.Dev == g.Dev && f.Ino == g.Ino }

// IsUnchanged says that two looks saw one file with one content.
func (f *File) IsUnchanged(g *File) bool {
	return f.IsSame(g) && f.Size == g.Size && f.Changed.Equal(g.Changed)
}

// Open opens the directory dir as it is below root. Its files are those of a user.
func Open(root, dir string, user uint32) (*Dir, error) {
	const how = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for name := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if err != nil {
			break
		}
		above := fd
		fd, err = unix.Openat(above, name, how, 0)
		_ = unix.Close(above)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return &Dir{os.NewFile(uintptr(fd), dir), dir, user}, nil
}

// Close lets go of the directory.
func (d *Dir) Close() { _ = d.open.Close() }

// Find returns the regular files whose names match a pattern, in the order of their changes.
func (d *Dir) Find(patterns ...string) (all []File) {
	if _, err := d.open.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	names, _ := d.open.Readdirnames(-1)
	for _, name := range names {
		if !slices.ContainsFunc(patterns, func(p string) bool { ok, _ := path.Match(p, name); return ok }) {
			continue
		}
		if f, s, err := d.statEntry(name); err == nil && isRegular(s) {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b File) int {
		return cmp.Or(a.Changed.Compare(b.Changed), cmp.Compare(a.Base, b.Base))
	})
	return all
}

func isRegular(s *unix.Stat_t) bool { return s.Mode&unix.S_IFMT == unix.S_IFREG }

// statEntry looks at an entry itself, and not at what a link leads to.
func (d *Dir) statEntry(name string) (File, *unix.Stat_t, error) {
	var s unix.Stat_t
	err := unix.Fstatat(int(d.open.Fd()), name, &s, unix.AT_SYMLINK_NOFOLLOW)
	return d.newFile(name, &s), &s, err
}

func (d *Dir) newFile(name string, s *unix.Stat_t) File {
	return File{
		Path: path.Join(d.path, name), Base: name, Dev: uint64(s.Dev), Ino: s.Ino, Size: s.Size, //nolint:unconvert,nolintlint // the type differs by processor
		Changed: time.Unix(s.Mtim.Unix()).UTC(),
	}
}

// Open opens a file that was found. It fails if another one has its name by now, and of a file that
// belongs to another user or has a second name.
func (d *Dir) Open(f *File) (*os.File, error) {
	const how = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Openat(int(d.open.Fd()), f.Base, how, 0)
	if err != nil {
		return nil, err
	}
	var s unix.Stat_t
	err = unix.Fstat(fd, &s)
	found := d.newFile(f.Base, &s)
	switch {
	case err != nil:
	case !isRegular(&s) || !found.IsSame(f):
		err = errors.New("another file has taken its name")
	case s.Uid != d.user:
		err = fmt.Errorf("it belongs to user %d, and not to %d", s.Uid, d.user)
	case s.Nlink != 1:
		err = errors.New("it has a second name")
	default:
		return os.NewFile(uintptr(fd), f.Path), nil
	}
	_ = unix.Close(fd)
	return nil, err
}

// Remove removes a file that was found and has not changed since. Only a name in this directory
// goes: one that takes the place of the file in the last moment is lost at worst, and nothing
// behind it.
func (d *Dir) Remove(f *File) error {
	file, err := d.Open(f) // while it is open, no other file can get its number
	if err != nil {
		return err
	}
	defer file.Close()
	found, _, err := d.statEntry(f.Base)
	if err != nil {
		return err
	}
	if !found.IsUnchanged(f) {
		return errors.New("it has changed since it was copied")
	}
	return unix.Unlinkat(int(d.open.Fd()), f.Base, 0)
}
