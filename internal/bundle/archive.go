package bundle

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// walkArchive yields the members of an archive, prefix in front of their names.
func (w *walker) walkArchive(name string, head *head, prefix string) bool {
	if w.nested++; w.nested > w.budget.limits.Nesting {
		w.nested--
		return w.yieldSkip(name, "archives inside archives, more than %d deep", w.budget.limits.Nesting)
	}
	defer func() { w.nested-- }()
	zip, in := head.isZip(), head.content(w.budget.limits) // ReadAhead's goroutine uses head from here on
	if head.packed != "" && w.opt.ReadAhead != nil && w.nested == 1 {
		in = w.opt.ReadAhead(in)
		if c, ok := in.(io.Closer); ok {
			defer c.Close()
		}
	}
	if w.nested == 1 {
		w.out = &unpacked{budget: w.budget}
	}
	from := &archiveStream{r: in, out: w.out, outermost: w.nested == 1}
	kept, more, err := 0, false, error(nil)
	if zip {
		kept, more, err = w.walkZip(name, from, prefix)
	} else {
		kept, more, err = w.walkTar(name, from, prefix)
	}
	if err == nil {
		return more
	}
	broken := &ArchiveError{Path: name, Kept: kept, Err: from.locateError(err, head)}
	if w.nested > 1 {
		return w.yieldSkip(name, "%s", broken.describe())
	}
	return w.yield(File{}, broken)
}

// ArchiveError is about an input that is an archive and was not read to its end. What was yielded
// of it stays valid.
type ArchiveError struct {
	Path string
	Kept int // files that were yielded
	Err  error
}

func (e *ArchiveError) Error() string { return e.Path + ": " + e.describe() }

func (e *ArchiveError) describe() string {
	if e.Kept == 1 {
		return fmt.Sprintf("%v; the file before it is kept", e.Err)
	}
	return fmt.Sprintf("%v; %d files before it are kept", e.Err, e.Kept)
}

// Unwrap gives the reason.
func (e *ArchiveError) Unwrap() error { return e.Err }

// archiveStream is what an archive is read from. It counts, and ends with an error, once for all,
// when archives become more than the limits allow.
type archiveStream struct {
	r         io.Reader
	out       *unpacked
	outermost bool
	n         int64
	drained   bool  // r has given its end or its error
	err       error // why it ended
}

func (a *archiveStream) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.r.Read(p)
	a.n += int64(n)
	a.drained = err != nil
	if a.outermost {
		a.out.in.Add(int64(n))
	} else if err == nil {
		err = a.out.addOutput(int64(n))
	}
	if walked := a.out.budget.addWalked(int64(n)); err == nil {
		err = walked
	}
	a.err = err
	return n, err
}

// locateError adds to an error how far the archive was read, unless the error says where it is.
// When an archive is inflated ahead of the walk, how much of the file was read is the same in every
// run only at its end.
func (a *archiveStream) locateError(err error, head *head) error {
	if _, ok := errors.AsType[*badHeader](err); ok {
		return err
	}
	if head.packed != "" && !a.drained {
		return fmt.Errorf("%w at byte %d of what it unpacks to", err, a.n)
	}
	return fmt.Errorf("%w at %d bytes", err, head.raw.n.Load())
}

// walkZip yields the members of a zip archive, and says how many there were. More is false when the
// sequence ends.
func (w *walker) walkZip(name string, from *archiveStream, prefix string) (kept int, more bool, err error) {
	raw := &countingReader{r: from}
	for members := newZip(raw, w.out); ; {
		e, err := members.nextEntry()
		if errors.Is(err, io.EOF) {
			return kept, true, nil
		}
		if errors.Is(err, errNoEntry) && members.listed {
			return kept, w.yieldSkip(name, "what follows the end of the archive is not read: %v", err), nil
		}
		if err != nil {
			return kept, true, err
		}
		if !w.countEntry(name) {
			return kept, false, nil
		}
		full, why := cleanName(e.name, w.budget.limits)
		if why == "" {
			why = e.why
		}
		switch {
		case why != "":
			if !w.yieldSkip(clipName(path.Join(prefix, full)), "%s", why) {
				return kept, false, nil
			}
		case !strings.HasSuffix(e.name, "/"):
			kept++
			guarded := &inflatedReader{r: members, in: raw, before: raw.n.Load(), limit: w.budget.limits.Ratio}
			if !w.yieldMember(File{Path: path.Join(prefix, full), Size: e.size, ModTime: e.modified}, guarded) {
				return kept, false, nil
			}
		}
	}
}

// yieldMember yields one regular file of an archive, or the members of the archive that it is.
func (w *walker) yieldMember(f File, r io.Reader) bool {
	head := w.borrowHead(r)
	defer w.returnHead(head)
	if head.isArchive() {
		return w.walkArchive(f.Path, head, f.Path)
	}
	if f.Packed = head.packed; f.Packed != "" {
		f.Size = -1
	}
	once := oneTime{r: w.budget.limitReader(head.content(w.budget.limits), nil, w.out)}
	defer once.expire()
	f.Stream, f.Open = true, once.open
	return w.yieldFile(f)
}

// borrowHead is the head of a member. Archives hold many, one read after the other, so that one
// head does for all: a nested archive needs another.
func (w *walker) borrowHead(r io.Reader) *head {
	n := len(w.heads)
	if n == 0 {
		return newHead(r)
	}
	h := w.heads[n-1]
	w.heads = w.heads[:n-1]
	h.begin(r)
	return h
}

// returnHead takes a head back whose member is not read any more.
func (w *walker) returnHead(h *head) { w.heads = append(w.heads, h) }

// cleanName is a member's name in its shortest form, and why it is not read when it leads out of
// the archive or too deep.
func cleanName(written string, limits Limits) (name, why string) {
	name = path.Clean(written)
	switch {
	case path.IsAbs(written) || name == ".." || strings.HasPrefix(name, "../"):
		return name, "name points outside of the archive"
	case strings.Count(name, "/") >= limits.Depth:
		return name, fmt.Sprintf("more than %d directories deep", limits.Depth)
	}
	return name, ""
}
