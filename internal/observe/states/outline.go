package states

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/tools"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// outline reads what kubectl describe node, docker info, docker version, ctr version, crictl
// version, hostnamectl and timedatectl print.
type outline struct {
	server  *snapshots.Datum // "Version" of a server that has not said yet which one it is
	runtime string           // RuntimeName of crictl version
	node    string           // of kubectl describe: its name or, without that, the lease's holder or the host
	nodes   nodes
	// of kubectl describe pod
	namespace, pod string
	taken          taken
}

// outlineSettings are names that stand alone for what they say, wherever they are.
var outlineSettings = []setting{
	{"Live Restore Enabled", "docker.live-restore", nil},
	{"containerd version", "containerd.version", scan.Version},
	{"runc version", "runc.version", scan.Version},
	{"Containers", "docker.containers", onlyDigits},
	{"Static hostname", "node.name", nil},
	{"Kernel", "kernel.version", linuxRelease},
	{"System clock synchronized", "clock.synchronized", nil}, // timedatectl
	{"NTP synchronized", "clock.synchronized", nil},          // of systemd up to 238
	{"Leap status", "clock.synchronized", leapStatus},        // chronyc tracking
	{"Time zone", "clock.zone", zoneName},                    // timedatectl
	{"System time", "clock.offset-seconds", clockOffset},
}

func onlyDigits(s string) string {
	if scan.Digits(s) != s {
		return ""
	}
	return s
}

// zoneName: Time zone: Europe/Berlin (CET, +0100).
func zoneName(s string) string {
	name, _, _ := strings.Cut(s, " ")
	return name
}

// leapStatus: Leap status : Not synchronised; every other one is that of a clock that follows its
// source.
func leapStatus(s string) string {
	if strings.HasPrefix(s, "Not sync") {
		return "no"
	}
	return "yes"
}

// clockOffset: System time : 28799.912345678 seconds slow of NTP time; what is slow is behind, and
// less than zero.
func clockOffset(s string) string {
	number, rest, _ := strings.Cut(s, " ")
	if _, err := strconv.ParseFloat(number, 64); err != nil || !strings.HasPrefix(rest, "seconds ") {
		return ""
	}
	if strings.Contains(rest, "slow") {
		return "-" + number
	}
	return number
}

// linuxRelease: Kernel: Linux 5.10.0-21-amd64 (hostnamectl).
func linuxRelease(s string) string {
	release, ok := strings.CutPrefix(s, "Linux ")
	if !ok {
		return ""
	}
	return release
}

func (o *outline) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	if len(e.Fields) > 0 {
		return o.takeRow(dst, e)
	}
	if row, ok := snapshots.CutCondition(e.Raw); ok { // without the header above it, as grep leaves it
		o.nodes.addCondition(o.node, row, e.Quote())
		return dst
	}
	if len(e.Path) == 0 {
		return dst
	}
	name := e.Path[len(e.Path)-1]
	if fact, value := tools.DockerFact(name, e.Value); fact != "" {
		dst = addFact(dst, facts.Config, fact, value, e)
	}
	for i := range outlineSettings {
		s := &outlineSettings[i]
		if s.path != name {
			continue
		}
		value := e.Value
		if s.value != nil {
			value = s.value(value)
		}
		dst = addFact(dst, facts.Config, s.fact, value, e)
	}
	if n := len(e.Path); name == "Reason" && e.Value == "CrashLoopBackOff" && n > 2 { // of describe pod
		dst = append(dst, crashLoop(e.Path[n-3], o.namespace, o.pod, e))
	}
	o.taken.takeClock(name, e.Value)
	dst = o.appendVersions(dst, name, e)
	for _, v := range nodeVersions {
		if v.described != name {
			continue
		}
		if e.Path[0] == "System Info" || v.key == "kubeletVersion" || v.key == "containerRuntimeVersion" {
			o.nodes.addVersion(v.fact, e.Value, e.Quote()) // of one node, if there is one
		} else {
			dst = addFact(dst, facts.Config, v.fact, e.Value, e)
		}
	}
	if name == "Operating System" && e.Path[0] != "System Info" {
		dst = addFact(dst, facts.Config, "os.name", e.Value, e)
	}
	return dst
}

// appendVersions reads the versions that need their section: Server, Engine, Version.
func (o *outline) appendVersions(dst []event.Event, name string, e *snapshots.Datum) []event.Event {
	n := len(e.Path)
	switch {
	case name == "Name" && n == 1:
		o.node = e.Value
	case name == "Namespace" && n == 1: // what was named is no node
		o.namespace, o.pod, o.node = e.Value, o.node, ""
	case name == "Node" && n == 1 && o.pod != "":
		o.nodes.addHint(e.Value, e)
	case (name == "Roles" || name == "Role") && n == 1:
		o.nodes.addNode(o.node, e)
	case o.node == "" && n == 2 && (name == "HolderIdentity" && e.Path[0] == "Lease" || name == "Hostname" && e.Path[0] == "Addresses"):
		o.node = e.Value // the first lines were left out
		o.nodes.addNode(o.node, e)
	case name == "RuntimeName":
		o.runtime = e.Value
	case name == "RuntimeVersion":
		fact := runtimeFacts[o.runtime]
		if fact == "" {
			return dst
		}
		return addFact(dst, facts.Config, fact, scan.Version(e.Value), e)
	case e.Path[0] != "Server":
	case n == 3 && name == "Version":
		fact := map[string]string{
			"Engine": "docker.version", "containerd": "containerd.version", "runc": "runc.version",
		}[e.Path[1]]
		if fact == "" {
			return dst
		}
		return addFact(dst, facts.Config, fact, scan.Version(e.Value), e)
	case n == 2 && name == "Version":
		server := *e
		o.server = &server
	case n == 2 && o.server != nil:
		fact := map[string]string{
			"Revision": "containerd.version", "API version": "docker.version", "Git commit": "docker.version",
		}[name]
		if fact != "" {
			dst = addFact(dst, facts.Config, fact, scan.Version(o.server.Value), o.server)
			o.server = nil
		}
	}
	return dst
}

// takeRow is a condition or an event of kubectl describe.
func (o *outline) takeRow(dst []event.Event, e *snapshots.Datum) []event.Event {
	if e.Column("Status") != "" {
		if !o.nodes.names[o.node] && isOfNode(e) { // the lines between were left out
			o.nodes.addNode(o.node, e)
		}
		o.nodes.addCondition(o.node, e.Fields, e.Quote())
		return dst
	}
	k := rowEvent(e.Fields, e.Quote(), event.Time{})
	if k.ofNode() {
		k.name = o.node
	}
	return o.nodes.appendEvent(dst, &k)
}

// isOfNode says that a condition is one that only a node has.
func isOfNode(e *snapshots.Datum) bool {
	reason := e.Column("Reason")
	return strings.HasSuffix(e.Column("Type"), "Pressure") || strings.HasPrefix(reason, "Kubelet") || strings.HasPrefix(reason, "NodeStatus")
}

func (o *outline) finishFile(dst []event.Event) []event.Event { return o.nodes.finishFile(dst) }
