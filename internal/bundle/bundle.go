// Package bundle turns the inputs of a user (a directory, loose files, a tar or zip archive,
// archives inside of them, stdin) into files with a path and a bounded reader. It knows no log
// format, unpacks nothing to disk, follows no link and starts no goroutine.
//
// What it will not read it names: nothing is left out silently.
package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Options say what to read.
type Options struct {
	// Inputs are directories, files, archives (tar, zip; compressed by gzip, zstd, xz or bzip2;
	// known by content) and "-" for Stdin.
	Inputs []string
	Stdin  io.Reader
	Limits Limits
	// Root is where the inputs are: none is opened outside of it, not by a link either. Nil is the
	// whole machine.
	Root *os.Root
	// ReadAhead wraps the inflated stream of a compressed archive, for a caller that
	// wants to inflate in a goroutine of its own. If its result is an io.Closer, it
	// is closed when the archive has been walked. Nil reads directly.
	ReadAhead func(io.Reader) io.Reader
	// Directories yields directories, too. They have no Open.
	Directories bool
	// Progress is called after every read from an input with the number of bytes, as they are
	// stored. Several goroutines may call it, those that read the files. Nil is not called.
	Progress func(n int)
}

// File is one file of the input.
type File struct {
	// Path is slash-separated and unique: below its directory or inside its archive, as given for a
	// loose file, "stdin" for stdin. With several directories or several archives, the name of the
	// one it came from stands in front.
	Path string
	// Size is in bytes; -1 when it is not known beforehand, as for compressed files and pipes.
	Size int64
	// ModTime is what a tar header says, in UTC. It is zero for files on disk: there it is the
	// time of the copy, which is no evidence.
	ModTime time.Time
	// Open gives the content, inflated if it was compressed. The caller closes it. An error while
	// reading (a cut file, a limit) comes after everything before it.
	Open func() (io.ReadCloser, error)
	// Stream says that the file is part of a stream: it can be opened once, and only until the
	// next step of the sequence. All other files can be opened at any time, also in parallel.
	Stream bool
	// Info is what the directory or the tar archive says of the file; for a member of a tar archive
	// its Sys is a *tar.Header. Nil where nothing is said, as for standard input.
	Info fs.FileInfo
	// Packed is how the file was compressed, which Open undoes: gzip, zstd, xz, bzip2; empty when it
	// was not.
	Packed string
	// Loose says that the file is an input by itself, neither in an archive nor below a directory.
	Loose bool
}

// Link is an entry of a bundle that only points to another one: a symbolic link, or a second name
// of a file that stands in the archive already. It is not followed, and is an *event.Skip as well.
type Link struct {
	*event.Skip
	Target string // as written
	Hard   bool   // a hard link: Target is a member of the archive, by its name there
}

// Unwrap gives the Skip.
func (l *Link) Unwrap() error { return l.Skip }

// Files yields the files of all inputs in a fixed order: inputs as given, a
// directory sorted by name, an archive as it is written.
//
// An error that is an *event.Skip is about one entry that is not read. Any other is about one input
// as a whole (it does not exist, the archive is cut); what was yielded of it before stays valid.
// The sequence goes on after both. It ends early, with an error, only when ctx is done or there are
// too many entries.
func Files(ctx context.Context, opt Options) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		w := walker{ctx: ctx, opt: opt, budget: newBudget(opt.Limits), seen: map[string]bool{}, yield: yield}
		prefixes := prefixesOf(disk{opt.Root}, opt.Inputs)
		for i, input := range opt.Inputs {
			if !w.walkInput(input, prefixes[i]) {
				return
			}
		}
	}
}

// prefixesOf gives each directory or archive a name to put in front of its
// files, where there are several of its kind; empty for all others.
func prefixesOf(on disk, inputs []string) []string {
	kinds := make([]inputKind, len(inputs))
	count := map[inputKind]int{}
	for i, input := range inputs {
		kinds[i] = kindOf(on, input)
		count[kinds[i]]++
	}
	names := make([]string, len(inputs))
	taken := map[string]bool{}
	for i, input := range inputs {
		if kinds[i] == loose || count[kinds[i]] < 2 {
			continue
		}
		clean := filepath.ToSlash(filepath.Clean(input))
		names[i] = path.Base(clean)
		if names[i] == "." || names[i] == ".." || names[i] == "/" || taken[names[i]] {
			names[i] = fmt.Sprintf("%s#%d", names[i], i+1)
		}
		taken[names[i]] = true
	}
	return names
}

type inputKind uint8

const (
	loose inputKind = iota
	directory
	archive
)

// kindOf looks at an input without consuming it. What cannot be opened counts as a loose file;
// reading it says why.
func kindOf(on disk, input string) inputKind {
	info, err := on.stat(input)
	switch {
	case input == "-" || err != nil:
		return loose
	case info.IsDir():
		return directory
	case !info.Mode().IsRegular():
		return loose
	}
	f, err := on.open(input)
	if err != nil {
		return loose
	}
	defer f.Close()
	if head := newHead(f); head.isArchive() {
		return archive
	}
	return loose
}

