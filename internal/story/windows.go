package story

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
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
func (s *story) onWindows() bool {
	for name, begins := range windowsFacts {
		if strings.HasPrefix(s.timeline.Facts[name].Value, begins) {
			return true
		}
	}
	return s.listsOnlyWindows() || slices.ContainsFunc(s.timeline.Events, func(e *event.Event) bool {
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
func (s *story) listsOnlyWindows() bool {
	found := false
	for _, e := range s.timeline.Events {
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

// Commands for a node with Windows, which any shell on it takes. The logs lie in C:\k on AKS, in
// C:\var\log\kubelet with kubeadm's scripts, and below ProgramData on EKS.
const (
	windowsServices = `powershell -Command "Get-Service kubelet, containerd, docker, kube-proxy, hns, vmcompute -ErrorAction SilentlyContinue"`
	windowsEnds     = `powershell -Command "Get-WinEvent -FilterHashtable @{LogName='System'; ProviderName='Service Control Manager'; StartTime=(Get-Date).AddHours(-2)} | Format-List TimeCreated, Message"`
	windowsKubelet  = `powershell -Command "Get-Content C:\k\kubelet*.log, C:\var\log\kubelet\*, C:\ProgramData\Amazon\EKS\logs\*kubelet* -Tail 2000 -ErrorAction SilentlyContinue" > kubelet.log`
	windowsNote     = "the node has Windows"
	windowsDo       = "The node has Windows, and the commands that are known for this cause are for Linux. See on the node which services run, and which of them ended."
)

// windowsSteps are what to collect next of such a node.
func windowsSteps() []NextStep {
	return []NextStep{
		{Missing: rules.Missing{Source: "services", Command: windowsServices + "; " + windowsEnds, Note: windowsNote}, Hazard: ReadsOnly},
		{Missing: rules.Missing{Source: "kubelet.log", Command: windowsKubelet, Note: windowsNote}, Hazard: ReadsOnly},
	}
}

// useWindowsCommands puts what runs on a node with Windows in the place of all commands.
func (r *Result) useWindowsCommands() {
	r.rewriteCommands(func(command string) string {
		if strings.Contains(command, "journalctl -u kubelet") {
			return windowsKubelet
		}
		return windowsServices
	})
	for i := range r.Findings {
		r.Findings[i].Remediation.Now = []language.Action{windowsAction}
	}
	if len(r.Next) > 0 {
		r.Next = windowsSteps()
	}
	switch o := &r.Opening; {
	case o.Advice != "":
		o.Advice, o.Commands, o.Hazard = windowsAction.Do, windowsAction.Commands, windowsAction.Hazard
	case len(r.Next) > 0:
		o.Command, o.Note, o.Hazard = r.Next[0].Command, r.Next[0].Note, r.Next[0].Hazard
	}
}

// windowsAction is what to do first there, whatever the cause.
var windowsAction = language.Action{Do: windowsDo, Commands: []string{windowsServices, windowsEnds}, Hazard: ReadsOnly}
