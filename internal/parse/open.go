package parse

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// Opened is a file with its format, from its first byte.
type Opened struct {
	Format // the zero Format when none understands half of the first bytes
	// R is the whole file from its first byte, without the prefix that quoting put before its
	// lines.
	R    io.Reader
	Head *lines.Head // its first bytes, as R gives them
	Node string      // that talosctl dmesg names before every line; empty for all others
}

// ErrEmpty says that a file has no bytes.
var ErrEmpty = errors.New("empty")

// held is a reader that has all that is left of a file, as [bytes.Buffer].
type held interface{ Bytes() []byte }

// Open finds the format of what r holds, by its first bytes, and the path where they leave a tie. A
// file that was quoted into a ticket is taken out of its quotation when only that makes it more
// than text. What only speaks about programs is set aside as a [Reference], and prose is read as
// such. It fails with ErrEmpty, or with what r said when it gave nothing; an error that r has
// later comes out of Opened.R.
func Open(r io.Reader, path string) (Opened, error) {
	o, err := openFormat(r, path)
	if err == nil {
		o.setReferenceAside(path)
	}
	return o, err
}

// ReadAsRows makes a table of what holds rows of a listing, whose header the command names that
// printed them; an empty header names none.
func (o *Opened) ReadAsRows(header string) {
	if header == "" || o.Name == tableFormat || !snapshots.HasRows(o.Head, header) {
		return
	}
	o.Format = Formats[slices.IndexFunc(Formats, func(f Format) bool { return f.Name == tableFormat })]
}

// tableFormat is the name of the format of listings.
const tableFormat = "table"

// openFormat is Open for files that are evidence.
func openFormat(r io.Reader, path string) (Opened, error) {
	head, whole, err := readHead(r)
	n := len(head)
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return Opened{}, ErrEmpty
	case n == 0:
		return Opened{}, err
	}
	o, err := openRead(r, path, head, whole)
	o.Node = findTalosNode(head)
	return o, err
}

// openRead is openFormat for a file whose first bytes, or all of them, are read.
func openRead(r io.Reader, path string, head []byte, whole bool) (Opened, error) {
	o := Opened{R: lines.Hold(head), Head: lines.NewHead(head)}
	if !whole {
		o.R = io.MultiReader(o.R, r) // a failed read fails again
	}
	if text, ok := lines.Decode(o.R, head); ok {
		if o = openText(text); len(o.Head.Text) == 0 {
			return Opened{}, ErrEmpty
		}
	}
	if o = o.restored(path); len(o.Head.Text) == 0 {
		return Opened{}, ErrEmpty
	}
	head = o.Head.Text
	format, ok := detect(o.Head, path)
	if !ok {
		return o, nil
	}
	o.Format = format
	if format.Name != Text {
		return o, nil
	}
	prefix := lines.FindPastePrefix(head)
	if prefix == nil {
		return o.withoutOrigin(path), nil
	}
	text, _ := io.ReadAll(lines.WithoutPrefix(bytes.NewReader(head), prefix)) // cannot fail
	bare := lines.NewHead(text)
	if inner, known := detect(bare, path); known && inner.Name != Text {
		return Opened{Format: inner, R: lines.WithoutPrefix(o.R, prefix), Head: bare}, nil
	}
	return o.withoutOrigin(path), nil
}

// openText is a text without its format.
func openText(text io.Reader) Opened {
	head := make([]byte, lines.HeadSize)
	n, _ := io.ReadFull(text, head) // it fails again
	return Opened{R: io.MultiReader(bytes.NewReader(head[:n]), text), Head: lines.NewHead(head[:n])}
}

// maxRestored is how often a text is restored: a page of a mail that quotes what cat -n printed.
const maxRestored = 4

// restored is a text as it was before it came through pages, mails and terminals. Logs keep their
// colours, which their reader takes off: their quotes are then the bytes of the file.
func (o Opened) restored(path string) Opened {
	if !lines.IsText(o.Head) {
		return o
	}
	for range maxRestored {
		restore := lines.FindRestorer(o.Head)
		if restore == nil {
			break
		}
		if o.Head.HoldsByte('\x1b') { // which stands before what is taken off
			o.R = lines.StripColours(o.R)
		}
		o = openText(restore(o.R))
	}
	if !o.Head.HoldsByte('\x1b') {
		return o
	}
	format, known := detect(o.Head, path)
	if _, log := format.Reader.(Records); known && log && format.Name != Text {
		return o
	}
	return openText(lines.StripColours(o.R))
}

// withoutOrigin is a text without what stands before each of its lines, when only that makes it
// more than text.
func (o Opened) withoutOrigin(path string) Opened {
	origin := FindOrigin(o.Head)
	if origin == nil {
		return o
	}
	// reading learns more names: the file is read by what is known at its start, too
	again := *origin
	again.seen = maps.Clone(origin.seen)
	text, _ := io.ReadAll(WithoutOrigin(bytes.NewReader(o.Head.Text), &again)) // cannot fail
	bare := lines.NewHead(text)
	inner, known := detect(bare, path)
	if !known || inner.Name == Text {
		return o
	}
	return Opened{Format: inner, R: WithoutOrigin(o.R, origin), Head: bare}
}

// TextOpener opens a file again as Open did: what it returns gives the text from its first byte,
// and what to close when that has been read.
func TextOpener(path string, open func() (io.ReadCloser, error)) func() (text io.Reader, file io.Closer, err error) {
	return func() (io.Reader, io.Closer, error) {
		file, err := open()
		if err != nil {
			return nil, nil, err
		}
		opened, err := Open(file, path)
		if err != nil {
			file.Close()
			return nil, nil, err
		}
		return opened.R, file, nil
	}
}

// readHead reads the first bytes of a file, and says whether they are all of it. Most files of a
// node are far smaller than what decides at most.
func readHead(r io.Reader) (head []byte, whole bool, err error) {
	if all, ok := r.(held); ok && len(all.Bytes()) > 0 && len(all.Bytes()) <= lines.HeadSize {
		return all.Bytes(), true, nil
	}
	const small = 4 << 10
	head = make([]byte, small)
	n, err := io.ReadFull(r, head)
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) { // as of an archive that was cut, which fails again
			more, again := r.Read(head[n : n+1])
			return head[:n+more], more == 0 && errors.Is(again, io.EOF), err
		}
		return head[:n], false, err
	}
	head = append(make([]byte, 0, lines.HeadSize), head...)
	n, err = io.ReadFull(r, head[small:lines.HeadSize])
	return head[:small+n], false, err
}
