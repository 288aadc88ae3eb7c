package parse

import (
	"bytes"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// pprofGoroutines starts a goroutine profile of runtime/pprof (debug=0): one sample type, strings 1
// and 2 of the string table, and then samples. CPU and heap profiles have several types.
var pprofGoroutines = []byte{0x0a, 4, 8, 1, 16, 2, 0x12}

// sniffGoroutines knows the text of runtime.Stack and of a goroutine profile
// (debug=1 and 2), and the profile in protocol buffers. Reading them is package stackdump's work.
func sniffGoroutines(head []byte) float64 {
	if bytes.HasPrefix(head, pprofGoroutines) || bytes.HasPrefix(head, []byte("goroutine profile: total ")) {
		return 1
	}
	return lines.Share(head, func(line []byte) lines.Sign {
		switch {
		case bytes.HasPrefix(line, []byte("goroutine ")) && bytes.IndexByte(line, '[') > 0 && !bytes.Contains(line, []byte(`]:\n`)):
			return lines.Proves
		case line[0] == '\t' && bytes.Contains(line, []byte(".go:")),
			lines.StartsWith(line, "created by ", "=== ", "..."),
			line[len(line)-1] == ')' && bytes.IndexByte(line, '.') > 0 && line[0] != ' ':
			return lines.Fits
		}
		return lines.Foreign
	})
}
