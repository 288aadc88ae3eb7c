package story

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

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
