package incident_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/incident"
)

// A carrier is what brings a line to us: a log aggregator's export, a relay, a forum. The same
// lines give the same answer in each.

// export makes a form of one file of what an aggregator makes of all entries.
func export(name string, write func(all []entry) string) form {
	return form{name, func(n node) map[string]string {
		return map[string]string{"export.txt": write(pieces(n.entries)) + "\n"}
	}}
}

// latestFirst is how most aggregators show entries.
func latestFirst(all []entry) []entry {
	all = slices.Clone(all)
	slices.Reverse(all)
	return all
}

func jsonText(v any, indent string) string {
	if indent != "" {
		out, _ := json.MarshalIndent(v, "", indent)
		return string(out)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// jsonLines writes an object for each entry.
func jsonLines(name string, object func(e entry) any) form {
	return line(name, func(e entry, _ int) string { return jsonText(object(e), "") })
}

// eachOf makes a list of what each entry is exported as.
func eachOf(all []entry, object func(e entry) any) (list []any) {
	for _, e := range all {
		list = append(list, object(e))
	}
	return list
}

// table writes entries as CSV, every cell in quotes.
func table(header []string, all []entry, row func(e entry) []string) string {
	var out strings.Builder
	quote := func(cells []string) {
		for i, c := range cells {
			cells[i] = `"` + strings.ReplaceAll(c, `"`, `""`) + `"`
		}
		out.WriteString(strings.Join(cells, ",") + "\n")
	}
	quote(header)
	for _, e := range all {
		quote(row(e))
	}
	return out.String()
}

// hit is an entry as filebeat and Elasticsearch keep it.
func hit(e entry) any {
	return map[string]any{"_index": "journal", "_id": "x", "_source": map[string]any{
		"@timestamp": e.at.UTC().Format("2006-01-02T15:04:05.000000Z"), "message": e.msg, "host": map[string]any{"name": "node-1"},
		"process": map[string]any{"pid": e.pid, "name": e.unit}, "systemd": map[string]any{"unit": e.unit + ".service"},
	}}
}

// logEntry is an entry of Cloud Logging.
func logEntry(e entry) any {
	return map[string]any{
		"insertId": "x", "timestamp": e.at.UTC().Format(time.RFC3339Nano), "receiveTimestamp": e.at.UTC().Add(9 * time.Second).Format(time.RFC3339Nano),
		"severity": "INFO", "logName": "projects/p/logs/" + e.unit,
		"resource":    map[string]any{"type": "k8s_node", "labels": map[string]any{"node_name": "node-1"}},
		"jsonPayload": map[string]any{"MESSAGE": e.msg, "SYSLOG_IDENTIFIER": e.unit, "_HOSTNAME": "node-1", "_PID": strconv.Itoa(e.pid)},
	}
}

// fluentFields is an entry as fluentd's and fluent-bit's systemd input give it.
func fluentFields(e entry) map[string]string {
	f := map[string]string{"MESSAGE": e.msg, "_HOSTNAME": "node-1", "SYSLOG_IDENTIFIER": e.unit, "PRIORITY": "6"}
	if e.pid > 0 {
		f["_PID"] = strconv.Itoa(e.pid)
	}
	return f
}

// aggregators are the exports that keep host and writer.
func aggregators() []form {
	iso := func(e entry) string { return e.at.Format("2006-01-02T15:04:05.000000Z07:00") }
	ns := func(e entry) string { return strconv.FormatInt(e.at.UnixNano(), 10) }
	loki := func(all []entry) any {
		var streams []any
		units := map[string][]any{}
		for _, e := range all {
			units[e.unit] = append(units[e.unit], []string{ns(e), e.msg})
		}
		for _, unit := range []string{"kernel", "kubelet", "containerd", "systemd"} {
			streams = append(streams, map[string]any{"stream": map[string]string{"hostname": "node-1", "unit": unit + ".service", "job": "systemd-journal"}, "values": units[unit]})
		}
		for unit, values := range units {
			if !slices.Contains([]string{"kernel", "kubelet", "containerd", "systemd"}, unit) {
				streams = append(streams, map[string]any{"stream": map[string]string{"hostname": "node-1", "unit": unit}, "values": values})
			}
		}
		return map[string]any{"status": "success", "data": map[string]any{"resultType": "streams", "result": streams, "stats": map[string]any{"summary": map[string]any{"execTime": 0.02}}}}
	}
	grafana := func(e entry) any {
		return map[string]any{"line": e.msg, "timestamp": ns(e), "date": e.at.UTC().Format("2006-01-02T15:04:05.000Z"), "fields": map[string]string{"hostname": "node-1", "unit": e.unit + ".service"}}
	}
	return []form{
		export("loki", func(all []entry) string { return jsonText(loki(all), "") }),
		export("loki-pretty", func(all []entry) string { return jsonText(loki(latestFirst(all)), "  ") }),
		export("grafana", func(all []entry) string { return jsonText(eachOf(latestFirst(all), grafana), "  ") }),
		jsonLines("logcli-jsonl", func(e entry) any {
			return map[string]any{"labels": map[string]string{"host": "node-1", "unit": e.unit}, "line": e.msg, "timestamp": e.at.Format(time.RFC3339Nano)}
		}),
		line("logcli", func(e entry, _ int) string {
			return e.at.Format("2006-01-02T15:04:05.000000Z07:00") + ` {host="node-1", unit="` + e.unit + `.service"} ` + e.msg
		}),
		export("elasticsearch", func(all []entry) string {
			return jsonText(map[string]any{"took": 3, "hits": map[string]any{"total": map[string]any{"value": len(all)}, "hits": eachOf(latestFirst(all), hit)}}, "  ")
		}),
		jsonLines("elasticsearch-lines", hit),
		export("elasticsearch-fields", func(all []entry) string {
			return jsonText(map[string]any{"hits": map[string]any{"hits": eachOf(all, func(e entry) any {
				return map[string]any{"_id": "x", "fields": map[string]any{"@timestamp": []string{iso(e)}, "message": []string{e.msg}, "host.name": []string{"node-1"}, "syslog.identifier": []string{e.unit}}}
			})}}, "")
		}),
		export("cloud-logging", func(all []entry) string { return jsonText(eachOf(latestFirst(all), logEntry), "  ") }),
		jsonLines("cloud-logging-lines", logEntry),
		export("cloudwatch", func(all []entry) string {
			return jsonText(map[string]any{"nextForwardToken": "f/1", "events": eachOf(all, func(e entry) any {
				return map[string]any{"timestamp": e.at.UnixMilli(), "ingestionTime": e.at.UnixMilli() + 2000, "message": stamped("2006-01-02T15:04:05.000000-07:00")(e, 0)}
			})}, "    ")
		}),
		export("cloudwatch-insights", func(all []entry) string {
			return jsonText(map[string]any{"status": "Complete", "results": eachOf(latestFirst(all), func(e entry) any {
				return []map[string]string{
					{"field": "@timestamp", "value": e.at.UTC().Format("2006-01-02 15:04:05.000")},
					{"field": "@message", "value": stamped("2006-01-02T15:04:05.000000-07:00")(e, 0)},
					{"field": "@ptr", "value": "x"},
				}
			})}, "    ")
		}),
		export("datadog", func(all []entry) string {
			return table([]string{"Date", "Host", "Service", "Message"}, latestFirst(all), func(e entry) []string {
				return []string{e.at.UTC().Format("2006-01-02T15:04:05.000000Z"), "node-1", e.unit, e.msg}
			})
		}),
		export("splunk", func(all []entry) string {
			return table([]string{"_time", "_raw", "host", "source"}, latestFirst(all), func(e entry) []string {
				return []string{e.at.Format("2006-01-02T15:04:05.000-0700"), stamped("2006-01-02T15:04:05.000000-07:00")(e, 0), "node-1", "/var/log/messages"}
			})
		}),
		jsonLines("splunk-json", func(e entry) any {
			return map[string]any{"preview": false, "result": map[string]string{"_time": iso(e), "_raw": stamped("2006-01-02T15:04:05.000000-07:00")(e, 0), "host": "node-1"}}
		}),
		line("fluent-bit", func(e entry, i int) string {
			return fmt.Sprintf(`[%d] host.%s: [%d.%09d, {"MESSAGE"=>"%s", "_HOSTNAME"=>"node-1", "SYSLOG_IDENTIFIER"=>"%s", "_PID"=>"%d"}]`, i, e.unit, e.at.Unix(), e.at.Nanosecond(), e.msg, e.unit, e.pid)
		}),
		line("fluent-bit-2.1", func(e entry, i int) string {
			return fmt.Sprintf(`[%d] host.%s: [[%d.%09d, {}], {"_HOSTNAME"=>"node-1", "SYSLOG_IDENTIFIER"=>"%s", "MESSAGE"=>"%s"}]`, i, e.unit, e.at.Unix(), e.at.Nanosecond(), e.unit, e.msg)
		}),
		line("fluentd", func(e entry, _ int) string {
			return e.at.Format("2006-01-02 15:04:05.000000000 -0700") + " host." + e.unit + ": " + jsonText(fluentFields(e), "")
		}),
		line("fluentd-file", func(e entry, _ int) string {
			return e.at.Format("2006-01-02T15:04:05.000000Z07:00") + "\thost." + e.unit + "\t" + jsonText(fluentFields(e), "")
		}),
		line("relayed", func(e entry, _ int) string {
			pid := "-"
			if e.pid > 0 {
				pid = strconv.Itoa(e.pid)
			}
			return e.at.Format("Jan _2 15:04:05") + " relay-1 logger: <30>1 " + e.at.Format("2006-01-02T15:04:05.000000Z07:00") + " node-1 " + e.unit + " " + pid + " - - " + e.msg
		}),
	}
}

// tags are the syslog tags under which a kubelet writes when something else starts it.
func tags() (all []form) {
	plain := stamped("2006-01-02T15:04:05.000000-07:00")
	all = append(all, line("no-backslashes", func(e entry, i int) string { // a page shows Markdown
		if strings.HasPrefix(e.msg, "{") {
			return plain(e, i) // which is no JSON without them
		}
		return strings.ReplaceAll(plain(e, i), `\"`, `"`)
	}), export("joined", func(entries []entry) string { // a page took the line breaks away
		var text strings.Builder
		for i, e := range entries {
			text.WriteString(plain(e, i) + []string{" ", " ", "\n\n"}[i%3])
		}
		return text.String()
	}))
	for _, tag := range []string{"docker", "env", "kubelet-wrapper", "hyperkube", "origin-node", "atomic-openshift-node", "k3s", "rke2", "start-node.sh"} {
		all = append(all, line("tag-"+tag, func(e entry, i int) string {
			if e.unit == "kubelet" && klogTime.MatchString(e.msg) {
				e.unit = tag
			}
			return plain(e, i)
		}))
	}
	return all
}

// syslogLine is a line of a syslog file: two of testdata's incidents are such.
var syslogLine = regexp.MustCompile(`^(\w{3} [ \d]\d \d\d:\d\d:\d\d) (\S+) ([^\[: ]+)(?:\[(\d+)\])?: (.*)$`)

// syslogNode takes an incident apart whose logs are syslog's, and klog's alone.
func syslogNode(t *testing.T, name string) node {
	t.Helper()
	var n node
	require.NoError(t, filepath.WalkDir("../../testdata/"+name+"/bundle", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if m := syslogLine.FindStringSubmatch(line); m != nil {
				at, err := time.Parse("2006 Jan _2 15:04:05", "2025 "+m[1])
				require.NoError(t, err)
				pid, _ := strconv.Atoi(m[4])
				n.entries = append(n.entries, entry{at, m[3], pid, m[5]})
			} else if m := klogTime.FindStringSubmatch(line); m != nil {
				at, err := time.Parse("2006 0102 15:04:05.000000", "2025 "+m[2])
				require.NoError(t, err)
				n.entries = append(n.entries, entry{at, "kubelet", 1893, line})
			} else {
				require.Empty(t, strings.TrimSpace(line), path)
			}
		}
		return err
	}))
	slices.SortStableFunc(n.entries, func(a, b entry) int { return a.at.Compare(b.at) })
	for i := range n.entries { // a syslog file has no more than the second
		n.entries[i].at = n.entries[i].at.Add(time.Duration(i) * time.Microsecond)
	}
	return n
}

