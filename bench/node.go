package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// The generated node: a day of an ordinary, busy node, in the proportions that
// were seen on real ones (kubelet 168, containerd at debug 115, messages 31 of
// 314 MB; a line in eight holds something that plegdiag looks for), with one
// container whose exit meets an update, and PLEG unhealthy after it.
var (
	dayStart      = time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)
	incidentStart = dayStart.Add(15*time.Hour + 12*time.Minute)
)

const day = 24 * time.Hour

// incidentRule is the rule whose evidence the incident leaves.
const incidentRule = "cri-status-lock-exiting-update"

// logFile is a log of a generated node.
type logFile struct {
	path    string
	percent int64 // its share of the text of the bundle
	// entry is what stands in the file for a message: the message behind a header, mostly.
	entry   func(t time.Time, text string) string
	line    func(*node) string // the next ordinary message
	moments []moment           // what is said besides, in order of time
}

// moment is a message that is written at its time.
type moment struct {
	at   time.Time
	text string
}

// nodeFiles are the logs of the ordinary day.
func nodeFiles(size int64, seed uint64) []textFile {
	kubelet, containerd := nodeIncident(incidentStart, victim)
	return logFiles(size, seed, day, []logFile{
		{"node-1/kubelet.log", 54, kubeletEntry, kubeletLine, kubelet},
		{"node-1/containerd.log", 36, containerdEntry, containerdLine, containerd},
		{"node-1/messages", 10, shortEntry, messagesLine, nil},
	})
}

// logFiles are logs that hold size bytes together and span so much time from dayStart on.
func logFiles(size int64, seed uint64, span time.Duration, logs []logFile) []textFile {
	files := make([]textFile, len(logs))
	for i, log := range logs {
		files[i] = textFile{log.path, func(w io.Writer) error {
			return log.write(w, size*log.percent/100, span, newNode(seed, uint64(i)))
		}}
	}
	return files
}

// write writes size bytes, spread evenly over the span.
func (log *logFile) write(w io.Writer, size int64, span time.Duration, n *node) error {
	out, moments := bufio.NewWriterSize(w, 1<<16), log.moments
	for written := int64(0); written < size; {
		n.progress = float64(written) / float64(size)
		n.now = dayStart.Add(time.Duration(float64(span) * n.progress))
		for len(moments) > 0 && !n.now.Before(moments[0].at) {
			k, _ := fmt.Fprintln(out, log.entry(moments[0].at, moments[0].text))
			written, moments = written+int64(k), moments[1:]
		}
		k, _ := fmt.Fprintln(out, log.entry(n.now, log.line(n))) // Flush has the error
		written += int64(k)
	}
	return out.Flush()
}

// Headers as journalctl -o short-precise and -o short-iso print them, and as syslog files hold
// them.

func kubeletEntry(t time.Time, text string) string {
	return t.Format("Jan _2 15:04:05.000000") + " node-1 kubelet[1530]: " + text
}

func containerdEntry(t time.Time, text string) string {
	return t.Format("2006-01-02T15:04:05-0700") + " node-1 containerd[911]: " + text
}

func shortEntry(t time.Time, text string) string { return t.Format(time.Stamp) + " node-1 " + text }

// node is the state of the generator.
type node struct {
	*rand.Rand
	now      time.Time
	progress float64 // through the file, 0 to 1
	lines    int     // that a generator has counted
	pod      int     // whose life is told, counted from 1
	step     int     // of that life that comes next
	pods     []pod
	next     string // a line that must follow the one before
}

type pod struct{ name, uid, sandbox, container string }

func newNode(seed, stream uint64) *node {
	n := &node{Rand: rand.New(rand.NewPCG(seed, stream))}
	for i := range 110 { // the kubelet's default for pods on a node
		n.pods = append(n.pods, pod{
			name:      fmt.Sprintf("team-%d/service-%s-%s", i%7, n.randomHex(10), n.randomHex(5)),
			uid:       fmt.Sprintf("%s-%s-%s-%s-%s", n.randomHex(8), n.randomHex(4), n.randomHex(4), n.randomHex(4), n.randomHex(12)),
			sandbox:   n.randomHex(64),
			container: n.randomHex(64),
		})
	}
	return n
}

func (n *node) randomHex(digits int) string {
	var b strings.Builder
	for range digits {
		b.WriteByte("0123456789abcdef"[n.IntN(16)])
	}
	return b.String()
}

func (n *node) randomPod() *pod { return &n.pods[n.IntN(len(n.pods))] }

func klogLine(t time.Time, severity, source, text string) string {
	return severity + t.Format("0102 15:04:05.000000") + "    1530 " + source + "] " + text
}

func logrusLine(t time.Time, level, rest string) string {
	return `time="` + t.Format("2006-01-02T15:04:05.000000000Z") + `" level=` + level + " " + rest
}

