package stackdump

import (
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
)

const headerWord = "goroutine "

// Contains says whether the header of a goroutine stands in text: the word, a
// number, and what the runtime prints behind it.
func Contains(text string) bool {
	at, _ := findHeader(text)
	return at >= 0
}

// findHeader is where the first header of text begins and where its id ends; -1 when there is none.
func findHeader(text string) (at, idEnd int) {
	for from := 0; ; {
		i := strings.Index(text[from:], headerWord[1:]) // the first letter may be a capital
		if i < 0 {
			return -1, 0
		}
		at = from + i - 1
		if n := headerIDLen(text[max(at, 0):]); n > 0 && (at == 0 || !isWord(text[at-1])) {
			return at, at + n
		}
		from = at + len(headerWord)
	}
}

// holdsHeader tells whether a header begins somewhere in a line of a frame. Few of them have a
// bracket.
func holdsHeader(s string) bool {
	return strings.IndexByte(s, '[') >= 0 && Contains(s)
}

// headerIDLen is the length of "goroutine N" at the start of s when " [" or " gp="
// follows, as in a header; 0 otherwise ("created by f in goroutine 7").
func headerIDLen(s string) int {
	if s == "" || s[0]|' ' != 'g' || !strings.HasPrefix(s[1:], headerWord[1:]) {
		return 0
	}
	i := len(headerWord)
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	if i > len(headerWord) && (strings.HasPrefix(s[i:], " [") || strings.HasPrefix(s[i:], " gp=")) {
		return i
	}
	return 0
}

func isWord(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c-'0' <= 9
}

// parseHeader reads a header into g, goroutineheader of runtime/traceback.go:
//
//	goroutine 7 gp=0xc000002380 m=nil [chan receive (leaked) (durable), 5 minutes, locked to thread, synctest bubble 3 labels:{"pod": "a, b]:"}]:
//
// S begins with it and idEnd is where its id ends. End is where it ends, and
// what has to be quoted of it ends at quote. Ok is false when it is damaged.
func parseHeader(g *Goroutine, s string, idEnd int) (end, quote int, ok bool) {
	id, err := strconv.ParseUint(s[len(headerWord):idEnd], 10, 64)
	if err != nil && elidedIDLen(s) == 0 {
		return 0, 0, false
	}
	g.ID = id
	open := strings.IndexByte(s, '[')
	if open < 0 {
		return 0, 0, false
	}
	open++
	end = strings.IndexByte(s[open:], ']')
	if end < 0 {
		return 0, 0, false
	}
	end += open
	inside, quote := s[open:end], end+2
	// The quoted text of a label may hold anything, so the first ] need not be the last.
	if i := strings.Index(inside, " labels:{"); i >= 0 {
		n, ok := parseLabels(g, s[open+i+len(" labels:{"):])
		if !ok {
			return 0, 0, false
		}
		inside, quote = inside[:i], open+i
		end = open + i + len(" labels:{") + n
	}
	if !strings.HasPrefix(s[end:], "]") {
		return 0, 0, false
	}
	after := end + len("]")
	if after < len(s) && s[after] == ':' {
		after++
	} else if !isKnownState(inside) || after < len(s) && s[after] != ' ' {
		return 0, 0, false // somebody lost the colon, or this is no header
	}
	parseState(g, inside)
	return after, quote, true
}

// parseLabels reads `"k": "v", "k": "v"}` and returns its length.
func parseLabels(g *Goroutine, s string) (n int, ok bool) {
	rest := s
	for {
		var p event.Pair
		if p.Key, rest, ok = cutQuoted(rest); !ok {
			return 0, false
		}
		if rest, ok = strings.CutPrefix(rest, ": "); !ok {
			return 0, false
		}
		if p.Value, rest, ok = cutQuoted(rest); !ok {
			return 0, false
		}
		g.Labels = append(g.Labels, p)
		if after, more := strings.CutPrefix(rest, ", "); more {
			rest = after
			continue
		}
		rest, ok = strings.CutPrefix(rest, "}")
		return len(s) - len(rest), ok
	}
}

func cutQuoted(s string) (text, rest string, ok bool) {
	q, err := strconv.QuotedPrefix(s)
	if err != nil {
		return "", "", false
	}
	text, err = strconv.Unquote(q)
	return text, s[len(q):], err == nil
}

// parseState reads what stands between the brackets, labels excluded.
func parseState(g *Goroutine, s string) {
	state, rest, more := strings.Cut(s, ", ")
	for marked := strings.HasSuffix(state, ")"); marked; {
		marked = false
		for _, mark := range [...]string{" (scan)", " (durable)", " (leaked)"} {
			if cut, ok := strings.CutSuffix(state, mark); ok {
				state, marked = cut, true
				g.Leaked = g.Leaked || mark == " (leaked)"
			}
		}
	}
	g.State = state
	for more {
		var part string
		part, rest, more = strings.Cut(rest, ", ")
		if part == "locked to thread" {
			g.Locked = true
		} else if n, ok := strings.CutSuffix(part, " minutes"); ok {
			// A century is beyond any process; more is damage.
			if m, err := strconv.ParseUint(n, 10, 32); err == nil && m < 100*365*24*60 {
				g.Wait = time.Duration(m) * time.Minute
			}
		}
	}
}
