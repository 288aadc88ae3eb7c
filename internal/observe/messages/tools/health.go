package tools

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/repeated"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Health is single lines that tools print about the node: uptime and top, systemctl list-jobs,
// smartctl and nvme.
var Health = table.Table{Component: "node", Relays: []string{table.HostProgram}, Rows: []table.Row{
	{[]string{"load average: "}, nodeFactFrom("node.load", loadAverage)},
	{scan.WithDigit("", " zombie"), nodeFactFrom("node.zombies", zombieTasks)},
	{append(scan.WithDigit(" 9", "%    "), "100%    "), nodeFactFrom("memory.slab-cache", keptObjects)},
	{[]string{"Cpu(s): ", "%Cpu(s):"}, nodeFactFrom("cpu.iowait-percent", cpuShareBefore("wa,"))},
	{[]string{"Cpu(s): ", "%Cpu(s):"}, nodeFactFrom("cpu.steal-percent", cpuShareBefore("st"))},
	{[]string{"No jobs running."}, nodeFactFrom("systemd.jobs", func(text string) string {
		if text == "No jobs running." {
			return "0"
		}
		return ""
	})},
	{[]string{
		"self-assessment test result: ", "SMART Health Status: ", "FAILING_NOW", "critical_warning", "media_errors",
		"Critical Warning: ", "Media and Data Integrity Errors: ",
	}, diskHealth},
	{smartdSays, smartdWarning},
}}

// Probes is what those say who ask the kubelet and the runtime for their health: kubeadm,
// node-problem-detector, and the script that restarts them on GCE and GKE.
var Probes = table.Table{Component: "node", Relays: []string{"", table.HostProgram}, Unnamed: "node", Rows: []table.Row{
	{[]string{
		":10248/healthz", "Kubelet is unhealthy!", "The kubelet is not healthy after", "running or healthy", "K8S_KUBELET_NOT_RUNNING",
		"daemon-kubelite is not running", "daemon-kubelet is not running", ":10250: connect: connection refused", ":10250: i/o timeout",
	}, kubeletUnhealthy},
	{[]string{"curl: (7) "}, kubeletPortClosed},
	{[]string{" | AC lost | ", " | Power off/down | ", " | Hard reset | ", " | Power cycle | ", " | Power down | ", " | Power reset | "}, powerLost},
	{[]string{"curl: (7) ", "curl: (28) ", "* connect to ", "s Connection timed out", "s Failed to connect to ", "s Could not resolve host"}, apiServerSilent},
	{[]string{"Docker daemon failed!", "ontainer runtime containerd failed!", "docker still unres"}, runtimeUnhealthy},
	{[]string{"health_checker.go:"}, runtimeAskedInVain},
}}

// kubeletUnhealthy is a kubelet that does not answer at /healthz, or answers that it is not
// healthy:
//
//	[kubelet-check] The HTTP call equal to 'curl -sSL http://localhost:10248/healthz' failed with error: Get "http://localhost:10248/healthz": dial tcp 127.0.0.1:10248: connect: connection refused.
//	[kubelet-check] The kubelet is not healthy after 4m0.000463s                                     (kubeadm 1.28 and later)
//	… The HTTP call equal to 'curl -sSL http://127.0.0.1:10248/healthz' returned error: Get …: context deadline exceeded
//	health_checker.go:180] command /bin/bash -c curl -m 10 -f -s -S http://127.0.0.1:10248/healthz failed: exit status 28, curl: (28) Operation timed out …
//	Kubelet is unhealthy!                                                                            (health-monitor.sh)
//	[kubelet-check] It seems like the kubelet isn't running or healthy.                              (kubeadm up to 1.30)
//	Exiting due to K8S_KUBELET_NOT_RUNNING: wait: …                                                  (minikube)
//	FAIL:  Service snap.microk8s.daemon-kubelite is not running                                      (microk8s inspect; up to 1.20: daemon-kubelet)
//
// or at its own port, where the API server, kubectl and metrics-server ask:
//
//	Error from server: Get "https://10.0.0.5:10250/containerLogs/…": dial tcp 10.0.0.5:10250: connect: connection refused
func kubeletUnhealthy(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	reason := scan.After(text, "failed with error: ", "returned error: ", "healthz failed: ")
	switch {
	case scan.ContainsAny(text, kubeletIsDown):
		reason = text
	case strings.Contains(r.Raw, ":10250: connect: connection refused"):
		reason = "connection refused at port 10250"
	case strings.Contains(r.Raw, ":10250: i/o timeout"):
		reason = "timed out at port 10250"
	case reason == "":
		return event.Event{}, false
	}
	refused := strings.Contains(reason, "onnection refused")
	e := event.New(
		event.KindHealthFailed, "the kubelet does not say that it is healthy: "+scan.Clip(reason), event.FieldService.Text("kubelet"),
		event.FieldError.Text(scan.Clip(reason)), event.FieldDeadline.Bool(table.IsDeadline(reason) || strings.Contains(reason, "timed out")),
	)
	if refused {
		e.Text = "nobody listens at the kubelet's port"
		e.AddFields(event.FieldRefused.Bool(true))
	}
	e.Component = "kubelet"
	return e, true
}

