package tools

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Health is single lines that tools print about the node: uptime and top, systemctl list-jobs,
// smartctl and nvme.
var Health = table.Table{Component: "node", Relays: []string{table.HostProgram}, Rows: []table.Row{
	{[]string{"load average: "}, ofNode("node.load", loadAverage)},
	{[]string{" zombie"}, ofNode("node.zombies", zombieTasks)},
	{[]string{"Cpu(s):"}, ofNode("cpu.iowait-percent", waitingShare)},
	{[]string{"No jobs running."}, ofNode("systemd.jobs", func(text string) string {
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

// ofNode makes a fact of a line that no daemon wrote.
func ofNode(name string, value func(text string) string) func(*event.Record) (event.Event, bool) {
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
func loadAverage(text string) string {
	words := strings.Fields(strings.ReplaceAll(scan.After(text, "load average: "), ",", " "))
	if len(words) != 3 || !strings.Contains(text, " up ") {
		return ""
	}
	for _, w := range words {
		if _, err := strconv.ParseFloat(w, 64); err != nil {
			return ""
		}
	}
	return strings.Join(words, " ")
}

// zombieTasks: Tasks: 812 total,   2 running, 790 sleeping,   0 stopped,  20 zombie (top).
func zombieTasks(text string) string {
	if !strings.HasPrefix(text, "Tasks:") && !strings.HasPrefix(text, "Threads:") || !strings.HasSuffix(text, " zombie") {
		return ""
	}
	words := strings.Fields(text)
	return scan.Digits(words[len(words)-2])
}

// waitingShare: %Cpu(s):  1.2 us,  3.1 sy,  0.0 ni,  5.0 id, 90.4 wa, … (top).
func waitingShare(text string) string {
	before, _, ok := strings.Cut(text, "wa,")
	words := strings.FieldsFunc(before, func(c rune) bool { return c == ' ' || c == ',' || c == '%' })
	if !ok || len(words) == 0 {
		return ""
	}
	share := words[len(words)-1]
	if _, err := strconv.ParseFloat(share, 64); err != nil {
		return ""
	}
	return share
}

// smartdSays is what smartd (smartmontools 5.x to 7.x) says of a disk that fails.
var smartdSays = []string{
	"Currently unreadable (pending) sectors", "Offline uncorrectable sectors", "FAILED SMART self-check", "Failed SMART usage Attribute",
	"ATA error count increased", "Critical Warning (0x",
}

// smartdWarning is a disk of which smartd says that it fails:
//
//	Device: /dev/sda [SAT], 24 Currently unreadable (pending) sectors
//	Device: /dev/sda [SAT], FAILED SMART self-check. BACK UP DATA NOW!
//	Device: /dev/nvme0, Critical Warning (0x04): reliability degraded
func smartdWarning(r *event.Record) (event.Event, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(r.Message()), "Device: /dev/")
	device, said, found := strings.Cut(rest, ",")
	device, _, _ = strings.Cut(device, " ")
	said = strings.TrimSpace(said)
	if !ok || !found || device == "" || strings.HasPrefix(said, "0 ") {
		return event.Event{}, false
	}
	e := event.New(event.KindBlockError, "smartd says of "+device+": "+table.Clip(said), event.FieldWhat.Text("health"))
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
	return event.New(event.KindBlockError, "a disk says that it fails: "+table.Clip(text), event.FieldWhat.Text("health")), true
}
