package tools

import (
	"cmp"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Versions is what programs print when they are asked for their version, one line each, in files
// of their own and in tickets.
var Versions = table.Table{
	Component: "node",
	Rows: []table.Row{
		{
			[]string{"containerd github.com/containerd/containerd", "containerd containerd.io"},
			programVersion("containerd ", 2, "containerd.version"),
		},
		{[]string{"runc version "}, programVersion("runc version ", 2, "runc.version")},
		{[]string{"crio version "}, programVersion("crio version ", 2, "crio.version")},
		{[]string{"Kubernetes v"}, programVersion("Kubernetes v", 1, "kubelet.version")},
		{[]string{"Docker version "}, dockerClientVersion},
		{[]string{"systemd 1", "systemd 2", "systemd 3"}, systemdVersion},
		{[]string{"Server Version: ", "Storage Driver: ", "Cgroup Driver: "}, dockerInfo},
		{[]string{"GNU/Linux", "x86_64 Linux", "aarch64 Linux"}, unameKernel},
	},
}

// programVersion reads the word at a place of a line with a known beginning:
//
//	containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1
//	containerd containerd.io 1.6.33 d2d58213f83a351ca8f528a95fbd145f5654e957
//	runc version 1.1.5+ds1
//	crio version 1.24.1
//	Kubernetes v1.22.3
func programVersion(prefix string, word int, name string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		text := strings.TrimSpace(r.Message())
		f := strings.Fields(text)
		if !strings.HasPrefix(text, prefix) || len(f) <= word || len(f) > 5 {
			return event.Event{}, false
		}
		return nodeFact(name, scan.Version(f[word]))
	}
}

// nodeFact is a fact that a line of text tells.
func nodeFact(name, value string) (event.Event, bool) {
	e, ok := facts.New(name, value)
	e.Component, _, _ = strings.Cut(name, ".")
	e.Source = facts.Config
	return e, ok
}

// dockerClientVersion: Docker version 20.10.24, build 297e128. It is the client's, which is
// installed beside the daemon.
func dockerClientVersion(r *event.Record) (event.Event, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(r.Message()), "Docker version ")
	if !ok || !strings.Contains(rest, ", build ") {
		return event.Event{}, false
	}
	e, ok := nodeFact("docker.version", scan.Version(rest))
	e.AddFields(event.FieldBasis.Text(facts.Installed))
	return e, ok
}

// dockerInfo is a line of docker info in a ticket that is mostly something else.
func dockerInfo(r *event.Record) (event.Event, bool) {
	name, value, ok := strings.Cut(strings.TrimSpace(r.Message()), ": ")
	if !ok {
		return event.Event{}, false
	}
	return nodeFact(DockerFact(name, value))
}

// DockerFact is the fact that a row of docker info tells, if nothing else uses its name; both are
// empty for other rows.
func DockerFact(name, value string) (fact, known string) {
	switch name {
	case "Server Version":
		return "docker.version", scan.Version(value)
	case "Storage Driver":
		return "docker.storage-driver", value
	case "Cgroup Driver":
		return "docker.cgroup-driver", value
	}
	return "", ""
}

// systemdVersion is the first line of systemctl --version: systemd 239 (239-45.el8_4.2); systemd
// 219 in front of a line of options.
func systemdVersion(r *event.Record) (event.Event, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(r.Message()), "systemd ")
	number := scan.Digits(rest)
	tail := strings.TrimSpace(rest[len(number):])
	if !ok || len(number) != 3 || tail != "" && (tail[0] != '(' || tail[len(tail)-1] != ')') {
		return event.Event{}, false
	}
	return nodeFact("systemd.version", strings.Trim(cmp.Or(tail, number), "()"))
}

// unameKernel is the output of uname -a:
//
//	Linux node-1 5.10.0-21-amd64 #1 SMP Debian 5.10.162-1 (2023-01-21) x86_64 GNU/Linux
func unameKernel(r *event.Record) (event.Event, bool) {
	f := strings.Fields(r.Message())
	if len(f) < 6 || f[0] != "Linux" || !strings.HasPrefix(f[3], "#") || !strings.HasSuffix(f[len(f)-1], "Linux") {
		return event.Event{}, false
	}
	e, ok := nodeFact("kernel.version", f[2])
	e.Source = facts.Node
	return e, ok
}