// kubeletPortClosed is curl, of a person or a script, that finds nobody at a port of the kubelet on
// its own machine:
//
//	curl: (7) Failed to connect to localhost port 10248: Connection refused
//	curl: (7) Failed to connect to 127.0.0.1 port 10250 after 0 ms: Couldn't connect to server
//	curl: (7) Failed connect to localhost:10248; Connection refused
func kubeletPortClosed(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	m := closedPort.FindStringSubmatch(text)
	if m == nil {
		return event.Event{}, false
	}
	e := event.New(
		event.KindHealthFailed, "nobody listens at the kubelet's port", event.FieldService.Text("kubelet"),
		event.FieldError.Text("connection refused at port "+m[1]), event.FieldDeadline.Bool(false), event.FieldRefused.Bool(true),
	)
	e.Component = "kubelet"
	return e, r.Unit == ""
}

var closedPort = regexp.MustCompile(`^curl: \(7\) Failed (?:to )?connect to (?:localhost|127\.0\.0\.1|::1)(?: port |:)(10248|10250)[: ;].*(?:Connection refused|Couldn't connect to server)`)

// boardEvent is a row of the board's own log, by ipmitool sel list or elist: 1 the date, 2 the
// time, 3 what of it, 4 what happened.
var boardEvent = regexp.MustCompile(`^ *[0-9a-f]{1,5} \| (\d\d/\d\d/\d{4}) \| (\d\d:\d\d:\d\d)(?: [A-Z]{3})? \| ([^|]{1,60}?) \| ([^|]{1,60}?) \| Asserted$`)

// powerLost is the board of a machine that says that the machine lost its power, or was switched
// off or reset (names of states: ipmitool, lib/ipmi_sel.c). The board has a clock of its own, which
// mostly runs in UTC.
//
//	41 | 01/22/2025 | 02:17:31 | Power Unit #0x01 | AC lost | Asserted
func powerLost(r *event.Record) (event.Event, bool) {
	m := boardEvent.FindStringSubmatch(strings.TrimRight(r.Message(), " \t\r"))
	if m == nil || r.Unit != "" {
		return event.Event{}, false
	}
	e := event.New(event.KindPowerLost, "the board of the machine says of "+m[3]+": "+m[4], event.FieldWhat.Text(m[4]))
	e.Component, e.Source = "node", facts.Node
	at, err := time.Parse("01/02/2006 15:04:05", m[1]+" "+m[2])
	e.Start = event.Time{T: at, Prec: time.Second, Lacks: event.LacksZone, Known: err == nil}
	return e, err == nil
}

// apiServerSilent is curl, on the node, that gets no answer of the API server at its port, or at
// the address of the kubelet's configuration, as the command prints it that a report asks for:
//
//	curl: (7) Failed to connect to 10.61.0.4 port 6443 after 3054 ms: No route to host
//	curl: (28) Failed to connect to 10.61.0.4 port 6443 after 8001 ms: Timeout was reached
//	* connect to 10.61.0.4 port 6443 failed: Connection timed out                       (curl -v)
//	https://10.61.0.4:6443 000 8.001408s Connection timed out after 8001 milliseconds
//	nc: connect to 10.61.0.4 port 6443 (tcp) timed out: Operation now in progress       (OpenBSD's)
func apiServerSilent(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	m := silentServer.FindStringSubmatch(text)
	if m == nil {
		return event.Event{}, false
	}
	e := repeated.APIServerSilent(m[1] + m[2] + m[3] + m[4])
	e.Component = "node"
	return e, r.Unit == ""
}

// silentServer are those lines: one of the parts is the reason. The ports are those of kubeadm,
// microk8s and rke2.
var silentServer = regexp.MustCompile(`^(?:curl: \(\d+\) (Failed (?:to )?connect to \S+(?: port |:)(?:6443|16443|9345)[: ;].*)|\* connect to \S+ port (?:6443|16443|9345) (failed: .*)|https://\S+ 000 \d+\.\d+s (\S.*)|nc: connect to \S+ port (?:6443|16443|9345) \(tcp\) ((?:timed out|failed): \S.*))$`)