// analyzed is the incident of the logs that a form writes.
func analyzed(t *testing.T, n node, f form) *incident.Incident {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "node")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for name, text := range f.write(n) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	inc := load(t, dir)
	checkAccount(t, inc)
	checkEvidence(t, dir, inc)
	return inc
}

// kindsOf are the kinds of events of the lines, with their number.
func kindsOf(inc *incident.Incident) map[string]int {
	kinds := map[string]int{}
	for _, e := range inc.Timeline.Events {
		kinds[string(e.Kind)+" of "+e.Component]++
	}
	return kinds
}

// mergeComponents counts kinds of events without their components.
func mergeComponents(kinds map[string]int) map[string]int {
	all := map[string]int{}
	for kind, n := range kinds {
		name, _, _ := strings.Cut(kind, " of ")
		all[name] += n
	}
	return all
}

// carriedIncidents are those of testdata whose lines are all of one syslog, or klog.
var carriedIncidents = []string{"synthetic_hung-nfs", "synthetic_hung-netns", "synthetic_restart-cures", "synthetic_hung-disk", "synthetic_kernel-noise", "synthetic_never-listed"}

func TestSameLinesInEveryCarrier(t *testing.T) {
	for _, name := range carriedIncidents {
		n := syslogNode(t, name)
		plain := analyzed(t, n, line("journal", stamped("2006-01-02T15:04:05.000000-07:00")))
		require.NotEmpty(t, kindsOf(plain), name)
		for _, f := range slices.Concat(aggregators(), tags()) {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				inc := analyzed(t, n, f)
				require.Equal(t, kindsOf(plain), kindsOf(inc))
				require.Equal(t, answer(plain), answer(inc))
			})
		}
	}
}

