package logs

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// scannedLine is what a line of a log shows without the lines before it.
type scannedLine struct {
	object int // where the JSON begins that the line is; -1 for none
	// headed says that header is that of the line. It is false where the line is looked at in
	// other ways, too: it has colours, or it is JSON.
	headed bool
	header header
	// searched says that the literals were looked for behind the header, and found that one of them
	// stands there.
	searched, found bool
}

// rowsAhead are the lines of the file, looked at ahead of their use.
func (l *logReader) rowsAhead() lines.Rows[scannedLine] {
	literals := l.Literals
	scan := func(b *lines.Batch[scannedLine]) {
		coloured := b.MayHoldByte('\x1b')
		for i := range b.Rows {
			b.Rows[i].Of.scanLine(lineBody(b.Rows[i].Bytes), coloured, literals)
		}
	}
	return lines.Rows[scannedLine]{Lines: l.lines, Scan: scan, Go: l.Go, Spare: l.Spare}
}

// scanLine looks at a line without its carriage return. Coloured says that it may have colours.
func (s *scannedLine) scanLine(b []byte, coloured bool, literals *lines.Literals) {
	s.headed, s.searched, s.found, s.object = false, false, false, -1
	if i := nodePrefixLength(b); i < len(b) && b[i] == '{' {
		s.object = i
		return
	}
	if s.header = scanHeader(b); coloured && bytes.IndexByte(b, '\x1b') >= 0 {
		return
	}
	s.headed, s.searched = true, true
	if literals == nil {
		return
	}
	if s.header.body != none {
		b = b[s.header.msg:]
	}
	s.found = literals.Match(b)
}

// wants says whether what stands behind the header of the line may matter.
func (l *logReader) wants(s *scannedLine, message []byte) bool {
	if s.searched {
		return s.found || l.WantsWithoutLiteral(message)
	}
	return l.Wants(message)
}

// lineBody is a line without a carriage return, and without what journalctl's formats of events put
// before their objects.
func lineBody(b []byte) []byte {
	b = lines.TrimReturn(b)
	if len(b) == 0 {
		return b
	}
	switch b[0] {
	case 0x1e: // journalctl -o json-seq
		return b[1:]
	case 'd': // journalctl -o json-sse
		return bytes.TrimPrefix(b, sse)
	}
	return b
}

var sse = []byte("data: ")
