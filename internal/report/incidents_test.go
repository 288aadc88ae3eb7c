package report_test

import (
	"fmt"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

const container = "b39895a86a9ebfdad08d2b42015f962ab2e0ec6b937f0662bef3d948009fcb6e"

func at(clock string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05.999999999", "2026-11-20 "+clock)
	if err != nil {
		panic(err)
	}
	return t
}

func quote(file string, line int, text string) event.Quote {
	return event.Quote{Pos: event.Pos{File: file, Line: line}, Text: text}
}

// proven is an incident with everything: a root, a link that repeats its steps, a weak rival.
func proven() *incident.Incident {
	exit := rules.Step{
		ID: "exit", Rule: "umount2-overlay-sync", Role: "cause", Observed: true, Start: at("18:25:36.161354478"),
		Text:     "container b39895a8… exits with 137",
		Evidence: []event.Quote{quote("containerd.log", 812, `time="2026-11-20T18:25:36.162003478Z" level=debug msg="received exit event &TaskExit{ContainerID:`+container+`,ID:`+container+`,Pid:2375,ExitStatus:137,ExitedAt:2026-11-20 18:25:36.161354478 +0000 UTC,XXX_unrecognized:[],}"`)},
	}
	umount := rules.Step{
		ID: "umount", Rule: "umount2-overlay-sync", Role: "mechanism", Observed: true,
		Start: at("18:25:36.201"), End: at("18:26:36.202"), Duration: 60*time.Second + 1200*time.Microsecond,
		Basis: "date of shim.strace from the exit of pid 2375", Text: "its shim sits in umount2 of the overlay",
		Evidence: []event.Quote{quote("shim.strace", 14, `9094  18:25:36.201035 umount2("/run/containerd/io.containerd.runtime.v2.task/k8s.io/b39895a8/rootfs", 0) = 0 (DELAYED) <60.001200>`)},
	}
	lock := rules.Step{
		ID: "update-open", Rule: "cri-status-lock-exiting-update", Role: "mechanism",
		Start: at("18:25:37.621236023"), End: at("18:27:36"), Duration: 119 * time.Second, AtLeast: true,
		Text: "UpdateContainerResources holds the container's Status lock (0xc000130f80, goroutine 492) and waits for task.Update",
		Evidence: []event.Quote{
			quote("containerd.log", 841, `time="2026-11-20T18:25:37.621236023Z" level=info msg="UpdateContainerResources for \"`+container+`\" with Linux: &LinuxContainerResources{CpuPeriod:0,CpuQuota:0,CpuShares:256,MemoryLimitInBytes:0,OomScoreAdj:0,CpusetCpus:,CpusetMems:,HugepageLimits:[]*HugepageLimit{},Unified:map[string]string{},MemorySwapLimitInBytes:0,} / Windows: nil"`),
			quote("containerd.43.stacks.log", 2107, "\tgithub.com/containerd/containerd/pkg/cri/server/container_update_resources.go:44 +0x1a5"),
			quote("containerd.43.stacks.log", 2109, "goroutine 492 [select, 1 minutes]:"),
			quote("containerd.43.stacks.log", 2300, "goroutine 501 [semacquire, 1 minutes]:"),
		},
	}
	ready := rules.Step{
		ID: "list-done", Rule: "cri-status-lock-exiting-update", Role: "recovery", Start: at("18:27:36.635"),
		Text: "ListContainers answers again", Evidence: []event.Quote{quote("containerd.log", 1202, `time="2026-11-20T18:27:36.635Z" level=debug msg="ListContainers with filter nil returns containers"`)},
	}
	return &incident.Incident{
		Node:   "node-1",
		Window: timeline.Window{Start: at("18:20:01"), End: at("18:30:59")},
		Timeline: &timeline.Timeline{
			Stalls: []timeline.Stall{{
				Window: timeline.Window{Start: at("18:25:37.7"), End: at("18:29:02")}, Phase: timeline.PhaseList, NotReady: at("18:28:40.12"),
				Evidence:         []event.Quote{quote("journal/kubelet.log", 77, `E1120 18:28:38.001202    1234 kubelet.go:1820] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 3m0.3s ago; threshold is 3m0s"`)},
				NotReadyEvidence: []event.Quote{quote("journal/kubelet.log", 79, `I1120 18:28:40.120000    1234 setters.go:552] "Node became not ready" node="node-1"`)},
			}},
			Facts: map[string]timeline.Fact{
				"kernel.version":     {Value: "6.18.0"},
				"containerd.version": {Value: "1.6.20", Evidence: []event.Quote{quote("containerd.log", 3, "starting containerd version=1.6.20")}},
			},
			Coverage: []timeline.Coverage{
				{Source: "containerd.log", File: "containerd.log", Start: at("18:20:01"), End: at("18:30:59")},
				{Source: "kubelet.log", File: "journal/kubelet.log", Start: at("18:20:01"), End: at("18:30:59"), Gaps: []timeline.Gap{{
					Window: timeline.Window{Start: at("18:23:00"), End: at("18:23:30")}, Reason: "journald suppressed 4523 messages of kubelet.service",
					Evidence: []event.Quote{quote("journal/kubelet.log", 31, "Nov 20 18:23:30 node-1 systemd-journald[412]: Suppressed 4523 messages from kubelet.service")},
				}}},
				{Source: "systemd.log", File: "containerd.log", Gaps: []timeline.Gap{{Window: timeline.Window{Start: at("18:30:59")}, Reason: "the file is cut off: unexpected EOF"}}},
			},
			Clocks: []timeline.Clock{
				{File: "containerd.log", Basis: "written"},
				{File: "journal/kubelet.log", Basis: "zone +08:00 from same-line pairs", Offset: 8 * time.Hour, Note: "year 2026 from containerd.log"},
			},
		},
		Result: story.Result{
			Headline: "18:25:36 container b39895a8 exits; its shim sits in umount2 for 1m0s while UpdateContainerResources holds that container's Status lock for at least 1m59s and ListContainers queues behind it; node-1 is NotReady from 18:28:40.",
			Opening:  story.Opening{State: story.Confirmed, Finding: 1, Episode: 1, Reason: "every deciding step was seen", Advice: "Let the umount finish; do not restart containerd."},
			Episodes: []story.Episode{{
				Window: timeline.Window{Start: at("18:25:37.7"), End: at("18:29:02")}, Stalls: []int{0},
				Cause: "umount2-overlay-sync", Verdict: language.Confirmed, Summary: "The shim of b39895a8 waits 1m0s for umount2",
			}},
			Findings: []story.Finding{
				{
					Role: language.Root,
					Finding: rules.Finding{
						Rule: "umount2-overlay-sync", Title: "Unmounting an exited container's overlay writes the whole disk back", Verdict: language.Confirmed,
						Score: 0.934, Formula: "exit 0.3 + umount 0.5 + version 0.134", Summary: "The shim of b39895a8 waits 1m0s for umount2.", Container: container,
						Start: at("18:25:36.161354478"), End: at("18:27:36.635"),
						Chain: []rules.Step{exit, umount, lock, ready},
						Notes: []string{"the delay was injected: the trace says (DELAYED)"},
						Remediation: language.Remediation{Now: []language.Action{{
							Do: "Let the umount finish; do not restart containerd.", Commands: []string{"timeout 10 iostat -x 1 3", "grep Dirty /proc/meminfo"}, Hazard: story.ReadsOnly,
						}}, Durable: []string{"containerd 1.6.24 or 1.7.4, with kernel 5.10 or later: it mounts overlays with the volatile option."}},
						References: []string{"https://github.com/containerd/containerd/pull/8676", "moby#44300"},
					},
				},
				{
					Role: language.Link,
					Finding: rules.Finding{
						Rule: "cri-status-lock-exiting-update", Title: "An update of an exiting container blocks every list", Verdict: language.Confirmed,
						Score: 0.9, Summary: "UpdateContainerResources holds the Status lock.", Container: container,
						Start: at("18:25:37.621236023"), End: at("18:27:36.635"), Chain: []rules.Step{lock, ready},
					},
				},
				{
					Role: language.Contributing,
					Rivals: []story.Rival{
						{Rule: "umount2-overlay-sync", Container: container, Decide: []rules.Missing{{Source: "strace", Command: "timeout 10 strace -f -tt -T -p $(pidof containerd)"}}},
						{Rule: "runc-stuck-dbus"},
					},
					Finding: rules.Finding{
						Rule: "cri-updatesync-slow-metadata", Title: "Status files are synced slowly", Verdict: language.Likely,
						Score: 0.5, Summary: "An fsync of a status file lasts 31s.",
					},
				},
				{
					Role: language.Fallback,
					Finding: rules.Finding{
						Rule: "runtime-latency", Title: "The runtime is slow", Verdict: language.Possible, Score: 0.3,
						Summary: "Calls are slow and nothing says why.",
						Chain: []rules.Step{{
							ID: "slow", Rule: "runtime-latency", Role: "symptom", Text: "undated call", Evidence: []event.Quote{quote("dump.txt", 0, "goroutine 1 [running]:")},
						}},
						Contradictions: []rules.Against{{Why: "Status calls for other containers answer within 3ms.", Evidence: []event.Quote{quote("containerd.log", 900, "ok")}}},
						Missing:        []rules.Missing{{Source: "goroutines.containerd", Command: "kill -USR1 $(pidof containerd)\njournalctl -u containerd --since -1min"}},
					},
				},
			},
			RuledOut:   []rules.Dismissed{{Rule: "systemd-dbus-cookie-overflow", Why: "systemd 252 is not affected (fixed in 242)", Evidence: []event.Quote{quote("all.log", 1, "systemd 252 running in system mode")}}},
			AskedFacts: []string{"containerd.version"},
			Harmless: []story.Harmless{{
				Name: "shim disconnected", Why: "what a container's end looks like", Count: 12,
				Evidence: []event.Quote{quote("containerd.log", 30, `time="2026-11-20T18:20:36Z" level=info msg="shim disconnected" id=`+container)},
			}},
			Exposed: []rules.Exposure{{
				Rule: "containerd-shim-leak", Text: "shims outlive their containers", Because: []string{"containerd.version = 1.6.20"},
				Evidence: []event.Quote{ // two facts of one line
					quote("version.txt", 1, "containerd github.com/containerd/containerd 1.6.20~ds1"),
					quote("version.txt", 1, "containerd github.com/containerd/containerd 1.6.20~ds1"),
				},
			}},
			Forecasts: []rules.Forecast{{
				Rule: "systemd-dbus-cookie-overflow", Text: "PID 1 answers nobody any more", At: at("23:59:00").AddDate(0, 2, 0), Value: 4_100_000_000, Limit: 4_294_967_295, Rate: 37.6215, Span: 4 * time.Minute,
				Evidence: []event.Quote{quote("pid1.strace", 9, `1 18:20:00 sendmsg(12, "l\4\1", …`)},
			}},
			NotEvaluable: []rules.Unanswered{
				{Rule: "dockerd-container-mutex", Why: "no dump of dockerd", Missing: []rules.Missing{{Source: "goroutines.dockerd", Command: "kill -USR1 $(pidof dockerd)"}}},
				{Rule: "netlink-recv-hang-cni", Missing: []rules.Missing{{Source: "goroutines.cni", Command: "curl -s localhost:6060/debug/pprof/goroutine?debug=2"}}},
				{Rule: "runc-stuck-dbus", Why: "no dump of dockerd", Missing: []rules.Missing{{Source: "goroutines.dockerd", Command: "kill -USR1 $(pidof dockerd)"}}},
			},
		},
		Files: []*incident.File{
			{Path: "containerd.log", Format: "journal-short-precise", Component: "containerd", Lines: 1300, Used: 1298, Blank: 1, Skipped: 1, FirstSkip: `containerd.log:42: no stamp in "garbage"`, Skips: map[string]int{"no stamp": 1}, Start: at("18:20:01"), End: at("18:30:59")},
			{Path: "containerd.43.stacks.log", Format: "goroutines", Lines: 2500, Used: 2500},
			{Path: "notes.bin", Format: "unknown", Lines: 12, Skipped: 12, FirstSkip: "notes.bin:1: no format fits", Err: "unexpected EOF; 12 lines kept"},
		},
	}
}

const dumpContainerd = "kill -USR1 $(pidof containerd)"

func stallWithoutCause() *incident.Incident {
	line := quote("kubelet.log", 8, `PLEG is not healthy: pleg was last seen active 3m0.1s ago; threshold is 3m0s`)
	return &incident.Incident{
		Node:   "node-2",
		Window: timeline.Window{Start: at("09:00:00"), End: at("09:40:00").AddDate(0, 0, 1)},
		Timeline: &timeline.Timeline{Stalls: []timeline.Stall{{
			Window: timeline.Window{Start: at("09:30:00"), End: at("09:40:00")}, Open: true,
			Phase: timeline.PhasePod, PhaseBasis: "after a restart of the kubelet relist listed the pods and stuck again", Tooth: 2, Restarted: at("09:29:50"), Evidence: []event.Quote{line},
		}}},
		Result: story.Result{
			Headline:     "relist has not completed since 09:30:00; the evidence does not show the cause",
			Opening:      story.Opening{State: story.Stalled, Episode: 1, Reason: "nothing that was read shows why", Command: dumpContainerd, Hazard: story.Hazard(dumpContainerd)},
			NotEvaluable: []rules.Unanswered{{Rule: "umount2-overlay-sync", Missing: []rules.Missing{{Source: "goroutines.containerd", Command: dumpContainerd}}}},
			Suspects:     []story.Suspect{{What: "container", ID: container, Why: "ContainerStatus ran into its deadline (3×)", Evidence: []event.Quote{line}}},
			Next: []story.NextStep{{
				Missing: rules.Missing{Source: "goroutines.containerd", Command: dumpContainerd},
				Decides: []string{"umount2-overlay-sync"}, Hazard: story.Hazard(dumpContainerd),
			}},
			Episodes: []story.Episode{{Window: timeline.Window{Start: at("09:30:00"), End: at("09:40:00")}, Open: true, Stalls: []int{0}}},
			Hypotheses: []rules.Hypothesis{{
				Rule: "umount2-overlay-sync", Title: "Unmounting a root file system waits for the disk", Verdict: language.Weighed,
				For: []rules.Reason{{Text: "the disk is busy", Evidence: []event.Quote{line}}}, NotSeen: []string{"umount2 takes …"},
				Undecided: []rules.Missing{{Source: "goroutines.containerd", Command: dumpContainerd}},
			}},
		},
		Files: []*incident.File{{Path: "kubelet.log", Format: "klog", Component: "kubelet", Lines: 9, Used: 9, Start: at("09:00:00"), End: at("09:40:00").AddDate(0, 0, 1)}},
	}
}

// hostile has, in every string that a bundle can set, what terminals, browsers and GitHub act on.
func hostile() *incident.Incident {
	const evil = "\x1b[31mred\x1b]8;;http://evil\x07 \u202egnp.exe\u2066 \xff\xfe \u200bzero \x7f\u0085 \r\n| `a` ```` @team #12 <script>alert(1)</script> [x](http://evil) www.evil.com deadbeef1 😀 漢字 \U000e0041"
	q := quote("a\x1b[2J`.log", 3, evil)
	long := quote("long.log", 4, string(make([]byte, 400)))
	return &incident.Incident{
		Node:   evil,
		Window: timeline.Window{Start: at("09:00:00"), End: at("09:01:00")},
		Timeline: &timeline.Timeline{
			Facts:  map[string]timeline.Fact{evil: {Value: evil, Evidence: []event.Quote{q}}},
			Clocks: []timeline.Clock{{File: evil, Basis: evil, Offset: -time.Hour, Note: evil}},
			Coverage: []timeline.Coverage{{Source: "kubelet." + evil, File: evil, Gaps: []timeline.Gap{{
				Window: timeline.Window{Start: at("18:20:01"), End: at("18:20:02")}, Reason: evil, Evidence: []event.Quote{quote(evil, 3, evil)},
			}}}},
			Stalls: []timeline.Stall{{Window: timeline.Window{Start: at("09:00:00"), End: at("09:01:00")}, Phase: timeline.PhasePod, Evidence: []event.Quote{q}}},
		},
		Result: story.Result{
			Headline: "- " + evil,
			Opening:  story.Opening{State: story.Stalled, Episode: 1, Reason: evil, Command: evil, Hazard: story.Hazard(evil)},
			Findings: []story.Finding{{
				Role:   language.Contributing,
				Rivals: []story.Rival{{Rule: evil, Container: evil, Decide: []rules.Missing{{Source: evil, Command: evil}}}, {Rule: evil}},
				Finding: rules.Finding{
					Rule: "r", Title: evil, Verdict: language.Likely, Summary: evil, Container: evil, Formula: evil,
					Chain:          []rules.Step{{ID: "s", Rule: "r", Role: "cause", Start: at("09:00:00"), Text: evil, Basis: evil, Evidence: []event.Quote{q, long}}},
					Contradictions: []rules.Against{{Why: evil, Evidence: []event.Quote{q}}},
					Missing:        []rules.Missing{{Source: evil, Command: evil}},
					Notes:          []string{evil, "---", "1. one", "+ plus"},
					Remediation:    language.Remediation{Now: []language.Action{{Do: evil, Commands: []string{evil}, Hazard: evil}}, Durable: []string{evil}},
					References:     []string{evil, "https://example.com/a)b"},
				},
			}},
			RuledOut:     []rules.Dismissed{{Rule: "x", Why: evil, Evidence: []event.Quote{q}}},
			NotEvaluable: []rules.Unanswered{{Rule: "y", Why: evil, Missing: []rules.Missing{{Source: evil, Command: evil}}}},
			AskedFacts:   []string{evil},
			Harmless:     []story.Harmless{{Name: evil, Why: evil, Count: 2, Evidence: []event.Quote{q}}},
			Suspects:     []story.Suspect{{What: "pod", ID: evil, Why: evil, Evidence: []event.Quote{q, long}}},
			Exposed:      []rules.Exposure{{Rule: evil, Text: evil, Because: []string{evil}, Evidence: []event.Quote{q}}},
			Forecasts:    []rules.Forecast{{Rule: evil, Text: evil, At: at("10:00:00"), Value: 1, Limit: 2, Rate: 0.5, Evidence: []event.Quote{q}}},
			Next:         []story.NextStep{{Missing: rules.Missing{Source: evil, Command: evil}, Decides: []string{evil}, Hazard: story.Hazard(evil)}},
			Signs:        []story.Sign{{Text: evil, Count: 2, Evidence: []event.Quote{q}}},
			Episodes:     []story.Episode{{Cause: evil, Verdict: language.Possible, Summary: evil}},
			Hypotheses: []rules.Hypothesis{{
				Rule: evil, Title: evil, Verdict: language.Weighed, For: []rules.Reason{{Text: evil, Evidence: []event.Quote{q}}},
				Against: []rules.Against{{Why: evil, Evidence: []event.Quote{q}}}, NotSeen: []string{evil}, Undecided: []rules.Missing{{Source: evil, Command: evil}},
			}},
		},
		Files: []*incident.File{{Path: evil, Format: "klog", Component: evil, Lines: 1, Skipped: 1, FirstSkip: evil, Err: evil, Skips: map[string]int{evil: 1}}},
	}
}

// crowded is a node with a file for each device, process and container, as a sosreport takes it.
func crowded() *incident.Incident {
	inc := stallWithoutCause()
	inc.Timeline.Clocks = []timeline.Clock{{File: "sos/kubelet.log", Basis: "zone +08:00 given", Offset: 8 * time.Hour}}
	add := func(n int, path string, f incident.File) {
		for i := range n {
			f.Path = fmt.Sprintf(path, i)
			inc.Files = append(inc.Files, new(f))
			if !f.Start.IsZero() {
				inc.Timeline.Clocks = append(inc.Timeline.Clocks, timeline.Clock{File: f.Path, Basis: "written"})
			}
		}
	}
	add(3, "sos/var/log/messages.%d", incident.File{Format: "journal-short", Lines: 90, Used: 90, Start: at("08:00:00"), End: at("09:40:00")})
	add(12, "sos/var/log/pods/web-%d/app/0.log", incident.File{Format: "container", Lines: 7, Used: 7, Start: at("09:00:00"), End: at("09:30:00")})
	add(20, "sos/sys/block/sd%d/size", incident.File{Format: "text", Lines: 1, Used: 1})
	add(30, "sos/sys/class/net/eth%d", incident.File{Format: "text", Lines: 2, Used: 1, Blank: 1})
	add(30, "sos/proc/%d/stack", incident.File{Format: "proc", Component: "samples", Lines: 4, Used: 4})
	add(2, "sos/proc/bus/pci/%d", incident.File{Format: "unknown", Lines: 1, Skipped: 1, FirstSkip: "sos/proc/bus/pci/0:1: no known format"})
	add(1, "sos/var/log/cut%d.gz", incident.File{Format: "klog", Lines: 5, Used: 5, Err: "unexpected EOF; 5 lines kept"})
	add(4, "sos/etc/rc%d.d", incident.File{Format: "link", Err: `symbolic link to "../init.d" is not followed`})
	add(2, "sos/etc/alias%d", incident.File{Format: "link", Note: "link to sos/etc/aliases"})
	return inc
}