// kubeletIsDown are whole findings of those who asked.
var kubeletIsDown = []string{
	"Kubelet is unhealthy!", "The kubelet is not healthy after", "the kubelet isn't running or healthy", "K8S_KUBELET_NOT_RUNNING", "daemon-kubelite is not running", "daemon-kubelet is not running",
}

// runtimeUnhealthy is a runtime that did not list its containers within a minute, or twice within
// 20 s, so that it is ended:
//
//	Docker daemon failed!; Container runtime containerd failed!         (health-monitor.sh)
//	docker still unresposive; triggering docker restart                 (docker-healthcheck of kops)
func runtimeUnhealthy(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	component := map[bool]string{true: "containerd", false: "dockerd"}[strings.HasPrefix(text, "Container")]
	e := event.New(
		event.KindHealthFailed, component+" does not list its containers in time, and its monitor ends it", event.FieldService.Text("cri"),
		event.FieldError.Text(text), event.FieldDeadline.Bool(true),
	)
	e.Component = component
	ends := []string{"Docker daemon failed!", "Container runtime containerd failed!", "docker still unresposive;", "docker still unresponsive;"}
	return e, slices.ContainsFunc(ends, func(words string) bool { return strings.HasPrefix(text, words) })
}

// runtimeAskedInVain is a runtime that did not answer the health-checker of node-problem-detector
// (0.8 to 1.35) in its time: it asks with crictl or docker.
//
//	health_checker.go:180] command /usr/bin/crictl --timeout=2s --runtime-endpoint=unix:///var/run/containerd/containerd.sock pods --latest failed: exit status 1, time="…" level=fatal msg="… context deadline exceeded"
//	health_checker.go:160] command /usr/bin/docker ps failed: signal: killed, []
func runtimeAskedInVain(r *event.Record) (event.Event, bool) {
	asked, ok := strings.CutPrefix(strings.TrimSpace(r.Message()), "command ")
	command, reason, failed := strings.Cut(asked, " failed: ")
	component := ""
	switch {
	case strings.Contains(command, "crictl ") && strings.Contains(command, "crio"):
		component = "crio"
	case strings.Contains(command, "crictl "):
		component = "containerd"
	case strings.Contains(command, "docker "):
		component = "dockerd"
	}
	e := event.New(
		event.KindHealthFailed, component+" does not answer its monitor in time", event.FieldService.Text("cri"),
		event.FieldError.Text(scan.Clip(reason)), event.FieldDeadline.Bool(true),
	)
	e.Component = component
	return e, ok && failed && component != "" && (table.IsDeadline(reason) || strings.HasPrefix(reason, "signal: killed"))
}

// nodeFactFrom makes a fact of a line that no daemon wrote.
func nodeFactFrom(name string, value func(text string) string) func(*event.Record) (event.Event, bool) {
	return func(r *event.Record) (event.Event, bool) {
		if r.Unit != "" {
			return event.Event{}, false
		}
		e, ok := facts.New(name, value(strings.TrimSpace(r.Message())))
		e.Source = facts.Node
		return e, ok
	}
}

// loadAverage: 10:02:11 up 12 days,  3:04,  1 user,  load average: 412.10, 398.22, 300.01.
// Of the line people keep its end, too.
func loadAverage(text string) string {
	loads := scan.After(text, "load average: ")
	if !strings.Contains(loads, ".") {
		loads = withPoints(loads)
	}
	words := strings.Fields(strings.ReplaceAll(loads, ",", " "))
	if len(words) != 3 || !strings.Contains(text, " up ") && !strings.HasPrefix(text, "load average: ") {
		return ""
	}
	for _, w := range words {
		if _, err := strconv.ParseFloat(w, 64); err != nil {
			return ""
		}
	}
	return strings.Join(words, " ")
}

// withPoints writes the numbers of top and uptime with a point, which have a comma in many
// languages.
func withPoints(text string) string { return commaOfNumber.ReplaceAllString(text, "$1.$2") }

var commaOfNumber = regexp.MustCompile(`(\d),(\d)`)

// zombieTasks: Tasks: 812 total,   2 running, 790 sleeping,   0 stopped,  20 zombie (top).
func zombieTasks(text string) string {
	if !strings.HasPrefix(text, "Tasks:") && !strings.HasPrefix(text, "Threads:") || !strings.HasSuffix(text, " zombie") {
		return ""
	}
	words := strings.Fields(text)
	return scan.Digits(words[len(words)-2])
}

