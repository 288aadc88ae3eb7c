package session

import (
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/parse"
)

// cpuStat is a command that reads how often a cgroup had used up its CPU time: 1 the cgroup.
var cpuStat = regexp.MustCompile(`/sys/fs/cgroup(/[^\s;|"'$*]*)/cpu\.stat\b`)

// periodsRow is one of the lines of that file that count: 1 what, 2 the number.
var periodsRow = regexp.MustCompile(`^nr_(periods|throttled) (\d{1,15})$`)

// throttledCgroup is the event of such a cgroup, where a command prints some lines of the file, or
// prints them again: what happened between is what counts then.
func throttledCgroup(command string, s *parse.Section, answer []event.Quote) (e event.Event, ok bool) {
	m := cpuStat.FindStringSubmatch(command)
	if m == nil || s.As != "" { // cat of the file alone is read as the file
		return e, false
	}
	first, last := map[string]float64{}, map[string]float64{}
	var quotes []event.Quote
	for _, quote := range answer {
		row := periodsRow.FindStringSubmatch(strings.TrimSpace(quote.Text))
		if row == nil {
			continue
		}
		n, _ := strconv.ParseFloat(row[2], 64)
		if _, again := first[row[1]]; !again {
			first[row[1]] = n
		}
		last[row[1]] = n
		quotes = append(quotes, quote)
	}
	periods, throttled := last["periods"], last["throttled"]
	total := throttled
	if between := periods - first["periods"]; between > 0 {
		periods, throttled = between, throttled-first["throttled"]
	}
	if periods <= 0 || throttled <= 0 {
		return e, false
	}
	e = event.New(
		event.KindCgroup, "cgroup "+m[1], event.FieldPath.Text(m[1]), event.FieldThrottled.Number(total),
		event.FieldThrottledShare.Number(math.Round(100*throttled/periods)),
	)
	e.AddText(event.FieldDaemon, daemon.OfService(strings.TrimSuffix(path.Base(m[1]), ".service")))
	e.Component, e.Source, e.Evidence = "node", facts.Node, quotes[len(quotes)-2:]
	return e, true
}
