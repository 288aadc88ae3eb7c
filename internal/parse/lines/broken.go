package lines

import (
	"bytes"
	"strings"
)

// cutPhrases are phrases of the errors of Go and of the messages that matter.
var cutPhrases = splitPhrases(
	"i/o timeout", "connect: connection refused", "connection reset by peer", "connect: no route to host", "no such host", "network is unreachable",
	"net/http: TLS handshake timeout", "net/http: request canceled", "context deadline exceeded", "context canceled", "rpc error: code =", "use of closed network connection",
	"Client.Timeout exceeded while awaiting headers", "PLEG is not healthy:", "pleg was last seen active", "threshold is", "container runtime is down",
	"resource temporarily unavailable", "cannot allocate memory", "no space left on device", "waiting for lo to become free.", "blocked for more than",
	"not responding, still trying", "not responding, timed out", "self-detected stall on CPU", "table full, dropping packet",
	"BUG: soft lockup - CPU#", "Out of memory: Killed process", "invoked oom-killer:", "Remounting filesystem read-only",
	"Journal has aborted", "Detected aborted journal", "Buffer I/O error on", "rejecting I/O to offline device",
	"Main process exited, code=", "Failed with result", "Start request repeated too quickly.", "Scheduled restart job, restart counter is at",
	"Cannot connect to the Docker daemon at", "Is the docker daemon running?", "network plugin is not ready:", "cni config uninitialized", "x509: certificate has expired or is not yet valid", "x509: certificate signed by unknown authority",
)

// phraseCut is a phrase at one of its blanks.
type phraseCut struct{ before, behind []byte }

func splitPhrases(phrases ...string) (cuts []phraseCut) {
	for _, p := range phrases {
		for i := range p {
			if p[i] == ' ' {
				cuts = append(cuts, phraseCut{[]byte(p[:i]), []byte(p[i+1:])})
			}
		}
	}
	return cuts
}

// CutsWords says that what programs always write in one line stands over the end of a line.
func CutsWords(above, line []byte) bool {
	return len(above) > 0 && len(line) > 0 && (cutsRequest(above, line) || cutsPhrase(above, line) || cutsReason(above, line))
}

// cutsReason says that an error was broken before or behind the colon of its reason, as in
//
//	Put "https://10.0.0.1:6443/apis/coordination.k8s.io/v1/…?timeout=10s"
//	: net/http: request canceled (Client.Timeout exceeded while awaiting headers)
func cutsReason(above, line []byte) bool {
	return bytes.HasPrefix(line, []byte(": ")) ||
		(bytes.HasSuffix(above, []byte(`":`)) || bytes.HasSuffix(above, []byte(" error:"))) && line[0] != ' ' && line[0] != '{'
}

// HasOpenQuote says that a quotation of a line has no end.
func HasOpenQuote(line []byte) bool {
	open := false
	for i, c := range line {
		if c == '"' && (i == 0 || line[i-1] != '\\') {
			open = !open
		}
	}
	return open
}

// cutsRequest: Get "https://…, dial tcp 10.0.0.1:6443 (net/url.Error, net.OpError).
func cutsRequest(above, line []byte) bool {
	last := above[bytes.LastIndexByte(above, ' ')+1:]
	switch string(last) {
	case "Get", "Put", "Post", "Patch", "Delete", "Head":
		return StartsWith(bytes.TrimLeft(line, `\`), `"http`, "http")
	case "tcp", "lookup":
		return IsDigit(line[0]) || line[0] == '[' || bytes.HasPrefix(line, []byte("lookup ")) || bytes.IndexByte(line, ':') > 0
	}
	return false
}

// cutsPhrase says that one of cutPhrases stands over the end of a line.
func cutsPhrase(above, line []byte) bool {
	for _, p := range cutPhrases {
		before, found := bytes.CutSuffix(above, p.before)
		if found && bytes.HasPrefix(line, p.behind) && (len(before) == 0 || strings.IndexByte(" :\"(", before[len(before)-1]) >= 0) {
			return true
		}
	}
	return false
}

// Seam is what stood where a line was broken: a blank, but not inside of an address.
func Seam(above, line []byte) string {
	last := above[bytes.LastIndexByte(above, ' ')+1:]
	inside := bytes.Contains(last, []byte("://")) && !bytes.HasSuffix(last, []byte(`"`)) && !bytes.HasSuffix(last, []byte(`":`))
	if inside || len(last) == 0 || line[0] == ' ' {
		return ""
	}
	return " "
}