// IsArchive says whether a file on disk is an archive that Files walks.
func IsArchive(path string) bool { return kindOf(disk{}, path) == archive }

// disk is where inputs are opened: below a root, or anywhere for the zero disk.
type disk struct{ root *os.Root }

func (d disk) stat(name string) (fs.FileInfo, error) {
	if d.root != nil {
		return d.root.Stat(name)
	}
	return os.Stat(name)
}

func (d disk) open(name string) (*os.File, error) {
	if d.root != nil {
		return d.root.Open(name)
	}
	return os.Open(name)
}

// tree is a directory with all that is in it.
func (d disk) tree(name string) (tree fs.FS, err error) {
	if d.root == nil {
		return os.DirFS(name), nil
	}
	below, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return below.FS(), nil // the root is closed when nobody has it any more
}

// walker is the state of one sequence.
type walker struct {
	ctx     context.Context
	opt     Options
	budget  *budget
	entries int             // files, directories and others that were seen
	nested  int             // archives that are open, one inside the other
	inside  bool            // the input is a directory
	out     *unpacked       // of the outermost of them
	seen    map[string]bool // paths that were yielded
	heads   []*head         // of members that have been read
	yield   func(File, error) bool
}

// yieldSkip yields the Skip of an entry that is not read.
func (w *walker) yieldSkip(name, format string, args ...any) bool {
	return w.yield(File{}, &event.Skip{Pos: event.Pos{File: name}, Reason: fmt.Sprintf(format, args...)})
}

// yieldLink yields an entry that points to another one.
func (w *walker) yieldLink(name, target string, hard bool) bool {
	kind := "symbolic"
	if hard {
		kind = "hard"
	}
	reason := fmt.Sprintf("%s link to %.256q is not followed", kind, target)
	return w.yield(File{}, &Link{&event.Skip{Pos: event.Pos{File: clipName(name)}, Reason: reason}, target, hard})
}

// walkInput yields the files of one input. False ends the sequence.
func (w *walker) walkInput(input, prefix string) bool {
	if input == "-" {
		if w.opt.Stdin == nil {
			return w.yield(File{}, errors.New("stdin: not available"))
		}
		return w.countEntry("stdin") && w.walkStream("stdin", w.watchReads(io.NopCloser(w.opt.Stdin)), "")
	}
	on := disk{w.opt.Root}
	info, err := on.stat(input)
	if err != nil {
		return w.yield(File{}, err)
	}
	if !w.countEntry(input) {
		return false
	}
	if info.IsDir() {
		w.inside = true
		defer func() { w.inside = false }()
		tree, err := on.tree(input)
		if err != nil {
			return w.yield(File{}, err)
		}
		return w.walkDirectory(tree, input, prefix)
	}
	name := filepath.ToSlash(filepath.Clean(input))
	open := func() (io.ReadCloser, error) { return w.watchFile(on.open(input)) }
	if info.Mode().IsRegular() {
		return w.walkFile(name, prefix, info, open)
	}
	f, err := open() // a pipe, such as a shell's <(command)
	if err != nil {
		return w.yield(File{}, err)
	}
	defer f.Close()
	return w.walkStream(name, f, prefix)
}

// walkDirectory yields the regular files below fsys.
//
// root is where fsys is on disk; empty for one that is not.
func (w *walker) walkDirectory(fsys fs.FS, root, prefix string) bool {
	more := true
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		full := path.Join(prefix, name)
		if more = w.countEntry(full); !more {
			return fs.SkipAll
		}
		if err != nil {
			if more = w.yieldSkip(full, "%s", reasonWithoutPath(err)); !more {
				return fs.SkipAll
			}
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case d.IsDir():
			if why := w.refuseDirectory(root, name, full); why != "" {
				if more = w.yieldSkip(full, "%s", why); more {
					return fs.SkipDir
				}
			} else if name != "." {
				info, _ := d.Info() // of one that has gone nothing is known
				more = w.yieldDirectory(full, info)
			}
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := fs.ReadLink(fsys, name) // of one that cannot be read nothing is known
			more = w.yieldLink(full, target, false)
		case !d.Type().IsRegular():
			more = w.yieldSkip(full, "%s is not read", nameOfMode(d.Type()))
		default:
			more = w.walkEntry(fsys, name, full, d)
		}
		if !more {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil && more {
		return w.yield(File{}, fmt.Errorf("%s: %w", prefix, err))
	}
	return more
}

// refuseDirectory says why a directory is not read; empty if it is.
func (w *walker) refuseDirectory(root, name, full string) string {
	if strings.Count(full, "/") >= w.budget.limits.Depth {
		return fmt.Sprintf("more than %d directories deep", w.budget.limits.Depth)
	}
	if root == "" {
		return ""
	}
	if live := liveFileSystem(filepath.Join(root, filepath.FromSlash(name))); live != "" {
		return fmt.Sprintf("%s is the running kernel's and has files that never end; plegdiag collect reads it safely", live)
	}
	return ""
}

// walkEntry yields one regular file of a directory.
func (w *walker) walkEntry(fsys fs.FS, name, full string, d fs.DirEntry) bool {
	info, err := d.Info()
	if err != nil {
		info = nil
	}
	return w.walkFile(full, full, info, func() (io.ReadCloser, error) { return w.watchFile(fsys.Open(name)) })
}

// watchFile returns a file on disk whose reads are reported to Progress.
func (w *walker) watchFile(f fs.File, err error) (io.ReadCloser, error) {
	if err != nil {
		return nil, err
	}
	return w.watchReads(f), nil
}

func (w *walker) watchReads(r io.ReadCloser) io.ReadCloser {
	if w.opt.Progress == nil {
		return r
	}
	return watchedReader{r, w.opt.Progress}
}

// watchedReader reports how much was read.
type watchedReader struct {
	io.ReadCloser
	progress func(n int)
}

func (t watchedReader) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.progress(n)
	return n, err
}