// keptObjects is a row of slabtop: a cache of the kernel's objects that takes more than 1 GiB,
// nearly all of it in use, and that is none of those that the kernel empties when it needs memory.
// In GiB.
//
//	  OBJS ACTIVE  USE OBJ SIZE  SLABS OBJ/SLAB CACHE SIZE NAME
//	734506368 734506368 100%    0.06K 11476662       64  45906648K ebitmap_node
func keptObjects(text string) string {
	words := strings.Fields(text)
	if len(words) != 8 || !strings.HasSuffix(words[2], "%") || !strings.HasSuffix(words[3], "K") || !strings.HasSuffix(words[6], "K") {
		return ""
	}
	used, err := strconv.Atoi(strings.TrimSuffix(words[2], "%"))
	size, failed := strconv.ParseFloat(strings.TrimSuffix(words[6], "K"), 64)
	name := words[7]
	emptied := name == "dentry" || name == "buffer_head" || strings.HasPrefix(name, "radix_tree") || strings.Contains(name, "_inode") || strings.HasPrefix(name, "ext4_extent")
	if err != nil || failed != nil || used < 90 || size < 1<<20 || emptied {
		return ""
	}
	return name + " " + strconv.FormatFloat(size/(1<<20), 'f', 1, 64)
}

// cpuShareBefore is the share of the CPU time that top gives before a column's name:
//
//	%Cpu(s):  1.2 us,  3.1 sy,  0.0 ni,  5.0 id, 90.4 wa,  0.0 hi,  0.1 si,  0.0 st
//	%Cpu(s):  1,2 us,  3,1 sy,  0,0 ni,  5,0 id, 90,4 wa,  0,0 hi,  0,1 si,  0,0 st      (as in German)
func cpuShareBefore(column string) func(text string) string {
	return func(text string) string {
		before, _, ok := strings.Cut(text, column)
		words := strings.FieldsFunc(withPoints(before), func(c rune) bool { return c == ' ' || c == ',' || c == '%' })
		if !ok || len(words) == 0 {
			return ""
		}
		share := words[len(words)-1]
		if _, err := strconv.ParseFloat(share, 64); err != nil {
			return ""
		}
		return share
	}
}

// smartdSays is what smartd (smartmontools 5.x to 7.x) says of a disk that fails.
var smartdSays = []string{
	"Currently unreadable (pending) sectors", "Offline uncorrectable sectors", "FAILED SMART self-check", "Failed SMART usage Attribute",
	"ATA error count increased", "Critical Warning (0x", "SMART Failure: ", "Self-Test Log error count increased", "unable to open ATA device",
}

// smartdWarning is a disk of which smartd says that it fails:
//
//	Device: /dev/sda [SAT], 24 Currently unreadable (pending) sectors
//	Device: /dev/sda [SAT], FAILED SMART self-check. BACK UP DATA NOW!
//	Device: /dev/nvme0, Critical Warning (0x04): reliability degraded
//	Device: /dev/bus/0 [megaraid_disk_04], SMART Failure: DATA CHANNEL IMPENDING FAILURE DATA ERROR RATE TOO HIGH
func smartdWarning(r *event.Record) (event.Event, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(r.Message()), "Device: /dev/")
	device, said, found := strings.Cut(rest, ",")
	device, _, _ = strings.Cut(device, " ")
	said = strings.TrimSpace(said)
	if !ok || !found || device == "" || strings.HasPrefix(said, "0 ") {
		return event.Event{}, false
	}
	e := event.New(event.KindBlockError, "smartd says of "+device+": "+scan.Clip(said), event.FieldWhat.Text("health"))
	e.AddText(event.FieldDevice, device)
	return e, true
}

// healthCounts are numbers of nvme smart-log and of smartctl that are zero while a disk is well.
var healthCounts = []string{"critical_warning", "media_errors", "Critical Warning", "Media and Data Integrity Errors"}

// diskHealth is a disk that says itself that it fails:
//
//	SMART overall-health self-assessment test result: FAILED!                   smartctl -H
//	  5 Reallocated_Sector_Ct   0x0033   001   001   010    Pre-fail  Always   FAILING_NOW 2048
//	critical_warning                    : 0x4                                   nvme smart-log; 0 for none
//	media_errors                        : 122
//	Critical Warning:                   0x04                                   smartctl, of an NVMe
//	Media and Data Integrity Errors:    122
func diskHealth(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	name, value, _ := strings.Cut(text, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	number, err := strconv.ParseUint(strings.ReplaceAll(value, ",", ""), 0, 64)
	switch {
	case r.Unit != "":
		return event.Event{}, false
	case strings.HasSuffix(name, "self-assessment test result") && strings.HasPrefix(value, "FAILED"),
		name == "SMART Health Status" && value != "" && value != "OK",
		strings.Contains(text, "FAILING_NOW"),
		slices.Contains(healthCounts, name) && err == nil && number > 0:
	default:
		return event.Event{}, false
	}
	return event.New(event.KindBlockError, "a disk says that it fails: "+scan.Clip(text), event.FieldWhat.Text("health")), true
}
