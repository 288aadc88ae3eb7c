package batch

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// input is one bundle.
type input struct {
	path string
	// key is its name below what was named: of a file in a directory the path from there, so that
	// it is the same wherever the directory is mounted.
	key string
}

// listing is what the inputs are.
type listing struct {
	inputs []input // in the order of their paths, each once
	passed int     // files that were passed over, because they are no archives
	each   bool
	out    fs.FileInfo // the directory for results, which is no input; nil before it exists
}

// maxLine bounds a line of a list, in bytes.
const maxLine = 64 << 10

// listInputs lists the bundles. A file that is named is a bundle. Of a directory those files are,
// at any depth, that are archives by their content or their name; with Options.Each every entry of
// it is one, also a directory. Names with a dot before them are passed over: programs that copy and
// mount use them. Links to files are followed, links to directories only where they are named. A
// line of a list is an input; one that does not exist gives a row, while a missing argument is an
// error.
func listInputs(o *Options) (*listing, error) {
	l := &listing{each: o.Each}
	if info, err := os.Stat(o.Out); err == nil {
		l.out = info
	}
	for _, name := range o.Inputs {
		var err error
		switch list, isList := strings.CutPrefix(name, "@"); {
		case name == "-":
			err = l.addList("stdin", o.List)
		case isList:
			err = l.addListFile(list)
		default:
			if _, err = os.Stat(name); err == nil {
				err = l.addInput(name, filepath.Base(name))
			}
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(l.inputs, func(a, b input) int { return strings.Compare(a.path, b.path) })
	l.inputs = slices.CompactFunc(l.inputs, func(a, b input) bool { return a.path == b.path })
	l.tellApart()
	return l, nil
}

// tellApart gives inputs that have one key longer ones, so that they do not all fall into one
// shard: as many parts of their paths, from the end, as tell all of them apart.
func (l *listing) tellApart() {
	byKey := map[string][]int{}
	for i := range l.inputs {
		byKey[l.inputs[i].key] = append(byKey[l.inputs[i].key], i)
	}
	for key, same := range byKey {
		for parts := strings.Count(key, "/") + 2; len(same) > 1; parts++ {
			keys := map[string]bool{}
			for _, i := range same {
				l.inputs[i].key = lastParts(l.inputs[i].path, parts)
				keys[l.inputs[i].key] = true
			}
			if len(keys) == len(same) || parts > maxParts {
				break
			}
		}
	}
}

// maxParts bounds how many parts of their paths tell inputs apart.
const maxParts = 64

// lastParts are the last n parts of a path; all of it where it has no more.
func lastParts(path string, n int) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	return strings.Join(parts[max(0, len(parts)-n):], "/")
}

func (l *listing) addListFile(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	return l.addList(name, file)
}

// addList adds the inputs that the lines of a list name.
func (l *listing) addList(name string, r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "" {
			continue
		}
		if err := l.addInput(line, filepath.Clean(line)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("list %s: %w", name, err)
	}
	return nil
}

// addInput adds a file, or what a directory holds.
func (l *listing) addInput(name, key string) error {
	name = filepath.Clean(name)
	info, err := os.Stat(name)
	switch {
	case err != nil || !info.IsDir():
		l.inputs = append(l.inputs, input{name, key})
		return nil
	case l.isResultsDir(info):
		return fmt.Errorf("%s is the directory for results, and no input", name)
	case l.each:
		return l.addEntries(name)
	}
	before := len(l.inputs)
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case path == name:
			return err
		case err != nil: // its row says why
			l.inputs = append(l.inputs, input{path, path})
			return nil
		}
		return l.addFound(name, path, entry)
	})
	if err == nil && len(l.inputs) == before {
		return &NoArchiveError{name}
	}
	return err
}

// NoArchiveError says that a directory holds no bundle.
type NoArchiveError struct{ Dir string }

func (e *NoArchiveError) Error() string { return "no archive below " + e.Dir }

// isResultsDir says whether a directory is the one for results.
func (l *listing) isResultsDir(info fs.FileInfo) bool {
	return l.out != nil && os.SameFile(info, l.out)
}

// addEntries adds every entry of a directory.
func (l *listing) addEntries(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		info, err := os.Stat(path)
		if strings.HasPrefix(entry.Name(), ".") || err == nil && l.isResultsDir(info) {
			continue
		}
		l.inputs = append(l.inputs, input{path, entry.Name()})
	}
	return nil
}

// addFound adds a file that was found below a directory, if it is a bundle.
func (l *listing) addFound(dir, path string, entry fs.DirEntry) error {
	if strings.HasPrefix(entry.Name(), ".") {
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && entry.IsDir() && l.isResultsDir(info):
		return fs.SkipDir
	case err != nil, info.IsDir(): // what a link leads to and is not there is no bundle
		return nil
	case !info.Mode().IsRegular() || !isBundle(path):
		l.passed++
		return nil
	}
	key, err := filepath.Rel(dir, path)
	l.inputs = append(l.inputs, input{path, key})
	return err
}

// archiveName is how the names of archives end: one that is broken is a bundle all the same.
var archiveName = regexp.MustCompile(`(?i)\.(tar|tgz|tbz2?|txz|tzst|zip)(\.(gz|zst|xz|bz2))?$`)

// isBundle says whether a file in a directory is a bundle.
func isBundle(path string) bool {
	if archiveName.MatchString(path) {
		return true
	}
	file, err := os.Open(path)
	if err != nil {
		return true // its row says why
	}
	return file.Close() == nil && bundle.IsArchive(path)
}

// identity is a bundle by its content.
type identity struct {
	sum  string // SHA-256 in hexadecimal
	path string
	was  fs.FileInfo
}

// hasChanged says that a file is not what it was when its sum was made. Of a directory that is not
// known.
func (id *identity) hasChanged() bool {
	now, err := os.Stat(id.path)
	same := err == nil && os.SameFile(now, id.was) && now.Size() == id.was.Size() && now.ModTime().Equal(id.was.ModTime())
	return !same && !id.was.IsDir()
}

// identify makes the sum of a bundle: of a file that of its bytes, as sha256sum prints it; of a
// directory that of the paths, kinds and bytes of all that is in it.
func identify(ctx context.Context, path string) (identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return identity{}, err
	}
	id, sum := identity{path: path, was: info}, sha256.New()
	switch {
	case info.Mode().IsRegular():
		err = addFile(ctx, sum, path)
	case info.IsDir():
		err = addTree(ctx, sum, path)
	default:
		err = errors.New("neither a file nor a directory")
	}
	id.sum = hex.EncodeToString(sum.Sum(nil))
	return id, err
}

// addTree adds all that is in a directory, in the order of the paths. Links are not followed.
func addTree(ctx context.Context, sum hash.Hash, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil && path == dir {
			return err
		}
		if err != nil {
			fmt.Fprintln(sum, "unread")
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%d %s %s\n", len(name), name, info.Mode().Type())
		if !info.Mode().IsRegular() {
			return nil
		}
		fmt.Fprintf(sum, "%d\n", info.Size())
		if err := addFile(ctx, sum, path); err != nil { // the report says why it is not read
			fmt.Fprintln(sum, "unread")
		}
		return ctx.Err()
	})
}

func addFile(ctx context.Context, sum hash.Hash, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.CopyBuffer(sum, untilEnd{ctx, file}, make([]byte, 256<<10))
	return err
}

// untilEnd reads until a context ends.
type untilEnd struct {
	ctx context.Context
	r   io.Reader
}

func (u untilEnd) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}
