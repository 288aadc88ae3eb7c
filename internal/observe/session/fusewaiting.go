package session

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// fuseLooks are what several commands of a session showed of
// /sys/fs/fuse/connections/N/waiting. What one grep shows twice is read as the values of that file.
type fuseLooks struct {
	looks []fuseLook // in the order in which the connections are met
}

// fuseLook is one connection.
type fuseLook struct {
	number   string
	least    int // of the requests that waited for the server, of all looks
	quotes   []event.Quote
	commands int // that looked
}

// waitingRow is a line with the path of such a file: 1 the connection, 2 the requests.
//
//	/sys/fs/fuse/connections/62/waiting:1
var waitingRow = regexp.MustCompile(`^/sys/fs/fuse/connections/(\d{1,9})/waiting[:=] ?(\d{1,7})$`)

// waitingPair is a line of a loop over the connections: 1 the connection, 2 the requests.
//
//	for c in /sys/fs/fuse/connections/*; do echo "${c##*/} $(cat $c/waiting)"; done
//	1487 37
var waitingPair = regexp.MustCompile(`^(\d{1,9})[ :=\t]+(\d{1,7})$`)

// showsWaiting is a command that prints the file of one connection: 1 the connection.
var showsWaiting = regexp.MustCompile(`^cat /sys/fs/fuse/connections/(\d{1,9})/waiting$`)

// take notes what a command shows.
func (f *fuseLooks) take(command string, answer []event.Quote) {
	if !strings.Contains(command, "/fuse/connections/") || !strings.Contains(command, "waiting") {
		return
	}
	one := showsWaiting.FindStringSubmatch(command)
	loops := strings.HasPrefix(command, "for ")
	seen := map[string]bool{}
	for _, quote := range answer {
		m := waitingRow.FindStringSubmatch(quote.Text)
		if m == nil && loops {
			m = waitingPair.FindStringSubmatch(quote.Text)
		}
		if m == nil && one != nil && lines.IsNumber(quote.Text) {
			m = []string{"", one[1], quote.Text}
		}
		if m == nil {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		f.add(m[1], n, quote, seen[m[1]])
		seen[m[1]] = true
	}
}

// add notes one number; again says that the same command has shown the connection before.
func (f *fuseLooks) add(number string, waiting int, quote event.Quote, again bool) {
	for i := range f.looks {
		c := &f.looks[i]
		if c.number != number {
			continue
		}
		c.least, c.quotes = min(c.least, waiting), append(c.quotes, quote)
		if !again {
			c.commands++
		}
		return
	}
	if len(f.looks) < lines.MaxNames {
		f.looks = append(f.looks, fuseLook{number, waiting, []event.Quote{quote}, 1})
	}
}

// finish are facts of the connections on which requests waited whenever one of several commands
// looked: one request may wait for a moment on any.
func (f *fuseLooks) finish() (all []event.Event) {
	for _, c := range f.looks {
		if c.commands < 2 || c.least == 0 {
			continue
		}
		e, _ := facts.New("fuse.waiting", strconv.Itoa(c.least))
		e.Component, e.Source, e.Evidence = "kernel", facts.Node, c.quotes
		all = append(all, e)
	}
	return all
}
