package main

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// flappingFiles are the logs of a week in which the node of the ordinary day stalls 200 times, each
// time with another container.
func flappingFiles(size int64, seed uint64) []textFile {
	const stalls = 200
	week := 7 * day
	n := max(2, int(stalls*size/(300*mega)))
	var kubelet, containerd []moment
	for i := range n {
		start := dayStart.Add(time.Duration(float64(week) * (float64(i) + 0.5) / float64(n)))
		k, c := nodeIncident(start, containerID(seed, i))
		kubelet, containerd = append(kubelet, k...), append(containerd, c...)
	}
	return logFiles(size, seed, week, []logFile{
		{"node-1/kubelet.log", 54, kubeletEntry, kubeletLine, kubelet},
		{"node-1/containerd.log", 36, containerdEntry, containerdLine, containerd},
		{"node-1/messages", 10, shortEntry, messagesLine, nil},
	})
}

// containerID is the i-th of the ids of one seed.
func containerID(seed uint64, i int) string {
	var b strings.Builder
	r := rand.NewPCG(seed, uint64(i))
	for range 4 {
		fmt.Fprintf(&b, "%016x", r.Uint64())
	}
	return b.String()
}

// busyFiles are logs at debug of a node that execs 300 probes a second, of which those of a bad
// image fail: the kubelet and containerd say so in a line each, with one incident among them. The
// time it takes follows the size.
func busyFiles(size int64, seed uint64) []textFile {
	const second = 300 * 2 * 230 // bytes: two lines for a probe
	span := max(10*time.Minute, time.Duration(size/second)*time.Second)
	kubelet, containerd := nodeIncident(dayStart.Add(span/3), victim)
	return logFiles(size, seed, span, []logFile{
		{"node-1/kubelet.log", 50, kubeletEntry, failedProbeOfKubelet, kubelet},
		{"node-1/containerd.log", 50, containerdEntry, failedProbeOfContainerd, containerd},
	})
}

const probeError = `failed to exec in container: failed to start exec \"%s\": OCI runtime exec failed: exec failed: unable to start container process: exec: \"/bin/check\": stat /bin/check: no such file or directory: unknown`

func failedProbeOfKubelet(n *node) string {
	return klogLine(n.now, "E", "remote_runtime.go:496", fmt.Sprintf(
		`"ExecSync cmd from runtime service failed" err="rpc error: code = Unknown desc = `+probeError+
			`" containerID="%s" cmd=["/bin/check"]`, n.randomHex(64), n.randomPod().container))
}

func failedProbeOfContainerd(n *node) string {
	return logrusLine(n.now, "error", fmt.Sprintf(
		`msg="ExecSync for \"%s\" failed" error="`+probeError+`"`, n.randomPod().container, n.randomHex(64)))
}

// manyFiles are the logs of a day in which 50 000 containers come and go, two in each pod with its
// sandbox: CronJobs. Each log tells the life of a pod to its end, and other things between two.
func manyFiles(size int64, seed uint64) []textFile {
	count := max(10, float64(size)/(300*mega)*25_000)
	kubelet, containerd := nodeIncident(incidentStart, victim)
	// step is the next step of the life of the current pod; false when its life is told.
	step := func(n *node, steps int) (step int, sandbox, container string, ok bool) {
		if pod := int(n.progress * count); pod >= n.pod && (n.pod == 0 || n.step >= steps) {
			n.pod, n.step = pod+1, 0
		}
		n.lines++
		if n.step >= steps || n.lines%9 == 0 {
			return 0, "", "", false
		}
		n.step++
		i := 2 * (n.pod - 1)
		return n.step - 1, containerID(seed, i), containerID(seed, i+1), true
	}
	return logFiles(size, seed, day, []logFile{
		{"node-1/kubelet.log", 44, kubeletEntry, func(n *node) string {
			step, sandbox, container, ok := step(n, 4)
			if !ok {
				return kubeletLine(n)
			}
			uid := fmt.Sprintf("%s-%s-%s-%s-%s", sandbox[:8], sandbox[8:12], sandbox[12:16], sandbox[16:20], sandbox[20:32])
			events := []string{"ContainerStarted Data:" + sandbox, "ContainerStarted Data:" + container, "ContainerDied Data:" + container, "ContainerDied Data:" + sandbox}
			return klogLine(n.now, "I", "kubelet.go:2125", fmt.Sprintf(
				`"SyncLoop (PLEG): event for pod" pod="jobs/job-%s" event=&{ID:%s Type:%s}`, sandbox[:10], uid, events[step]))
		}, kubelet},
		{"node-1/containerd.log", 50, containerdEntry, func(n *node) string {
			step, sandbox, container, ok := step(n, len(lifeOfContainer))
			if !ok {
				return containerdLine(n)
			}
			return lifeOfContainer[step](n.now, sandbox, container)
		}, containerd},
		{"node-1/messages", 6, shortEntry, messagesLine, nil},
	})
}

