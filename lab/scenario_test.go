//go:build lab

package lab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scenario is one way in which a node breaks.
type scenario struct {
	name   string
	slow   string                      // what of the node lies on a disk that can be made slow
	hold   time.Duration               // from the break to collect
	long   time.Duration               // hold at full length
	full   bool                        // only at full length
	flags  []string                    // of collect
	ends   bool                        // breaks ends daemons that collect would ask
	prep   func(n *node)               // what is there before
	breaks func(n *node) (heal func()) // what breaks it
	wants  wants
}

// wants is what analyze must make of the bundle.
type wants struct {
	state    string   // first words of the report, as in the JSON; empty where any will do
	root     string   // rule of the root; empty where there must be no finding
	role     string   // of the root, where its rule is none of a root
	verdicts []string // of which the root must have one
	earlier  string   // root of another episode, which is over
	links    []string // rules above it
	perhaps  []string // more of these, which it is luck to see
	steps    []string // ids that the root's chain holds; of "late|unanswered" one is enough
	evidence []string // each a part of a quoted line of the root's chain
	headline []string
	stalled  bool // relist stood still for longer than the threshold, in the phase of the lists
}

// anyStatusLock is the rule that tells of a Status lock whoever holds it. Beside the rules of
// certain holders it is luck to see: dumps print waits in whole minutes.
const anyStatusLock = "cri-status-lock-held"

// report is what of plegdiag.report/v1 a scenario asks for.
type report struct {
	Incident struct {
		Headline string
		State    string
		Node     string
		Episodes []struct {
			Cause string
			Open  bool
		}
		Stalls []struct {
			Phase string
			Open  bool
		}
	}
	Findings []finding
}

type finding struct {
	Rule, Verdict, Role, Container, Summary string
	Chain                                   []struct {
		Step, Text string
		Evidence   []struct {
			Path, Text string
			Line       int
		}
	}
}

// runScenario boots a node, breaks it, collects a bundle, heals the node, checks that it works
// again, and compares what analyze says with what is wanted.
func (s *scenario) runScenario(t *testing.T, r *run) {
	t.Parallel()
	n := r.boot(t, s.name, s.slow)
	if s.prep != nil {
		s.prep(n)
	}
	daemons := n.listDaemons()
	heal := s.breaks(n)
	hold := s.hold
	if (*full || n.member != nil) && s.long > 0 {
		hold = s.long
	}
	var on onMember
	if n.member != nil {
		on = scenariosOfMembers()[s.name]
	}
	if n.member != nil && !on.ready {
		n.member.waitUntilNotReady(n)
	}
	if n.member == nil || on.ready || on.because != "" {
		time.Sleep(hold)
	}
	checkThrough := func() {}
	if on.through != nil {
		checkThrough = on.through(n)
	}
	bundle := n.collect(s.flags)
	if n.member != nil {
		n.member.saveObjects(n)
	}
	checkThrough()
	heal()
	n.waitUntilHealthy()
	if !s.ends {
		// A child of containerd has its name until it has become runc.
		n.waitFor(20*time.Second, "the daemons of before, and no others", func() bool { return slices.Equal(daemons, n.listDaemons()) })
	}
	s.compareReport(t, n.analyze(bundle))
}

// collect runs collect inside the node, as through ssh.
func (n *node) collect(flags []string) (path string) {
	n.t.Helper()
	path = filepath.Join(n.t.ArtifactDir(), n.name+".tgz")
	out, err := os.Create(path)
	require.NoError(n.t, err)
	defer out.Close()
	bound := 2 * time.Minute
	if n.guest != nil {
		bound = 5 * time.Minute
	}
	ctx, cancel := context.WithTimeout(n.t.Context(), bound+10*time.Second)
	defer cancel()
	cmd := n.command(ctx, append([]string{"/opt/lab/plegdiag", "collect", "-o", "-", "--timeout", bound.String(), "--kubelet-token", "/etc/kubernetes/lab-token"}, flags...)...)
	if n.guest == nil {
		cmd.Path, cmd.Args = "/usr/bin/nice", append([]string{"nice"}, cmd.Args...) // the host's: the node may not start one
	}
	var progress bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &progress
	began := time.Now()
	err = cmd.Run()
	n.t.Logf("collect took %s\n%s", time.Since(began).Round(time.Second), progress.String())
	require.NoError(n.t, err)
	return path
}

// listDaemons returns the daemons of the node with their PIDs.
func (n *node) listDaemons() []string {
	n.t.Helper()
	daemons := n.mustRun("pgrep", "-l", "-x", "containerd|crio|dockerd|systemd-journal|dbus-daemon") + n.mustRun("pgrep", "-a", "-f", kubeletCommand)
	return strings.Split(strings.TrimSpace(daemons), "\n")
}