// yieldDirectory yields a directory, if the caller wants these.
func (w *walker) yieldDirectory(full string, info fs.FileInfo) bool {
	if !w.opt.Directories || info == nil || w.budget.refuseFile(full, 0) != "" {
		return true
	}
	return w.yield(File{Path: full, Info: info}, nil)
}

// walkFile yields a file on disk, or the members of the archive that it is, each under prefix. Info
// is nil where nothing is known of it.
func (w *walker) walkFile(name, prefix string, info fs.FileInfo, open func() (io.ReadCloser, error)) bool {
	f, err := open()
	if err != nil {
		return w.yieldSkip(name, "%s", reasonWithoutPath(err))
	}
	defer f.Close()
	head := newHead(f)
	size := int64(-1)
	switch {
	case head.isArchive():
		return w.walkArchive(name, head, prefix)
	case head.packed == "" && info != nil:
		size = info.Size()
	}
	return w.yieldFile(File{Path: name, Size: size, Info: info, Packed: head.packed, Open: func() (io.ReadCloser, error) {
		f, err := open()
		if err != nil {
			return nil, err
		}
		return w.budget.limitReader(newHead(f).content(w.budget.limits), f, nil), nil
	}})
}

// walkStream yields what a pipe carries: the members of an archive, or one file.
func (w *walker) walkStream(name string, r io.Reader, prefix string) bool {
	head := newHead(r)
	if head.isArchive() {
		return w.walkArchive(name, head, prefix)
	}
	once := oneTime{r: w.budget.limitReader(head.content(w.budget.limits), nil, nil)}
	defer once.expire()
	return w.yieldFile(File{Path: name, Size: -1, Stream: true, Packed: head.packed, Open: once.open})
}

// countEntry counts an entry. It ends the sequence when ctx is done or when there are more entries
// than the limit.
func (w *walker) countEntry(name string) bool {
	err := w.ctx.Err()
	if w.entries++; err == nil && w.entries > w.budget.limits.Files {
		err = fmt.Errorf("%s: more than %d entries; the rest is not read", name, w.budget.limits.Files)
	}
	if err != nil {
		w.yield(File{}, err)
	}
	return err == nil
}

// yieldFile yields a file, or a Skip when its name or its size is beyond the limits.
func (w *walker) yieldFile(f File) bool {
	if why := w.budget.refuseFile(f.Path, f.Size); why != "" {
		return w.yieldSkip(clipName(f.Path), "%s", why)
	}
	if w.seen[f.Path] {
		return w.yieldSkip(f.Path, "a second file of this name is not read")
	}
	w.seen[f.Path] = true
	f.Loose = w.nested == 0 && !w.inside
	return w.yield(f, nil)
}

// nameOfMode says what an entry is that is no regular file.
func nameOfMode(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// reasonWithoutPath is an error without the path, which the Skip has already.
func reasonWithoutPath(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Op + ": " + p.Err.Error()
	}
	return err.Error()
}

// oneTime is a stream that can be opened once, until it expires.
type oneTime struct {
	r      io.ReadCloser
	opened bool
	gone   bool
}

func (o *oneTime) expire() { o.gone = true }

func (o *oneTime) open() (io.ReadCloser, error) {
	if o.opened || o.gone {
		return nil, errors.New("part of a stream that has been read")
	}
	o.opened = true
	return o, nil
}

func (o *oneTime) Read(p []byte) (int, error) {
	if o.gone {
		return 0, errors.New("part of a stream that has moved on")
	}
	return o.r.Read(p)
}

func (o *oneTime) Close() error { return o.r.Close() }
