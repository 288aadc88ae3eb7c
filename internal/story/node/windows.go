package node

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// windowsFacts are facts whose value tells a node with Windows by how it begins: its name, and the
// version of its kernel as Kubernetes has it.
var windowsFacts = map[string]string{"os.name": "Windows", "kernel.version": "10.0."}

// windowsWords stand in lines of a node with Windows, and of no other: the pipes at which its
// runtimes listen, the calls of hcsshim, which makes its containers and their network, and where
// its daemons keep their files. All of a row have what the row begins with, which is looked for
// first.
var windowsWords = [][]string{
	{"pipe", "npipe:", `\pipe\`, "//./pipe/"},
	{"hcs", "hcsshim:", "hcs::"},
	{"Win32", " in Win32: "},
	{"HNS", "HNS failed with error"},
	{`\`, `:\ProgramData\docker`, `:\ProgramData\containerd`, `:\var\lib\kubelet`, `:\\var\\lib\\kubelet`, `:\k\`},
}

// onWindows says that the evidence is of a node with Windows, on which no command of a rule runs.
func onWindows(tl *timeline.Timeline) bool {
	for name, begins := range windowsFacts {
		if strings.HasPrefix(tl.Facts[name].Value, begins) {
			return true
		}
	}
	return listsOnlyWindows(tl) || slices.ContainsFunc(tl.Events, func(e *event.Event) bool {
		return e.Kind == event.KindHostCompute || slices.ContainsFunc(e.Evidence, func(q event.Quote) bool {
			return slices.ContainsFunc(windowsWords, func(row []string) bool {
				return strings.Contains(q.Text, row[0]) &&
					slices.ContainsFunc(row[1:], func(word string) bool { return strings.Contains(q.Text, word) })
			})
		})
	})
}

// listsOnlyWindows says that a table lists nodes that are not ready, and that all of these have
// Windows, as a wide one shows.
func listsOnlyWindows(tl *timeline.Timeline) bool {
	found := false
	for _, e := range tl.Events {
		if e.Kind != event.KindNodeCondition || e.FieldText(event.FieldCondition) != "Ready" || e.FieldText(event.FieldStatus) == "True" {
			continue
		}
		if !slices.ContainsFunc(e.Evidence, func(q event.Quote) bool { return windowsRow.MatchString(q.Text) }) {
			return false
		}
		found = true
	}
	return found
}

// windowsRow is what the row of a node with Windows holds: its name, or the version of its kernel.
// The third number of a version is a build's, which no address has.
var windowsRow = regexp.MustCompile(`\sWindows (Server|1\d)|\s10\.0\.\d{5}(\.|\s|$)`)
