package logs

import (
	"bytes"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// scanTerminal reads the header of logrus when it writes to a terminal, as containerd, dockerd and
// k3s do when they run in a terminal. Its colours have been taken off.
//
//	INFO[2025-11-08T09:30:11.885000000+08:00] starting containerd        revision=d62d revision=x
//	WARN[0012] seconds since the start, which are no time
func (h *header) scanTerminal(b []byte) bool {
	if b[4] != '[' || b[0] == ' ' || b[3] == ' ' || !strings.Contains(terminalLevels, string(b[:4])) {
		return false
	}
	end := bytes.IndexByte(b[:min(len(b), 48)], ']')
	if end < 6 || end+1 >= len(b) || b[end+1] != ' ' {
		return false
	}
	if t, n := stamp.ISO(b[5:end]); n == end-5 {
		h.inner = t
	} else if _, d := lines.Digits(b[5:end]); d != end-5 {
		return false
	}
	h.level, h.body, h.msg = readLevel(b), terminal, end+2
	return true
}

// terminalLevels are logrus' levels in four letters.
const terminalLevels = " TRAC DEBU INFO WARN ERRO FATA PANI "