// TestLinesBrokenByATerminal: a message on several lines, each as wide as a terminal, is one.
func TestLinesBrokenByATerminal(t *testing.T) {
	for _, name := range carriedIncidents {
		n := syslogNode(t, name)
		plain := analyzed(t, n, line("journal", stamped("Jan _2 15:04:05")))
		for _, width := range []int{80, 100, 120} {
			t.Run(fmt.Sprintf("%s/%d", name, width), func(t *testing.T) {
				t.Parallel()
				inc := analyzed(t, n, line("broken", func(e entry, i int) string {
					text := []rune(stamped("Jan _2 15:04:05")(e, i))
					var out []string
					for ; len(text) > width; text = text[width:] {
						out = append(out, string(text[:width]))
					}
					return strings.Join(append(out, string(text)), "\n")
				}))
				require.Equal(t, kindsOf(plain), kindsOf(inc))
				require.Equal(t, answer(plain), answer(inc))
			})
		}
	}
}

// TestLinesWithoutAHeader: what of a line stands without the header that its carrier put before it
// makes the same events; only their times are lost, where the writer stamps none.
func TestLinesWithoutAHeader(t *testing.T) {
	for _, name := range carriedIncidents {
		n := syslogNode(t, name)
		plain := analyzed(t, n, line("journal", stamped("2006-01-02T15:04:05.000000-07:00")))
		for _, f := range []form{
			line("bare", func(e entry, _ int) string { return e.msg }),
			line("kernel", func(e entry, _ int) string {
				if e.unit == "kernel" {
					return "kernel: " + e.msg
				}
				return e.msg
			}),
			line("grafana-copied", func(e entry, _ int) string { return e.at.Format("2006-01-02 15:04:05.000 ") + e.msg }),
		} {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				want, got := kindsOf(plain), kindsOf(analyzed(t, n, f))
				if f.name != "kernel" { // without its writer, a boot's first line is that of /proc/version
					delete(want, "kernel.boot of kernel")
				}
				require.Equal(t, mergeComponents(want), mergeComponents(got), "who wrote a bare line is not always shown")
			})
		}
	}
}

