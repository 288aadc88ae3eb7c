package incident

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/layout"
	"github.com/plegdiag/plegdiag/internal/observe/messages"
	"github.com/plegdiag/plegdiag/internal/observe/states"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

// reader reads the files of the inputs. Its tables are never written to while files are read side
// by side.
type reader struct {
	// readFormat reads a file whose format is known into its slot. A format that is not asked for
	// stays unread.
	readFormat func(ctx context.Context, f bundle.File, in parse.Opened, slot *file)
	wanted     *lines.Literals // every line of a log that is looked at holds one of them
	lines      *messages.Lines // what rules ask for by text
	watched    event.Pos       // the line whose reading is explained; zero for none
	traces     traceReader
}

// builtinLiterals are the strings of which one stands in every line that the program knows.
var builtinLiterals = sync.OnceValue(func() *lines.Literals {
	return lines.NewLiterals(slices.Concat(messages.Literals(), states.KubectlLiterals))
})

// findLiterals are those and what rules ask for.
func findLiterals(asked []string) *lines.Literals {
	if len(asked) == 0 { // as of the rules that ship
		return builtinLiterals()
	}
	return lines.NewLiterals(slices.Concat(messages.Literals(), states.KubectlLiterals, asked))
}

// readEvidence reads all that can be on the timeline.
func readEvidence(ctx context.Context, o Options) ([]*file, error) {
	asked := messages.NewLines(o.Catalog.Lines())
	r := reader{
		wanted: findLiterals(asked.Literals()), lines: asked,
		watched: o.Watch,
		traces:  traceReader{room: traces.MaxHeldParts, newMaker: newTraceEvents},
	}
	r.readFormat = r.readEveryFormat
	files, failures, err := r.readInputs(ctx, o.Inputs)
	if len(failures) == len(files) {
		return nil, errors.Join(append(failures, err)...) // not a single file
	}
	return files, err
}

func (r *reader) readEveryFormat(ctx context.Context, f bundle.File, in parse.Opened, slot *file) {
	slot.named = in.Node
	switch read := in.Reader.(type) {
	case parse.Records:
		if traces.HasCalls(in.Head) {
			r.readLogAndTrace(ctx, read, in, slot)
		} else {
			r.readLog(ctx, read, in.R, slot)
		}
	case parse.Syscalls:
		r.traces.readTrace(ctx, f, in, slot)
	case parse.Samples:
		slot.readSamples(ctx, read, in.R)
	case parse.Data:
		slot.readSnapshot(ctx, read, in, r.lines)
	case parse.Dump:
		slot.readDump(f, in.R)
	case parse.Reference:
		slot.account.SetAside = true
		slot.skipAllLines(in.R, read.What+": no evidence")
	default:
		slot.account.Format = "unknown"
		slot.skipAllLines(in.R, "no known format")
	}
}

// readInputs walks the inputs and reads every file, at most GOMAXPROCS at once, each into its own
// slot, so that the result does not depend on which was first. Failures are of inputs that are not
// there or cannot be opened; the error says that the context ended.
func (r *reader) readInputs(ctx context.Context, in Inputs) (files []*file, failures []error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	files, failures = r.walkInputs(ctx, &wg, in)
	wg.Wait()
	followLinks(files)
	r.traces.readSets(ctx, files)
	return files, failures, ctx.Err()
}

// walkInputs starts to read all files; those of wg are done when they have been read.
func (r *reader) walkInputs(ctx context.Context, wg *sync.WaitGroup, in Inputs) (files []*file, failures []error) {
	work, known := make(chan func()), places{}
	defer close(work)
	for range runtime.GOMAXPROCS(0) { // not one for each file, whose stack would have to grow anew
		wg.Go(func() {
			for read := range work {
				read()
			}
		})
	}
	options := bundle.Options{
		Inputs: in.Paths, Stdin: in.Stdin, Limits: in.Limits, Root: in.Root, Progress: in.Progress,
		ReadAhead: func(src io.Reader) io.Reader { return readAhead(ctx, wg, src) },
	}
	for f, err := range bundle.Files(ctx, options) {
		if err != nil {
			slot, failed := unreadFile(err)
			files = append(files, slot)
			if failed {
				failures = append(failures, err)
			}
			continue
		}
		slot := known.newFile(f.Path)
		if event.Plausible(f.ModTime) { // no other is of use
			slot.modified = f.ModTime.UnixNano()
		}
		if watch := newWatch(f.Path, r.watched); watch != nil {
			slot.makeRare().watch = watch
		}
		files = append(files, slot)
		switch {
		case f.Stream && isSmallMember(f):
			f.Open = copyMember(f)
		case f.Stream:
			slot.makeRare().later = work
			r.readFile(ctx, f, slot)
			continue
		}
		work <- func() { r.readFile(ctx, f, slot) }
	}
	return files, failures
}

// isSmallMember says whether a member of an archive is copied, so that it is read beside those that
// follow it. Parts of a trace that strace -ff wrote are not: they share room, in their order.
func isSmallMember(f bundle.File) bool {
	const most = 1 << 20 // bytes; as many members at once as there are CPUs
	return f.Size >= 0 && f.Size <= most && !traces.MayBePart(f.Path)
}

