package redact

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// Options say what to redact, and how.
type Options struct {
	Bundle bundle.Options // with one input
	Key    []byte         // of the tokens
	// KeepBinary copies files that have no lines as they are, instead of leaving them out.
	KeepBinary bool
	// Output is the name of what is written; its ending decides how it is packed: .zst is zstd, .tar
	// is not compressed, of a file that is no archive only .gz is; all else is gzip.
	Output string
	// Temp is a directory for large members, whose size has to be known first; empty is the system's.
	Temp string
}

// LeftOut is a file that is not in what was written, or not as a whole.
type LeftOut struct {
	Path string `json:"path"` // in the bundle
	Why  string `json:"why"`  // in words
}

// Account says what was done.
type Account struct {
	Files   int            `json:"files"`    // that were written
	Changed int            `json:"changed"`  // of the files, those in which something was replaced
	Values  int            `json:"values"`   // that were replaced by tokens
	ByRule  map[string]int `json:"by_rule"`  // the values, by the rule that found them
	LeftOut []LeftOut      `json:"left_out"` // files that were not written, or not as a whole
	Notes   []LeftOut      `json:"notes"`    // files that are not as they were
}

// Bundle copies an input without its secrets to out: an archive or a directory becomes an archive,
// a single file a file. Names, order, modes, the times that an archive has, and the number of lines
// of every file stay. An archive inside of it becomes a directory of its name.
func Bundle(ctx context.Context, opt Options, out io.Writer) (*Account, error) {
	w := &writer{opt: opt, out: out, account: &Account{LeftOut: []LeftOut{}, Notes: []LeftOut{}}, sums: map[string]sum{}}
	defer w.spool.close()
	w.spool.dir = opt.Temp
	opt.Bundle.Directories = true
	for f, err := range bundle.Files(ctx, opt.Bundle) {
		if err == nil {
			err = w.writeFile(&f)
		} else {
			err = w.noteError(ctx, err)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	w.account.Values, w.account.ByRule = w.counts.Total(), w.counts.ByName()
	return w.account, nil
}

// writer is the state of one copy.
type writer struct {
	opt     Options
	out     io.Writer
	zip     io.WriteCloser // what tar writes to; nil before the first member
	tar     *tar.Writer
	single  bool // the input was one file
	account *Account
	counts  Counts
	spool   spool
	sums    map[string]sum
	last    []heldFile // manifests and sums, which come last
}

// sum is what became of a file, for the manifest that names it.
type sum struct {
	hash    string
	bytes   int64
	counts  Counts
	leftOut string
}

// noteError notes what is not read. It returns the errors that end the copy.
func (w *writer) noteError(ctx context.Context, err error) error {
	if link, ok := errors.AsType[*bundle.Link](err); ok {
		return w.writeLink(link)
	}
	if skip, ok := errors.AsType[*event.Skip](err); ok {
		w.leaveOut(skip.Pos.File, skip.Reason)
		return nil
	}
	if broken, ok := errors.AsType[*bundle.ArchiveError](err); ok && broken.Kept > 0 && ctx.Err() == nil {
		w.account.Notes = append(w.account.Notes, LeftOut{broken.Path, broken.Err.Error() + "; what stands before it is kept"})
		return nil
	}
	return err
}

func (w *writer) leaveOut(name, why string) {
	w.account.LeftOut = append(w.account.LeftOut, LeftOut{name, why})
	w.sums[name] = sum{leftOut: why}
}

func (w *writer) note(name, what string) {
	w.account.Notes = append(w.account.Notes, LeftOut{name, what})
}

// begin begins the archive.
func (w *writer) begin() error {
	if w.tar != nil {
		return nil
	}
	zip, err := newPacker(w.out, w.opt.Output, true)
	if err != nil {
		return err
	}
	w.zip, w.tar = zip, tar.NewWriter(zip)
	return nil
}

// finish writes what comes last and ends the archive.
func (w *writer) finish() error {
	if w.single {
		return nil
	}
	if w.tar == nil && len(w.last) == 0 {
		return errors.New("nothing to redact: no file could be read")
	}
	if err := w.begin(); err != nil {
		return err
	}
	for i := range w.last {
		if err := w.writeHeld(&w.last[i]); err != nil {
			return err
		}
	}
	return errors.Join(w.tar.Close(), w.zip.Close())
}

// writeFile writes a file, or a directory.
func (w *writer) writeFile(f *bundle.File) error {
	if f.Open == nil {
		if err := w.begin(); err != nil {
			return err
		}
		h := w.headerOf(f, f.Path+"/")
		h.Typeflag, h.Size = tar.TypeDir, 0
		return w.tar.WriteHeader(h)
	}
	in, err := f.Open()
	if err != nil {
		w.leaveOut(f.Path, err.Error())
		return nil
	}
	defer in.Close()
	const headSize = 16 << 10
	content := bufio.NewReaderSize(in, headSize)
	head, _ := content.Peek(headSize) // what is wrong with it, reading says
	switch {
	case f.Loose:
		w.single = true
		return w.writeSingle(f, content, head)
	case isManifest(f.Path, head):
		return w.hold(f, content)
	}
	if isBinary(head) {
		if !w.opt.KeepBinary {
			w.leaveOut(f.Path, "binary: it cannot be redacted by lines")
			return nil
		}
		w.note(f.Path, "binary: kept as it is, not redacted")
	}
	return w.writeMember(f, content, head)
}

// writeSingle writes an input that is no archive.
func (w *writer) writeSingle(f *bundle.File, content *bufio.Reader, head []byte) error {
	if isBinary(head) {
		if !w.opt.KeepBinary {
			return fmt.Errorf("%s is binary: it cannot be redacted by lines", f.Path)
		}
		w.note(f.Path, "binary: kept as it is, not redacted")
	}
	zip, err := newPacker(w.out, w.opt.Output, false)
	if err != nil {
		return err
	}
	counts, err := w.copyContent(f.Path, zip, content, head)
	if err != nil {
		return err
	}
	w.count(counts)
	return zip.Close()
}

func (w *writer) count(c *Counts) {
	w.account.Files++
	if c.Total() > 0 {
		w.account.Changed++
	}
	w.counts.Add(c)
}

// writeMember writes a file of an archive, packed as it was.
func (w *writer) writeMember(f *bundle.File, content *bufio.Reader, head []byte) error {
	if err := w.begin(); err != nil {
		return err
	}
	name, packing := f.Path, f.Packed
	switch packing {
	case "xz", "bzip2":
		ending := map[string]string{"xz": ".xz", "bzip2": ".bz2"}[packing]
		name, packing = strings.TrimSuffix(name, ending)+".gz", "gzip"
		w.note(f.Path, "packed by gzip now: "+name)
	}
	w.spool.reset()
	zip, err := newPacker(&w.spool, map[string]string{"gzip": ".gz", "zstd": ".zst"}[packing], false)
	if err != nil {
		return err
	}
	counts, err := w.copyContent(f.Path, zip, content, head)
	if err = errors.Join(err, zip.Close(), w.spool.err); err != nil {
		return err
	}
	w.count(counts)
	w.sums[f.Path] = sum{hash: w.spool.sum(), bytes: w.spool.size, counts: *counts}
	return w.writeSpool(w.headerOf(f, name))
}

// writeSpool writes what is in the spool as a member.
func (w *writer) writeSpool(h *tar.Header) error {
	h.Typeflag, h.Size = tar.TypeReg, w.spool.size
	for record := range h.PAXRecords {
		if strings.HasSuffix(record, ".sha256") {
			h.PAXRecords[record] = w.spool.sum()
		}
	}
	if err := w.tar.WriteHeader(h); err != nil {
		return err
	}
	return w.spool.copyTo(w.tar)
}

// headerOf is the header of a member. Its time is the one that an archive had for it: that of a
// file in a directory is when it was copied, which would pass for evidence.
func (w *writer) headerOf(f *bundle.File, name string) *tar.Header {
	h := &tar.Header{Name: name, Mode: 0o644, ModTime: f.ModTime}
	if f.Info != nil {
		h.Mode = int64(f.Info.Mode().Perm())
		if was, ok := f.Info.Sys().(*tar.Header); ok {
			h.Mode, h.ModTime = was.Mode, was.ModTime
			h.Uid, h.Gid, h.Uname, h.Gname = was.Uid, was.Gid, was.Uname, was.Gname
			h.PAXRecords = ownRecords(was.PAXRecords)
		}
	}
	if h.ModTime.IsZero() {
		h.ModTime = time.Unix(0, 0)
	}
	return h
}

// ownRecords are the records of collect's bundles. Others are attributes of files, which can hold
// anything.
func ownRecords(all map[string]string) map[string]string {
	own := map[string]string{}
	for name, value := range all {
		if strings.HasPrefix(name, "SCHILY.xattr.user.plegdiag.") {
			own[name] = value
		}
	}
	return own
}

// writeLink writes a link as it is.
func (w *writer) writeLink(link *bundle.Link) error {
	if err := w.begin(); err != nil {
		return err
	}
	h := &tar.Header{Typeflag: tar.TypeSymlink, Name: link.Pos.File, Linkname: link.Target, Mode: 0o777, ModTime: time.Unix(0, 0)}
	if link.Hard {
		h.Typeflag, h.Linkname = tar.TypeLink, path.Clean(link.Target)
	}
	if h.Linkname == "" {
		w.leaveOut(h.Name, link.Reason)
		return nil
	}
	return w.tar.WriteHeader(h)
}

// filter takes content and passes on what it may.
type filter interface {
	Filter(dst *bytes.Buffer, content []byte, last bool)
	Counts() *Counts
}

// filterOf is the filter for a file that begins with head, and how the file is read.
func filterOf(key []byte, in io.Reader, head []byte) (filter, io.Reader) {
	if bytes.HasPrefix(head, []byte("__CURSOR=")) {
		return NewExport(key), in
	}
	if !bytes.HasPrefix(head, lines.BOM) {
		in, _ = lines.Decode(in, head)
	}
	return New(key), in
}

// copyContent copies a file without its secrets. A file that cannot be read to its end is noted.
func (w *writer) copyContent(name string, out io.Writer, content io.Reader, head []byte) (*Counts, error) {
	if isBinary(head) {
		_, err := io.Copy(out, content)
		return &Counts{}, err
	}
	f, in := filterOf(w.opt.Key, content, head)
	var clean bytes.Buffer
	for chunk := make([]byte, 64<<10); ; {
		n, err := in.Read(chunk)
		f.Filter(&clean, chunk[:n], err != nil)
		if _, err := clean.WriteTo(out); err != nil {
			return nil, err
		}
		if errors.Is(err, io.EOF) {
			return f.Counts(), nil
		}
		if err != nil {
			w.note(name, "cut: "+err.Error())
			return f.Counts(), nil
		}
	}
}

// isBinary says that a file has no lines: a journal's own file, a profile, a core. A few odd bytes,
// and the zeros that a crash leaves in a log, are none.
func isBinary(head []byte) bool {
	if _, text := lines.Decode(nil, head); text {
		return false
	}
	for _, magic := range []string{"LPKSHHRH", "\x7fELF", "SQLite format 3\x00", "\x1f\x9d", "7z\xbc\xaf", "Rar!", "%PDF-", "\x89PNG"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	odd, zeros := 0, 0
	for i := 0; i < len(head); {
		c, n := utf8.DecodeRune(head[i:])
		switch {
		case c == 0:
			zeros++
		case c == utf8.RuneError && n == 1 && (len(head)-i >= utf8.UTFMax || utf8.FullRune(head[i:])), c < ' ' && !strings.ContainsRune("\t\n\r\f\b\x1b", c):
			odd++
		}
		i += n
	}
	const share = 20 // one in so many
	return odd*share > len(head)-zeros && odd > 1
}

// DefaultName is the name of what is written when none is given, in the current directory: that of
// the input with .redacted in front of its ending.
func DefaultName(input string, archive bool) string {
	base := filepath.Base(filepath.Clean(input))
	if archive {
		for _, ending := range []string{".tar.gz", ".tar.zst", ".tar.xz", ".tar.bz2", ".tgz", ".txz", ".tbz2", ".tzst", ".tar", ".zip"} {
			if stem, ok := strings.CutSuffix(base, ending); ok {
				base = stem
				if ending == ".tar.zst" || ending == ".tzst" {
					return base + ".redacted.tar.zst"
				}
				break
			}
		}
		return base + ".redacted.tgz"
	}
	for _, ending := range []string{".gz", ".zst", ".xz", ".bz2"} {
		base = strings.TrimSuffix(base, ending)
	}
	ending := filepath.Ext(base)
	if ending == base {
		ending = ""
	}
	return strings.TrimSuffix(base, ending) + ".redacted" + ending
}

// IsArchive says whether an input becomes an archive: it is one, or a directory. Standard input is
// known only when it is read.
func IsArchive(input string) bool {
	info, err := os.Stat(input)
	return err == nil && info.IsDir() || bundle.IsArchive(input)
}
