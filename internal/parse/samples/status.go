package samples

import (
	"bytes"
	"regexp"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// statusStart is how /proc/PID/status begins, since Linux 2.6; Umask is since 4.7. A paste may have
// lost its tabs.
var statusStart = regexp.MustCompile(`^Name:[ \t]+(\S.{0,30})\r?\n(?:Umask:[ \t]+\d+\r?\n)?State:[ \t]+[RSDTtXZPI] \(`)

// BeginsStatus says that a text begins with what /proc/PID/status holds, of a thread that it names
// itself.
func BeginsStatus(text []byte) bool {
	return bytes.HasPrefix(text, []byte("Name:")) && statusStart.Match(text)
}

// statusLine is a line of such a file, as "voluntary_ctxt_switches:\t150545".
var statusLine = regexp.MustCompile(`^[A-Z][A-Za-z_]{1,40}:[ \t]|^(?:non)?voluntary_ctxt_switches:|^x86_Thread_features`)

// IsStatusLine says that a line can be one of such a file.
func IsStatusLine(line []byte) bool { return statusLine.Match(line) }

// sniffStatus is the share of lines that are of such files. One starts the text.
func sniffStatus(head *lines.Head) float64 {
	if !BeginsStatus(head.Text) {
		return 0
	}
	good := 0
	for _, line := range head.Lines {
		if IsStatusLine(line) {
			good++
		}
	}
	return float64(good) / float64(len(head.Lines))
}
