package story

import (
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// fork is one question of the decision tree below a stall that has no root: what it lacks, and the command that answers it.
type fork struct {
	lacks   []string // sources; the question is open while the bundle has none of them
	again   bool     // the question is open although the bundle has them
	when    func(s *story) bool
	command string
}

// forks are asked in this order. The dump of the runtime comes first: it shows the lock or the call that the lists
// or the pod's status wait for. The kubelet's tells in which phase relist sits, the shim's what it does
// while containerd waits for it, the processes and the kernel what lies below all of them.
var forks = []fork{
	{
		[]string{"goroutines.containerd"},
		true,
		func(s *story) bool { return s.holderMissing("containerd") },
		"kill -USR1 $(pidof containerd); sleep 1; ls -t /tmp/containerd.*.stacks.log | head -1  # the whole file: in the dump at hand the holder of the lock is not seen",
	},
	{
		[]string{"goroutines.dockerd"},
		true,
		func(s *story) bool { return s.holderMissing("dockerd") },
		"kill -USR1 $(pidof dockerd); sleep 1; ls -t /var/run/docker/goroutine-stacks-*.log | head -1  # the whole file: in the dump at hand the holder of the lock is not seen",
	},
	{
		[]string{"goroutines.dockerd", "goroutines.containerd"},
		false,
		func(s *story) bool { return s.covered("dockerd.log") && !s.covered("goroutines.dockerd") },
		"kill -USR1 $(pidof dockerd); sleep 1; ls -t /var/run/docker/goroutine-stacks-*.log | head -1",
	},
	{
		[]string{"goroutines.crio"},
		false,
		func(s *story) bool { return s.covered("crio.log") },
		"kill -USR1 $(pidof crio); sleep 1; ls -t /tmp/crio-goroutine-stacks-*.log | head -1",
	},
	{
		[]string{"goroutines.containerd", "goroutines.dockerd", "goroutines.crio"},
		false,
		func(s *story) bool { return s.covered("containerd.log") },
		"kill -USR1 $(pidof containerd); sleep 1; ls -t /tmp/containerd.*.stacks.log | head -1",
	},
	{ // nothing says which runtime the node has
		[]string{"goroutines.containerd", "goroutines.dockerd", "goroutines.crio"},
		false,
		func(*story) bool { return true },
		"kill -USR1 $(pidof containerd dockerd crio); sleep 1; ls -t /tmp/containerd.*.stacks.log /var/run/docker/goroutine-stacks-*.log /tmp/crio-goroutine-stacks-*.log 2>/dev/null | head -3",
	},
	{
		[]string{"goroutines.shim", "strace"},
		false,
		(*story).shimSilent,
		"kill -USR1 SHIM_PID  # pgrep -af containerd-shim names it; its goroutines go to containerd's journal",
	},
	{
		[]string{"goroutines.kubelet"},
		false,
		func(s *story) bool { return phaseOf(s.timeline) == timeline.PhaseUnknown },
		"kubectl get --raw \"/api/v1/nodes/$(hostname)/proxy/debug/pprof/goroutine?debug=2\" > kubelet.goroutines  # twice, 20 s apart",
	},
	{
		[]string{"processes"},
		false,
		func(*story) bool { return true },
		"timeout 10 ps -eLo pid,tid,ppid,lstart,stat,wchan:32,comm > threads.txt  # without args: reading those can hang on a process in D state",
	},
	{
		[]string{"kernel.log"},
		false,
		func(*story) bool { return true },
		"dmesg -T > dmesg.txt",
	},
}

func (s *story) covered(source string) bool {
	return slices.ContainsFunc(s.timeline.Coverage, func(c timeline.Coverage) bool { return c.Source == source }) ||
		slices.ContainsFunc(s.timeline.Events, func(e event.Event) bool { return e.Source == source })
}

// shimSilent says that containerd waits for a shim in a stall, in a dump or by its own words.
func (s *story) shimSilent() bool {
	stalls := s.timeline.Stalls
	return slices.ContainsFunc(s.timeline.Events, func(e event.Event) bool {
		if len(stalls) > 0 && !e.Start.IsZero() && !slices.ContainsFunc(stalls, func(stall timeline.Stall) bool {
			return stall.MayHaveSymptom(timeline.Window{Start: e.Start.T, End: e.Last().T})
		}) {
			return false
		}
		switch e.Kind {
		case "containerd.state-timeout", "containerd.delete-failed":
			return true
		case "goroutine.wait", "lock.held":
			doing := e.FieldText("doing")
			return doing == "shim" || doing == "ttrpc"
		}
		return false
	})
}

// holderMissing says that goroutines of a program wait for a lock of which its dump shows no holder.
func (s *story) holderMissing(component string) bool {
	return slices.ContainsFunc(s.timeline.Events, func(e event.Event) bool {
		return e.Kind == "lock.queue" && e.Component == component && e.FieldText("wait") != ""
	})
}

// next is the one thing to collect when no root is proven: what a possible one lacks, else the first fork of the tree that
// is open, else what most of the unanswered rules ask for. Without a stall or a complaint nothing is asked for.
func (s *story) next(result *Result) rules.Missing {
	if i := slices.IndexFunc(s.drafts, func(d *draft) bool { return d.Role == rules.Root }); i >= 0 {
		root := s.drafts[i] // the best comes first
		if lacks := slices.IndexFunc(root.Missing, func(m rules.Missing) bool { return m.Command != "" }); root.Verdict < rules.Likely && lacks >= 0 {
			return root.Missing[lacks]
		}
		if root.Verdict >= rules.Likely {
			return rules.Missing{}
		}
	}
	fallback := slices.ContainsFunc(s.drafts, func(d *draft) bool { return d.Role == rules.Fallback })
	if len(s.timeline.Stalls) == 0 && !fallback && unanswered(s.timeline) == nil {
		return rules.Missing{}
	}
	for _, f := range forks {
		if f.when(s) && (f.again || !slices.ContainsFunc(f.lacks, s.covered)) {
			return rules.Missing{Source: strings.Join(f.lacks, " or "), Command: f.command}
		}
	}
	return s.mostAsked(result.NotEvaluable)
}

// mostAsked is what most of the unanswered rules lack, of those whose stalls sit in the phase of the first one.
func (s *story) mostAsked(unanswered []rules.Unanswered) (best rules.Missing) {
	phase := phaseOf(s.timeline)
	votes := map[rules.Missing]int{}
	for _, u := range unanswered {
		asks := s.catalog.Rule(u.Rule).Phase
		if asks != "" && phase != "" && phase != timeline.PhaseUnknown && asks != phase {
			continue
		}
		for _, m := range u.Missing {
			if votes[m]++; votes[m] > votes[best] {
				best = m
			}
		}
	}
	return best
}

// hazards are what commands do to a node besides answering, the gravest first. What stands behind a # is a
// remark: its commands count only when nothing else does.
var hazards = []struct {
	command *regexp.Regexp
	says    string
}{
	{regexp.MustCompile(`\bkill\s+-(?:s\s*)?(?:SIG)?(?:ABRT|QUIT|KILL|TERM|3|6|9|15)\b`), "ends the process"},
	{regexp.MustCompile(`\b(?:systemctl\s+(?:daemon-reexec|restart|stop)|reboot)\b`), "changes the node"},
	{regexp.MustCompile(`\bstrace\b`), "slows the process down while it is traced, and hangs on a thread in D state"},
	{regexp.MustCompile(`\bkill\s+-(?:s\s*)?(?:SIG)?(?:USR1|10)\b`), "none to containerd, its shims, dockerd and cri-o, which handle SIGUSR1; another program may end by it"},
	{regexp.MustCompile(`sysrq-trigger`), "the kernel prints stacks; with thousands of tasks one CPU is busy for seconds"},
	{regexp.MustCompile(`\b(?:gdb|delve|dlv)\b`), "stops the process while it is attached"},
	{regexp.MustCompile(`(?:^|[;&|(]\s*)(?:sudo\s+)?(?:timeout\s+\S+\s+)?(?:crictl|docker|ctr|nerdctl|systemctl|busctl|loginctl)\b`), "it may itself hang: set a time limit"},
	{regexp.MustCompile(`\bps\b.*\bargs\b|\bps\s+-?[a-z]*(?:aux|ef)\b|\bdf\b|\blsof\b`), "it may itself hang on a process or a mount in D state: set a time limit"},
}

// ReadsOnly is the hazard of a command that only reads, and reads nothing that can hang.
const ReadsOnly = "none: it only reads"

// Hazard says what a command does to the node besides answering.
func Hazard(command string) string {
	if command == "" {
		return ""
	}
	command, _, _ = strings.Cut(command, " # ")
	for _, h := range hazards {
		if h.command.MatchString(command) {
			return h.says
		}
	}
	return ReadsOnly
}