// lifeOfContainer is what containerd 1.7 logs of a sandbox with one container.
var lifeOfContainer = []func(t time.Time, sandbox, container string) string{
	func(t time.Time, sandbox, _ string) string {
		return logrusLine(t, "info", fmt.Sprintf(`msg="RunPodSandbox for &PodSandboxMetadata{Name:job-%s,Uid:%s,Namespace:jobs,Attempt:0,}"`, sandbox[:10], sandbox[:32]))
	},
	func(t time.Time, sandbox, _ string) string {
		return logrusLine(t, "info", fmt.Sprintf(`msg="RunPodSandbox for &PodSandboxMetadata{Name:job-%s,Uid:%s,Namespace:jobs,Attempt:0,} returns sandbox id \"%s\""`, sandbox[:10], sandbox[:32], sandbox))
	},
	func(t time.Time, sandbox, _ string) string {
		return logrusLine(t, "info", fmt.Sprintf(`msg="CreateContainer within sandbox \"%s\" for container &ContainerMetadata{Name:main,Attempt:0,}"`, sandbox))
	},
	func(t time.Time, sandbox, container string) string {
		return logrusLine(t, "info", fmt.Sprintf(`msg="CreateContainer within sandbox \"%s\" for &ContainerMetadata{Name:main,Attempt:0,} returns container id \"%s\""`, sandbox, container))
	},
	func(t time.Time, _, container string) string {
		return logrusLine(t, "info", fmt.Sprintf(`msg="StartContainer for \"%s\""`, container))
	},
	func(t time.Time, _, container string) string {
		return logrusLine(t, "info", fmt.Sprintf(`msg="StartContainer for \"%s\" returns successfully"`, container))
	},
	func(t time.Time, _, container string) string {
		return logrusLine(t, "debug", `msg="received exit event `+exitEvent(t.Add(-time.Millisecond), container)+`"`)
	},
	func(t time.Time, _, container string) string {
		return logrusLine(t, "info", fmt.Sprintf(`msg="shim disconnected" id=%s`, container))
	},
	func(t time.Time, sandbox, _ string) string {
		return logrusLine(t, "info", fmt.Sprintf(`msg="StopPodSandbox for \"%s\""`, sandbox))
	},
	func(t time.Time, sandbox, _ string) string {
		return logrusLine(t, "info", fmt.Sprintf(`msg="StopPodSandbox for \"%s\" returns successfully"`, sandbox))
	},
	func(t time.Time, _, container string) string {
		return logrusLine(t, "info", fmt.Sprintf(`msg="RemoveContainer for \"%s\""`, container))
	},
	func(t time.Time, _, container string) string {
		return logrusLine(t, "info", fmt.Sprintf(`msg="RemoveContainer for \"%s\" returns successfully"`, container))
	},
}

// longFiles are thirty days of the ordinary node as journalctl -o export prints them, a day in a
// file, with one incident on the first of the days.
func longFiles(size int64, seed uint64) (files []textFile) {
	const perDay = 100 * mega
	days := max(1, int((size+perDay-1)/perDay))
	for i := range days {
		start := dayStart.Add(time.Duration(i) * day)
		log := logFile{path: fmt.Sprintf("node-1/journal-%02d.export", i+1), percent: 100, entry: exportEntry(start), line: journalLine}
		if i == 0 {
			kubelet, containerd := nodeIncident(incidentStart, victim)
			for _, m := range kubelet {
				log.moments = append(log.moments, moment{m.at, "kubelet\x00" + m.text})
			}
			for _, m := range containerd {
				log.moments = append(log.moments, moment{m.at, "containerd\x00" + m.text})
			}
			slices.SortFunc(log.moments, func(a, b moment) int { return a.at.Compare(b.at) })
		}
		files = append(files, logFiles(size/int64(days), seed+uint64(i), day, []logFile{log})...)
	}
	return files
}

// journalLine is a message of any of the programs, behind its name.
func journalLine(n *node) string {
	switch x := n.IntN(100); {
	case x < 54:
		return "kubelet\x00" + kubeletLine(n)
	case x < 90:
		return "containerd\x00" + containerdLine(n)
	}
	who, text, _ := strings.Cut(messagesLine(n), ": ")
	who, _, _ = strings.Cut(who, "[")
	return who + "\x00" + text
}

// exportEntry makes entries of the day that begins at start, with the fields that journald adds.
func exportEntry(start time.Time) func(time.Time, string) string {
	return func(t time.Time, text string) string {
		who, message, _ := strings.Cut(text, "\x00")
		since := t.Sub(dayStart)
		at := start.Add(since)
		id := binary.LittleEndian.Uint64(fmt.Appendf(nil, "%-8.8s", who))
		return fmt.Sprintf(`__CURSOR=s=6fd3a1ee0e1c4b1f8c2a5d0c7b9e4f21;i=%x;b=9d2cf0a53b7e4c6d8f10a2b3c4d5e6f7;m=%x;t=%x;x=%x
__REALTIME_TIMESTAMP=%d
__MONOTONIC_TIMESTAMP=%d
_BOOT_ID=9d2cf0a53b7e4c6d8f10a2b3c4d5e6f7
_MACHINE_ID=0f1e2d3c4b5a69788796a5b4c3d2e1f0
_HOSTNAME=node-1
_TRANSPORT=stdout
PRIORITY=6
SYSLOG_FACILITY=3
SYSLOG_IDENTIFIER=%s
_PID=%d
_UID=0
_GID=0
_COMM=%s
_EXE=/usr/bin/%s
_CMDLINE=/usr/bin/%s
_SYSTEMD_CGROUP=/system.slice/%s.service
_SYSTEMD_UNIT=%s.service
_SYSTEMD_SLICE=system.slice
MESSAGE=%s
`, since, since.Microseconds(), at.UnixMicro(), id, at.UnixMicro(), at.Sub(dayStart).Microseconds()+3_600_000_000,
			who, 700+id%4000, who, who, who, who, who, message)
	}
}
