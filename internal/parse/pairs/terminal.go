package pairs

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// ParseTerminal splits the message of logrus on a terminal from the pairs behind it:
//
//	starting containerd        revision=d62d revision=x
//
// logrus does not quote it there, so the pairs are what reads as pairs up to the end of the line.
// Fields is nil where there are none.
func ParseTerminal(s string) (text string, fields []event.Pair) {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], ' ')
		if i < 0 {
			return strings.TrimRight(s, " "), nil
		}
		at += i + 1
		if rest := s[at:]; isPairs(rest) {
			return strings.TrimRight(s[:at], " "), Read(rest)
		}
	}
}

// isPairs says that s is key=value pairs to its end.
func isPairs(s string) bool {
	if s == "" || s[0] == ' ' {
		return false
	}
	for {
		key, _, rest, ok := Cut(s)
		if !ok {
			return true
		}
		if len(s) <= len(key) || s[len(key)] != '=' || strings.ContainsAny(key, `"'():,`) {
			return false
		}
		s = strings.TrimLeft(rest, " ")
	}
}