// copyMember reads a member of an archive. The result gives what was read, and then the error that
// ended it.
func copyMember(f bundle.File) func() (io.ReadCloser, error) {
	src, err := f.Open()
	if err != nil {
		return func() (io.ReadCloser, error) { return nil, err }
	}
	defer src.Close()
	text, ok := spareCopies.Get().(*copied)
	if !ok {
		text = &copied{}
	}
	text.Grow(int(f.Size) + bytes.MinRead) // no second look for its end
	if _, err := text.ReadFrom(src); err != nil {
		return func() (io.ReadCloser, error) { return io.NopCloser(io.MultiReader(text, failing{err})), nil }
	}
	return func() (io.ReadCloser, error) { return text, nil }
}

// copied is a whole member, which [parse.Open] need not copy again.
type copied struct{ bytes.Buffer }

// spareCopies keeps the memory of members that were read, for others: of what was read nothing
// stays but copies.
var spareCopies sync.Pool

// Close gives the memory back.
func (c *copied) Close() error {
	const most = 64 << 10
	if c.Cap() <= most {
		c.Reset()
		spareCopies.Put(c)
	}
	return nil
}

// failing is a reader that only fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// joinMissing is the error of those who read dumps or traces alone: of inputs that do not exist. An
// archive that breaks off has an account that says so.
func joinMissing(failures []error, ended error) error {
	missing := slices.DeleteFunc(failures, func(err error) bool {
		_, broken := errors.AsType[*bundle.ArchiveError](err)
		return broken
	})
	return errors.Join(append(missing, ended)...)
}

// unreadFile is the slot of what the walk could not give; failed says that it is a whole input.
func unreadFile(err error) (slot *file, failed bool) {
	if link, ok := errors.AsType[*bundle.Link](err); ok {
		slot = newFile(link.Pos.File)
		slot.makeRare().link = link
		return slot, false
	}
	if skip, ok := errors.AsType[*event.Skip](err); ok {
		return refusedFile(skip.Pos.File, skip.Reason), false
	}
	input, reason, _ := strings.Cut(err.Error(), ": ") // bundle names the input first
	return refusedFile(input, reason), true
}

// readFile opens a file and reads it by the format that its first bytes have.
func (r *reader) readFile(ctx context.Context, f bundle.File, slot *file) {
	err := openFile(f, func(in parse.Opened) {
		slot.account.Format = in.Name
		if watch := slot.watching(); watch != nil {
			watch.entries = in.Entries
			in.R = watch.tapText(in.R)
		}
		if _, ok := in.Reader.(parse.Transcript); ok {
			r.readTranscript(ctx, f, in, slot)
			return
		}
		r.readFormat(ctx, f, in, slot)
	})
	if slot.rare == nil || !slot.rare.isLate {
		slot.dropRest()
	}
	switch {
	case errors.Is(err, parse.ErrEmpty):
		slot.account.Format = "empty"
	case err != nil:
		slot.account.Format, slot.account.Err = "unknown", err.Error()
	}
}

// openFile opens a file, finds its format and hands it to read.
func openFile(f bundle.File, read func(in parse.Opened)) error {
	src, err := f.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	in, err := parse.Open(src, f.Path)
	if err != nil {
		return err
	}
	read(in)
	return nil
}

// rereadInputs opens those files of the inputs once more that are wanted. Inputs that can be read
// only once, as stdin, are left out; what cannot be read is too: the first pass has said so.
func rereadInputs(
	ctx context.Context, in Inputs, wanted func(path string) bool, read func(path string, in parse.Opened),
) error {
	onDisk := slices.DeleteFunc(slices.Clone(in.Paths), func(path string) bool { return path == "-" })
	for f, err := range bundle.Files(ctx, bundle.Options{Inputs: onDisk, Limits: in.Limits, Root: in.Root}) {
		if ctx.Err() != nil {
			break
		}
		if err == nil && wanted(f.Path) {
			_ = openFile(f, func(opened parse.Opened) { read(f.Path, opened) })
		}
	}
	return ctx.Err()
}

// followLinks says of every link whether what it points to was read under its own name.
func followLinks(files []*file) {
	if !slices.ContainsFunc(files, func(f *file) bool { return f.readRare().link != nil }) {
		return
	}
	read := map[string]bool{}
	for _, f := range files {
		if f.readRare().link != nil {
			continue
		}
		for name := f.account.Path; name != "." && name != "/" && !read[name]; name = path.Dir(name) {
			read[name] = true // links to directories are as good
		}
	}
	for _, f := range files {
		link := f.readRare().link
		if link == nil {
			continue
		}
		f.account.Format = "link"
		f.account.Err = link.Reason
		for _, target := range layout.Link(f.account.Path, link.Target, link.Hard) {
			if read[target] {
				f.account.Note, f.account.Err = "link to "+target+", which is read", ""
				break
			}
		}
	}
}

// skipAllLines accounts for a file that is not read: all its lines are skipped, for one reason.
func (f *file) skipAllLines(r io.Reader, reason string) {
	for line, err := range lines.All(r) {
		if err != nil {
			f.account.Err = err.Error()
			return
		}
		f.account.Lines++
		if len(bytes.TrimSpace(line.Bytes)) == 0 {
			f.account.Blank++
		} else {
			f.account.Skipped++
		}
	}
	f.addSkip(&event.Skip{Pos: event.Pos{File: f.account.Path, Line: 1}, Reason: reason})
}