// waitUntilHealthy waits until the runtime answers as before.
func (n *node) waitUntilHealthy() {
	n.t.Helper()
	if n.member != nil {
		n.waitFor(5*time.Minute, "healed node that the API calls ready", func() bool { return n.member.readyCondition(n.name).Status == "True" })
		return
	}
	n.waitFor(90*time.Second, "answer of the healed node", func() bool {
		_, err := n.runCommand("systemctl", "is-active", "containerd", "kubelet")
		_, listErr := n.runCommand("/opt/lab/kubelet", "list")
		return err == nil && listErr == nil
	})
}

// analyze runs analyze on a bundle of the node. The kernel's log is that of the host: what it says
// from before the boot, and of cgroups of other nodes, is not of this node. Nothing shows of which
// node a hung task is, and the kernel reports only the first ten. So is the disk that the lab lies
// on: how full it is says nothing of the node.
func (n *node) analyze(bundle string) *report {
	t := n.t
	t.Helper()
	dir := t.TempDir()
	own := groupOf(n.run.dir) + n.name
	others := fmt.Sprintf(`/oom-kill:/{\|/%[2]s|!{N;d}};\|/%[1]s|{\|/%[2]s|!d}`, groupPrefix, own) // the next line names the process
	if n.guest == nil {
		others += `;/INFO: task .* blocked for more than/,\|</TASK>|d`
	}
	for _, argv := range [][]string{
		{"tar", "-xzf", bundle, "-C", dir},
		// that of a pod is inside of it
		{"sh", "-c", `for f in "$1"/*/node/*.tgz; do [ ! -e "$f" ] || { tar -xzf "$f" -C "${f%/*}" && rm "$f"; }; done`, "sh", dir},
		{"sh", "-c", `find "$1" -path '*/kernel/dmesg' -exec sed -i "$2" {} +`, "sh", dir, others},
		{"sh", "-c", `disk=$(df --output=source "$2" | tail -n 1); find "$1" -path '*/mounts/df.txt' -exec sed -i "\|^$disk |d" {} +`, "sh", dir, n.run.dir},
	} {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		require.NoError(t, err, "%s: %s", strings.Join(argv, " "), out)
	}
	cmd := exec.Command("nice", filepath.Join(n.run.binDir(), "plegdiag"), "analyze", "-o", "json", "--since", n.from.UTC().Format(time.RFC3339), dir)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	require.NoError(t, err, complaints.String())
	if err := os.WriteFile(strings.TrimSuffix(bundle, ".tgz")+".json", out, 0o644); err != nil {
		t.Log(err)
	}
	var rep report
	require.NoError(t, json.Unmarshal(out, &rep))
	return &rep
}

// compareReport fails where the report is not as wanted.
func (s *scenario) compareReport(t *testing.T, r *report) {
	t.Helper()
	t.Log(r.Incident.Headline)
	for _, f := range r.Findings {
		t.Logf("%s %s, %s: %s", f.Role, f.Rule, f.Verdict, f.Summary)
	}
	if s.wants.state != "" {
		require.Equal(t, s.wants.state, r.Incident.State)
	}
	for _, want := range s.wants.headline {
		require.Contains(t, r.Incident.Headline, want)
	}
	if s.wants.root == "" {
		require.Empty(t, r.Findings)
		return
	}
	require.NotEmpty(t, r.Findings)
	f := r.Findings[0]
	require.Equal(t, cmp.Or(s.wants.role, "root"), f.Role)
	require.Equal(t, s.wants.root, f.Rule)
	require.Contains(t, s.wants.verdicts, f.Verdict)
	var steps, links, lines []string
	for _, c := range f.Chain {
		steps = append(steps, c.Step)
		for _, e := range c.Evidence {
			lines = append(lines, e.Path+": "+e.Text)
		}
	}
	for _, other := range r.Findings[1:] {
		if s.wants.earlier == other.Rule {
			continue
		}
		require.NotEqual(t, "root", other.Role, "another root: %s", other.Rule)
		if slices.Contains(links, other.Rule) || slices.Contains(s.wants.perhaps, other.Rule) { // of several containers
			continue
		}
		if other.Rule != anyStatusLock || slices.Contains(s.wants.links, other.Rule) {
			links = append(links, other.Rule)
		}
	}
	require.ElementsMatch(t, s.wants.links, links)
	for _, want := range s.wants.steps {
		require.True(t, slices.ContainsFunc(strings.Split(want, "|"), func(step string) bool { return slices.Contains(steps, step) }), "no step %s in %v", want, steps)
	}
	for _, want := range s.wants.evidence {
		require.True(t, slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, want) }), "no evidence with %q in\n%s", want, strings.Join(lines, "\n"))
	}
	if s.wants.earlier != "" {
		require.Len(t, r.Incident.Episodes, 2)
		now, before := r.Incident.Episodes[0], r.Incident.Episodes[1]
		require.Equal(t, []string{s.wants.root, s.wants.earlier}, []string{now.Cause, before.Cause})
		require.True(t, now.Open)
		require.False(t, before.Open)
	}
	if s.wants.stalled {
		require.Len(t, r.Incident.Stalls, 1)
		require.Equal(t, "list", r.Incident.Stalls[0].Phase)
	}
}
