package node

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// embedder is a program that holds a kubelet, mostly a containerd, too.
type embedder struct {
	signs   []string // in lines that it signs, or that name its socket
	kubelet string   // the unit of the kubelet
	runtime string   // the unit of containerd
	log     string   // the file of containerd's log; empty where its unit's journal holds it
}

// embedders are asked in this order. A program that has one unit on servers and another on agents
// has a pattern, which systemctl and journalctl take. K3s and RKE2 have the same socket.
var embedders = []embedder{
	{[]string{" k3s[", " k3s-agent["}, "'k3s*'", "'k3s*'", "/var/lib/rancher/k3s/agent/containerd/containerd.log"},
	{[]string{" rke2[", " rke2-agent[", " rke2-server["}, "'rke2-*'", "'rke2-*'", "/var/lib/rancher/rke2/agent/containerd/containerd.log"},
	{[]string{"daemon-kubelite[", "microk8s.daemon-containerd[", "/var/snap/microk8s/"}, "snap.microk8s.daemon-kubelite", "snap.microk8s.daemon-containerd", ""},
	{[]string{" component=kubelet stream=", " component=containerd stream=", " k0s[", "/run/k0s/containerd.sock"}, "'k0s*'", "'k0s*'", ""},
	{[]string{"/run/k3s/containerd/containerd.sock"}, "'k3s*' -u 'rke2-*'", "'k3s*' -u 'rke2-*'", "/var/lib/rancher/*/agent/containerd/containerd.log"},
}

// Units are what commands name in place of the kubelet's and containerd's units, and the file of
// containerd's log. They are empty where both have their own.
type Units struct{ Kubelet, Runtime, Log string }

// findUnits returns the units of the kubelet and of containerd where they are others than their
// own: as systemd names them, else by who signs their lines, or by the socket.
func findUnits(tl *timeline.Timeline) Units {
	for _, e := range tl.Events {
		if unit := strings.TrimSuffix(e.FieldText(event.FieldUnit), ".service"); unit != "" && e.FieldText(event.FieldDaemon) == "kubelet" {
			if unit == "kubelet" {
				return Units{}
			}
			return unitsOf(unit)
		}
	}
	if m := findEmbedder(tl); m != nil {
		return Units{m.kubelet, m.runtime, m.log}
	}
	return Units{}
}

// maxEmbedded bounds the events that are asked for an embedder: it signs all of its lines, and a
// node that flaps has 100 000 of them.
const maxEmbedded = 5000

// findEmbedder returns the first of the embedders that a line shows; nil where none does.
func findEmbedder(tl *timeline.Timeline) *embedder {
	found, asked := len(embedders), 0
	for _, e := range tl.Events {
		if e.Component != "kubelet" && e.Component != "containerd" && e.Component != "shim" || len(e.Evidence) == 0 {
			continue
		}
		if asked++; asked > maxEmbedded {
			break
		}
		for i := range found {
			if embedders[i].isIn(e.Evidence[0].Text) {
				found = i
				break
			}
		}
	}
	if found == len(embedders) {
		return nil
	}
	return &embedders[found]
}

// unitsOf are the units beside one that holds a kubelet.
func unitsOf(kubelet string) Units {
	u := Units{Kubelet: kubelet}
	for _, m := range embedders {
		program, _, _ := strings.Cut(strings.Trim(m.kubelet, "'"), "*")
		if strings.HasPrefix(kubelet, program) {
			if u.Runtime, u.Log = m.runtime, m.log; m.runtime == m.kubelet {
				u.Runtime = kubelet
			}
			return u
		}
	}
	return u
}

// isIn says that a program has signed a line of the kubelet or of containerd, or that the line
// names its socket.
func (m *embedder) isIn(line string) bool {
	return slices.ContainsFunc(m.signs, func(sign string) bool { return holdsSign(line, sign) })
}

// holdsSign says that a line holds a sign. It looks for the last byte of the sign, which lines have
// a few times, where they have its first, mostly a space, between all words.
func holdsSign(line, sign string) bool {
	for at := 0; ; {
		next := strings.IndexByte(line[at:], sign[len(sign)-1])
		if next < 0 {
			return false
		}
		if at += next + 1; strings.HasSuffix(line[:at], sign) {
			return true
		}
	}
}

// isEmbedded says that containerd has no unit of its own name.
func (u Units) isEmbedded() bool { return u.Runtime != "" }

// Where a command names the unit of the kubelet, of containerd, or of all runtimes.
var (
	ofKubelet  = regexp.MustCompile(`(-u |\bsystemctl (?:status|start|restart|stop|reset-failed|is-active|cat) )kubelet\b`)
	ofRuntime  = regexp.MustCompile(`(-u |\bsystemctl (?:status|start|restart|stop|reset-failed|is-active|cat) )containerd\b`)
	unitTwice  = regexp.MustCompile(`(-u \S+) (-u \S+)`)
	ofJournals = regexp.MustCompile(`^timeout \d+ journalctl -u containerd (?:-u \w+ )*-o export\b[^|;]*$`)
)

// Rename puts the names of the units into a command. The whole log of a runtime is a file where its
// unit has none.
func (u Units) Rename(command string) string {
	if u.Log != "" && ofJournals.MatchString(command) {
		return "timeout 60 tail -n 20000 " + u.Log + " > containerd.log"
	}
	command = replaceUnit(command, ofKubelet, u.Kubelet)
	if u.isEmbedded() {
		command = replaceUnit(command, ofRuntime, u.Runtime)
	}
	return unitTwice.ReplaceAllStringFunc(command, func(pair string) string {
		if one, two, _ := strings.Cut(pair, " -u "); one == "-u "+two {
			return one
		}
		return pair
	})
}

// replaceUnit names a unit, or several. Systemctl takes them one behind the other.
func replaceUnit(command string, of *regexp.Regexp, unit string) string {
	if unit == "" {
		return command
	}
	return of.ReplaceAllStringFunc(command, func(found string) string {
		before := of.FindStringSubmatch(found)[1]
		if !strings.HasPrefix(before, "-u") {
			return before + strings.ReplaceAll(unit, " -u ", " ")
		}
		return before + unit
	})
}