// kubeFact is an Event that repeats a line of a log.
type kubeFact struct{ reason, from, object, message, line string }

// kubeFacts are node-problem-detector's reasons, and the kubelet's own.
var kubeFacts = []kubeFact{
	{"TaskHung", "kernel-monitor", "node/node-1", "INFO: task dockerd:6500 blocked for more than 121 seconds.", "kernel: INFO: task dockerd:6500 blocked for more than 121 seconds."},
	{"UnregisterNetDevice", "kernel-monitor", "node/node-1", "unregister_netdevice: waiting for lo to become free. Usage count = 1", "kernel: unregister_netdevice: waiting for lo to become free. Usage count = 1"},
	{
		"KernelDeadlock", "kernel-monitor", "node/node-1", `Node condition KernelDeadlock is now: True, reason: DockerHung, message: "kernel: INFO: task docker:20744 blocked for more than 120 seconds."`,
		"kernel: INFO: task docker:20744 blocked for more than 120 seconds.",
	},
	{
		"OOMKilling", "kernel-monitor", "node/node-1", "Memory cgroup out of memory: Killed process 1012 (java) total-vm:8000kB, anon-rss:7000kB, file-rss:0kB, shmem-rss:0kB",
		"kernel: Memory cgroup out of memory: Killed process 1012 (java) total-vm:8000kB, anon-rss:7000kB, file-rss:0kB, shmem-rss:0kB",
	},
	{
		"FailedCreatePodSandBox", "kubelet", "pod/web-0", "Failed to create pod sandbox: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
		`kubelet[7]: E1108 09:30:11.885000       7 remote_runtime.go:176] "RunPodSandbox from runtime service failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded"`,
	},
}