func kubeletLine(n *node) string {
	p, t := n.randomPod(), n.now
	switch x := n.IntN(100); {
	case x < 5:
		return klogLine(t, "I", "kubelet.go:2125", fmt.Sprintf(`"SyncLoop (PLEG): event for pod" pod="%s" event=&{ID:%s Type:ContainerDied Data:%s}`, p.name, p.uid, n.randomHex(64)))
	case x < 10:
		return klogLine(t, "I", "kubelet.go:2125", fmt.Sprintf(`"SyncLoop (PLEG): event for pod" pod="%s" event=&{ID:%s Type:ContainerStarted Data:%s}`, p.name, p.uid, p.container))
	case x < 13:
		return klogLine(t, "E", "remote_runtime.go:597", fmt.Sprintf(`"ContainerStatus from runtime service failed" err="rpc error: code = NotFound desc = an error occurred when try to find container \"%s\": not found" containerID="%s"`, p.container, p.container))
	case x < 30:
		return klogLine(t, "I", "reconciler.go:269", fmt.Sprintf(`"operationExecutor.MountVolume started for volume \"kube-api-access-%s\" (UniqueName: \"kubernetes.io/projected/%s-kube-api-access\") pod \"%s\" " pod="%s"`, n.randomHex(5), p.uid, p.name, p.name))
	case x < 55:
		return klogLine(t, "I", "kubelet_pods.go:1510", fmt.Sprintf(`"Generating pod status" pod="%s" podUID=%s phase="Running" restarts=%d cpu=%dm memory=%dMi`, p.name, p.uid, n.IntN(9), n.IntN(900), n.IntN(9000)))
	case x < 80:
		return klogLine(t, "I", "prober.go:116", fmt.Sprintf(`"Probe succeeded" probeType="Liveness" pod="%s" podUID=%s containerName="main" duration="%dms" url="http://10.%d.%d.%d:8080/healthz"`, p.name, p.uid, n.IntN(90), n.IntN(255), n.IntN(255), n.IntN(255)))
	}
	return klogLine(t, "I", "status_manager.go:554", fmt.Sprintf(`"Patch status for pod" pod="%s" patch="{\"metadata\":{\"uid\":\"%s\"},\"status\":{\"containerStatuses\":[{\"containerID\":\"containerd://%s\",\"ready\":true,\"restartCount\":%d}]}}"`, p.name, p.uid, p.container, n.IntN(9)))
}

func containerdLine(n *node) string {
	if n.next != "" {
		line := n.next
		n.next = ""
		return line
	}
	p, t := n.randomPod(), n.now
	switch x := n.IntN(100); {
	case x < 4: // an update that went well: two lines, some milliseconds apart
		n.next = updateReturns(t.Add(time.Duration(3+n.IntN(30))*time.Millisecond), p.container)
		return updateBegins(t, p.container)
	case x < 6:
		id := n.randomHex(64)
		return logrusLine(t, "debug", fmt.Sprintf(`msg="received exit event &TaskExit{ContainerID:%s,ID:%s,Pid:%d,ExitStatus:0,ExitedAt:%s +0000 UTC,XXX_unrecognized:[],}"`, id, id, 1000+n.IntN(90000), t.Add(-time.Millisecond).Format("2006-01-02 15:04:05.000000000")))
	case x < 8:
		return logrusLine(t, "info", fmt.Sprintf(`msg="RemoveContainer for \"%s\" returns successfully"`, n.randomHex(64)))
	case x < 30:
		return logrusLine(t, "debug", fmt.Sprintf(`msg="ContainerStatus for \"%s\" returns status &ContainerStatus{Id:%s,State:CONTAINER_RUNNING,CreatedAt:%d,ExitCode:0,}"`, p.container, p.container, t.UnixNano()))
	case x < 50:
		return logrusLine(t, "debug", fmt.Sprintf(`msg="event forwarded" ns=k8s.io topic=/tasks/exec-started type=containerd.events.TaskExecStarted id=%s`, n.randomHex(16)))
	case x < 70:
		return logrusLine(t, "debug", fmt.Sprintf(`msg="ExecSync for \"%s\" with command [/bin/sh -c wget -qO- localhost:%d/healthz] and timeout 1 (s)"`, p.container, n.IntN(9000)))
	}
	return logrusLine(t, "debug", fmt.Sprintf(`msg="ListContainers with filter &ContainerFilter{Id:,State:nil,PodSandboxId:%s,LabelSelector:map[string]string{},}"`, p.sandbox))
}

func updateBegins(t time.Time, id string) string {
	return logrusLine(t, "info", fmt.Sprintf(`msg="UpdateContainerResources for \"%s\" with Linux: &LinuxContainerResources{CpuPeriod:0,CpuQuota:0,CpuShares:0,MemoryLimitInBytes:0,OomScoreAdj:0,CpusetCpus:0-15,CpusetMems:,HugepageLimits:[]*HugepageLimit{},Unified:map[string]string{},MemorySwapLimitInBytes:0,} / Windows: nil"`, id))
}

func updateReturns(t time.Time, id string) string {
	return logrusLine(t, "info", fmt.Sprintf(`msg="UpdateContainerResources for \"%s\" returns successfully"`, id))
}

func messagesLine(n *node) string {
	switch x := n.IntN(100); {
	case x < 12:
		id := n.randomHex(64)
		return fmt.Sprintf("systemd[1]: Started cri-containerd-%s.scope - libcontainer container %s.", id, id)
	case x < 40:
		return fmt.Sprintf("systemd[1]: cri-containerd-%s.scope: Deactivated successfully.", n.randomHex(64))
	case x < 60:
		return fmt.Sprintf("kernel: eth0: renamed from tmp%s; cali%s: link becomes ready, mtu %d, queue %d", n.randomHex(5), n.randomHex(11), 1450, n.IntN(64))
	case x < 80:
		return fmt.Sprintf("sshd[%d]: Connection from 10.%d.%d.%d port %d on 10.0.0.7 port 22 rdomain \"\"", n.IntN(90000), n.IntN(255), n.IntN(255), n.IntN(255), n.IntN(60000))
	}
	return fmt.Sprintf("chronyd[702]: System clock was off by %d.%06d seconds (NTP), source 10.%d.%d.%d, stratum %d", 0, n.IntN(900), n.IntN(255), n.IntN(255), n.IntN(255), n.IntN(4))
}
