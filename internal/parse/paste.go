package parse

import (
	"bufio"
	"bytes"
	"io"
)

// pastePrefixes are what mail, tickets and chats put before every line that
// somebody quotes: Markdown's block quote and code block.
var pastePrefixes = [][]byte{[]byte("> "), []byte("\t"), []byte("        "), []byte("    "), []byte("  ")}

// PastePrefix is what stands before nearly every line of head because it was
// quoted on its way; empty when nothing does.
func PastePrefix(head []byte) []byte {
	for _, prefix := range pastePrefixes {
		lines, quoted := 0, 0
		for line := range bytes.Lines(head) {
			if line = bytes.TrimRight(line, " \r\n"); len(line) == 0 || bytes.Equal(line, bytes.TrimRight(prefix, " ")) {
				continue
			}
			lines++
			if bytes.HasPrefix(line, prefix) {
				quoted++
			}
		}
		if lines > 0 && quoted*10 >= lines*9 {
			return prefix
		}
	}
	return nil
}

// WithoutPrefix reads r with prefix taken off every line that has it. Lines
// keep their numbers, and what is left of a line is still a part of it.
func WithoutPrefix(r io.Reader, prefix []byte) io.Reader {
	return &unquoted{r: bufio.NewReaderSize(r, 64<<10), prefix: prefix, start: true}
}

type unquoted struct {
	r      *bufio.Reader
	prefix []byte
	start  bool // at the start of a line
}

func (u *unquoted) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if u.start {
		head, err := u.r.Peek(len(u.prefix))
		if len(head) == 0 {
			return 0, err
		}
		if bytes.Equal(head, u.prefix) {
			if _, err := u.r.Discard(len(head)); err != nil {
				return 0, err
			}
		} else if bare := bytes.TrimRight(u.prefix, " "); len(bare) > 0 && len(head) > len(bare) && bytes.HasPrefix(head, bare) && head[len(bare)] == '\n' {
			_, _ = u.r.Discard(len(bare)) // ">" before an empty line; cannot fail for what Peek returned
		}
		u.start = false
	}
	if _, err := u.r.Peek(1); err != nil {
		return 0, err
	}
	ready, _ := u.r.Peek(min(u.r.Buffered(), len(p)))
	if i := bytes.IndexByte(ready, '\n'); i >= 0 {
		ready, u.start = ready[:i+1], true
	}
	n := copy(p, ready)
	_, _ = u.r.Discard(n)
	return n, nil
}