// eventPrints are how kubectl and others show Events.
func eventPrints() map[string]func(f kubeFact) string {
	kind := func(f kubeFact) (kind, name string) {
		kind, name, _ = strings.Cut(f.object, "/")
		return strings.ToUpper(kind[:1]) + kind[1:], name
	}
	describe := func(f kubeFact) string { return "  Warning  " + f.reason + "  5m23s  " + f.from + "  " + f.message }
	get := func(f kubeFact) string { return "5m23s   Warning   " + f.reason + "   " + f.object + "   " + f.message }
	wide := func(f kubeFact) string {
		return "default   5m23s   Warning   " + f.reason + "   " + f.object + "      " + f.from + ", node-1   " + f.message + "   1h   3   x.16d3c2aaf0e1b2c3"
	}
	collapsed := func(of func(kubeFact) string) func(kubeFact) string {
		return func(f kubeFact) string { return strings.Join(strings.Fields(of(f)), " ") }
	}
	return map[string]func(f kubeFact) string{
		"describe": func(f kubeFact) string {
			return "Events:\n  Type  Reason  Age  From  Message\n  ----  ------  ----  ----  -------\n" + describe(f)
		},
		"describe-rows": describe, "describe-collapsed": collapsed(describe),
		"get":      func(f kubeFact) string { return "LAST SEEN   TYPE   REASON   OBJECT   MESSAGE\n" + get(f) },
		"get-rows": get, "get-collapsed": collapsed(get), "get-wide": wide, "get-wide-collapsed": collapsed(wide),
		"get-old": func(f kubeFact) string {
			kind, name := kind(f)
			return "5m23s   1h   3   " + name + ".16d3c2aaf0e1b2c3   " + kind + "      Warning   " + f.reason + "   " + f.from + ", node-1   " + f.message
		},
		"describe-old": func(f kubeFact) string {
			return "  1h\t5m23s\t3\t{" + f.from + " node-1}\t\tWarning\t" + f.reason + "\t" + f.message
		},
		"quoted-in-ticket": func(f kubeFact) string { return "Hello,\nthe node says\n\n" + get(f) + "\n\nWhat is it?\nRegards" },
		"json": func(f kubeFact) string {
			kind, name := kind(f)
			return jsonText(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{map[string]any{
				"apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": f.reason, "message": f.message, "count": 3,
				"involvedObject": map[string]string{"kind": kind, "name": name, "namespace": "default"}, "source": map[string]string{"component": f.from, "host": "node-1"},
				"firstTimestamp": "2025-11-08T01:33:05Z", "lastTimestamp": "2025-11-08T01:53:05Z",
			}}}, "    ")
		},
		"yaml": func(f kubeFact) string {
			kind, name := kind(f)
			return fmt.Sprintf("apiVersion: v1\nkind: Event\ntype: Warning\nreason: %s\nmessage: %q\ninvolvedObject:\n  kind: %s\n  name: %s\n  namespace: default\nsource:\n  component: %s\nlastTimestamp: \"2025-11-08T01:53:05Z\"",
				f.reason, f.message, kind, name, f.from)
		},
	}
}

