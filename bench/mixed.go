package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// mixedFiles are the logs of a week in which the node of the ordinary day stalls 200 times for four
// reasons in turn: an update that meets an exit, a disk that does not answer, a shim that does not,
// and a systemd that is late. What they leave is alike in part, so that rules have many candidates.
func mixedFiles(size int64, seed uint64) []textFile {
	const stalls = 200
	week := 7 * day
	count := max(len(causes), int(stalls*size/(300*mega)))
	var kubelet, containerd, messages []moment
	for i := range count {
		s := &mixedStall{
			start: dayStart.Add(time.Duration(float64(week) * (float64(i) + 0.5) / float64(count))),
			id:    containerID(seed, i), length: time.Duration(210+37*(i%5)) * time.Second,
		}
		causes[i%len(causes)](s)
		s.stall()
		kubelet, containerd, messages = append(kubelet, s.kubelet...), append(containerd, s.containerd...), append(messages, s.messages...)
	}
	for _, all := range [][]moment{kubelet, containerd, messages} {
		slices.SortStableFunc(all, func(a, b moment) int { return a.at.Compare(b.at) })
	}
	return logFiles(size, seed, week, []logFile{
		{"node-1/kubelet.log", 54, kubeletEntry, kubeletLine, kubelet},
		{"node-1/containerd.log", 36, containerdEntry, containerdLine, containerd},
		{"node-1/messages", 10, shortEntry, messagesLine, messages},
	})
}

// mixedStall is what the programs log of one stall.
type mixedStall struct {
	start                         time.Time
	id                            string
	length                        time.Duration
	kubelet, containerd, messages []moment
}

var causes = []func(*mixedStall){(*mixedStall).meetUpdate, (*mixedStall).hangDisk, (*mixedStall).hangShim, (*mixedStall).delaySystemd}

func (s *mixedStall) addKubelet(after time.Duration, source, text string) {
	at := s.start.Add(after)
	s.kubelet = append(s.kubelet, moment{at, klogLine(at, "E", source, text)})
}

func (s *mixedStall) addContainerd(after time.Duration, level, rest string) {
	at := s.start.Add(after)
	s.containerd = append(s.containerd, moment{at, logrusLine(at, level, rest)})
}

func (s *mixedStall) addMessage(after time.Duration, text string) {
	s.messages = append(s.messages, moment{s.start.Add(after), text})
}

// every calls f at each step of the stall.
func (s *mixedStall) every(from, step time.Duration, f func(after time.Duration)) {
	for after := from; after < s.length; after += step {
		f(after)
	}
}

// meetUpdate is an exit that an update meets: it fails after two minutes, and is tried again.
func (s *mixedStall) meetUpdate() {
	s.fallSilent()
	s.every(time.Second, 122*time.Second, func(after time.Duration) {
		begins := s.start.Add(after)
		s.containerd = append(s.containerd, moment{begins, updateBegins(begins, s.id)})
		s.addContainerd(after+2*time.Minute, "error", fmt.Sprintf(`msg="UpdateContainerResources for \"%s\" failed" error="context deadline exceeded"`, s.id))
	})
}

// hangShim is a shim that answers nothing: its container has ended, and its status is asked for.
func (s *mixedStall) hangShim() {
	s.fallSilent()
	s.every(2*time.Minute, 2*time.Minute, func(after time.Duration) {
		s.addKubelet(after, "remote_runtime.go:432", fmt.Sprintf(`"ContainerStatus from runtime service failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" containerID="%s"`, s.id))
	})
}

// fallSilent is the exit of a container whose shim does not answer any more.
func (s *mixedStall) fallSilent() {
	exit := exitEvent(s.start, s.id)
	s.addContainerd(0, "debug", `msg="received exit event `+exit+`"`)
	s.every(10*time.Second, 5*time.Second, func(after time.Duration) {
		s.addContainerd(after, "error", fmt.Sprintf(`msg="get state for %s" error="context deadline exceeded: unknown"`, s.id))
	})
	s.every(10*time.Second, 20*time.Second, func(after time.Duration) {
		s.addContainerd(after, "error", `msg="failed to handle container TaskExit event `+exit+
			`" error="failed to stop container: failed to delete task: context deadline exceeded: unknown"`)
	})
}

// hangDisk is a disk that completes nothing, as the kernel and its watchdog tell it.
func (s *mixedStall) hangDisk() {
	s.addMessage(30*time.Second, "kernel: nvme nvme0: I/O 417 QID 3 timeout, completion polled")
	s.every(2*time.Minute, 123*time.Second, func(after time.Duration) {
		s.addMessage(after, fmt.Sprintf("kernel: INFO: task containerd:911 blocked for more than %d seconds.", int(after.Seconds())))
		s.addMessage(after, "kernel: task:containerd      state:D stack:    0 pid:  911 ppid:     1 flags:0x00004000")
		for call := range strings.FieldsSeq("__schedule schedule io_schedule bit_wait_io __wait_on_bit jbd2_log_wait_commit ext4_sync_file do_fsync __x64_sys_fsync do_syscall_64") {
			s.addMessage(after, "kernel:  "+call+"+0x69/0x110")
		}
	})
	s.failLists()
}

// delaySystemd is a systemd that does not answer its clients in time.
func (s *mixedStall) delaySystemd() {
	s.every(25*time.Second, 35*time.Second, func(after time.Duration) {
		s.addMessage(after, "dbus-daemon[790]: [system] Failed to activate service 'org.freedesktop.systemd1': timed out (service_start_timeout=25000ms)")
	})
	s.failLists()
}

func (s *mixedStall) failLists() {
	s.every(2*time.Minute, 2*time.Minute, func(after time.Duration) {
		s.addKubelet(after, "remote_runtime.go:407", `"ListContainers with filter from runtime service failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded" filter="nil"`)
	})
}

// stall is the kubelet's side of all of them.
func (s *mixedStall) stall() {
	s.every(3*time.Minute, 5*time.Second, func(after time.Duration) {
		s.addKubelet(after, "kubelet.go:2010", fmt.Sprintf(`"Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active %s ago; threshold is 3m0s"`, after))
	})
	s.addKubelet(3*time.Minute+4*time.Second, "kubelet_node_status.go:581", `"Recording event message for node" node="node-1" event="NodeNotReady"`)
	s.addKubelet(s.length, "kubelet_node_status.go:581", `"Recording event message for node" node="node-1" event="NodeReady"`)
}
