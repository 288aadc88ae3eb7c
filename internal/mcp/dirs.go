package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// dir is a directory below which bundles are. It stays the same whatever becomes of its name.
type dir struct {
	name string // with which paths begin where there are several; empty for the only one
	root *os.Root
	held *os.File // for workers
}

type dirs []dir

// openDirs opens directories and gives them names that differ.
func openDirs(paths []string) (opened dirs, err error) {
	taken := map[string]bool{}
	for i, at := range paths {
		d := dir{}
		if d.root, err = os.OpenRoot(at); err == nil {
			d.held, err = d.root.Open(".")
		}
		if err != nil {
			return nil, errors.Join(err, opened.close())
		}
		if len(paths) > 1 {
			absolute, err := filepath.Abs(at)
			if err != nil {
				return nil, errors.Join(err, opened.close())
			}
			d.name = filepath.Base(absolute)
			if taken[d.name] || d.name == "/" {
				d.name = fmt.Sprintf("%s#%d", d.name, i+1)
			}
			taken[d.name] = true
		}
		opened = append(opened, d)
	}
	return opened, nil
}

func (d dirs) close() (err error) {
	for i := range d {
		err = errors.Join(err, d[i].held.Close(), d[i].root.Close())
	}
	return err
}

// place is a file or a directory below one of the directories.
type place struct {
	dir  *dir
	rel  string // below it
	info fs.FileInfo
}

// errOutside is the answer to a path that leads elsewhere.
var errOutside = errors.New("not a path below the directories that this server was started with; the tool bundles lists them")

// findPlace finds what a client names.
func (d dirs) findPlace(input string) (place, error) {
	rel := path.Clean(input)
	if input == "" || !filepath.IsLocal(rel) {
		return place{}, errOutside
	}
	at := &d[0]
	if len(d) > 1 {
		name, below, _ := strings.Cut(rel, "/")
		at = nil
		for i := range d {
			if d[i].name == name {
				at = &d[i]
			}
		}
		if at == nil {
			return place{}, errOutside
		}
		rel = path.Clean("./" + below)
	}
	info, err := at.root.Stat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return place{}, errors.New("there is no such file or directory; the tool bundles lists what there is")
	case err != nil: // also what a link leads out to
		return place{}, errOutside
	case !info.IsDir() && !info.Mode().IsRegular():
		return place{}, errors.New("neither a file nor a directory")
	}
	return place{at, rel, info}, nil
}

// argument is how a worker is told of a place: never as a flag, nor as standard input.
func (p *place) argument() string { return "./" + p.rel }

// maxListed bounds the files of a directory that are looked at for its stamp.
const maxListed = 200_000

// stamp says by what a place is known to be the same, without reading it, and how many bytes it
// holds: of a file its size and time, of a directory those of all that is in it.
func (p *place) stamp(ctx context.Context) (stamp string, size int64, err error) {
	if !p.info.IsDir() {
		return stampOf(p.info), p.info.Size(), nil
	}
	sum, seen := sha256.New(), 0
	below, err := p.dir.root.OpenRoot(p.rel)
	if err != nil {
		return "", 0, errOutside
	}
	defer below.Close()
	err = fs.WalkDir(below.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if seen++; seen > maxListed {
			return fs.SkipAll
		}
		if err != nil {
			fmt.Fprintln(sum, name, "unread")
			return ctx.Err()
		}
		if info, err := d.Info(); err == nil {
			fmt.Fprintf(sum, "%q %s\n", name, stampOf(info))
			if info.Mode().IsRegular() {
				size += info.Size()
			}
		}
		return ctx.Err()
	})
	return hex.EncodeToString(sum.Sum(nil)), size, err
}

func stampOf(info fs.FileInfo) string {
	return fmt.Sprintf("%s %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano())
}