// TestEventsAreCarriers: an Event that repeats a line of a log makes the events that the line
// makes, in every print.
func TestEventsAreCarriers(t *testing.T) {
	told := func(name, text string) []string {
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o644))
		inc := load(t, file)
		checkAccount(t, inc)
		checkEvidence(t, file, inc)
		var kinds []string
		for kind := range kindsOf(inc) {
			if !strings.HasPrefix(kind, "kubernetes.event") && kind != "fact of node" { // some prints name the node
				kinds = append(kinds, kind)
			}
		}
		slices.Sort(kinds)
		return kinds
	}
	for _, f := range kubeFacts {
		want := told("messages", "Nov  8 09:30:11 node-1 "+f.line)
		require.Len(t, want, 1, f.reason)
		for name, print := range eventPrints() {
			require.Equal(t, want, told("events.txt", print(f)), "%s of %s: %s", name, f.reason, print(f))
		}
	}
}

// TestConditionsAreCarriers: the kubelet's line about its condition and every print of the
// condition give one stall, from the same moment.
func TestConditionsAreCarriers(t *testing.T) {
	const message = "PLEG is not healthy: pleg was last seen active 3m7.5s ago; threshold is 3m0s"
	row := "Ready   False   Sat, 08 Nov 2025 01:33:12 +0000   Sat, 08 Nov 2025 01:33:12 +0000   KubeletNotReady   " + message
	object := map[string]any{"apiVersion": "v1", "kind": "Node", "metadata": map[string]string{"name": "node-1"}, "status": map[string]any{"conditions": []any{map[string]string{
		"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": message, "lastHeartbeatTime": "2025-11-08T01:33:12Z", "lastTransitionTime": "2025-11-08T01:33:12Z",
	}}}}
	for name, text := range map[string]string{
		"log until 1.20": "2025-11-08T01:33:12.000000+00:00 node-1 kubelet[7]: I1108 01:33:12.000000       7 setters.go:577] Node became not ready: {Type:Ready Status:False LastHeartbeatTime:2025-11-08 01:33:12 +0000 UTC m=+812.1 Reason:KubeletNotReady Message:" + message + "}",
		"log from 1.21":  `2025-11-08T01:33:12.000000+00:00 node-1 kubelet[7]: I1108 01:33:12.000000       7 setters.go:568] "Node became not ready" node="node-1" condition={"type":"Ready","status":"False","lastHeartbeatTime":"2025-11-08T01:33:12Z","reason":"KubeletNotReady","message":"` + message + `"}`,
		"describe":       "Name:   node-1\nRoles:  <none>\nConditions:\n  Type   Status   LastHeartbeatTime   LastTransitionTime   Reason   Message\n  ----   ------   -----------------   ------------------   ------   -------\n  " + row,
		"row":            "  " + row, "row, collapsed": strings.Join(strings.Fields(row), " "), "row, its start cut": strings.TrimPrefix(row, "Ready"),
		"in a ticket": "Hello,\nsee\n" + row + "\nwhat now?\nThanks",
		"json":        jsonText(object, "  "), "json on one line": jsonText(object, ""),
	} {
		file := filepath.Join(t.TempDir(), "node.txt")
		require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o644))
		inc := load(t, file)
		require.Len(t, inc.Timeline.Stalls, 1, name)
		require.Equal(t, "2025-11-08 01:30:04.5", inc.Timeline.Stalls[0].Start.Format("2006-01-02 15:04:05.999"), name)
		checkAccount(t, inc)
		checkEvidence(t, file, inc)
	}
}
