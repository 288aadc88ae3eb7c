// Package facts makes events that say something about the node as a whole, and names where they
// come from. Logs and snapshots tell the same facts.
package facts

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Processes is the source of what a listing shows.
const Processes = "processes"

// Commands is the source of what somebody met at a prompt.
const Commands = "commands"

// Machine is the fact that says what processor the node has, as uname -m spells it.
const Machine = "kernel.machine"

// Installed is the basis of a version that a package or a client has: what runs may be older.
const Installed = "installed"

// New is an event that says something about the node as a whole.
func New(name, value string) (event.Event, bool) {
	if value == "" {
		return event.Event{}, false
	}
	return event.New(event.KindFact, name+" = "+value, event.FieldName.Text(name), event.FieldValue.Text(value)), true
}

// Sources of snapshots, as rules name them.
const (
	Config     = "config"     // of containerd, docker, the kubelet; their versions
	Node       = "node"       // /proc, cgroups, df, uname, os-release
	Mounts     = "mounts"     // mountinfo, mount
	Units      = "units"      // systemctl show, status, list-units
	Metrics    = "metrics"    // the kubelet's /metrics
	Kubernetes = "kubernetes" // kubectl get, kubectl describe
	Packages   = "packages"   // rpm -qa, dpkg -l
	// what plegdiag collect met on the node: its manifest, and the calls that it made.
	Collected = "collect"
)

// Append adds the event of a fact, read from a source, with the line that shows it. It adds nothing
// if the value is empty or unknown (see New).
func Append(dst []event.Event, source, name, value string, q event.Quote) []event.Event {
	f, ok := New(name, value)
	if !ok {
		return dst
	}
	f.Component, _, _ = strings.Cut(name, ".")
	f.Source = source
	f.Evidence = []event.Quote{q}
	return append(dst, f)
}
