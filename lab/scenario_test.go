//go:build lab

package lab

import (
	"bytes"
	"context"
	"encoding/json"
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
	prep   func(n *node)               // what is there before
	breaks func(n *node) (heal func()) // what breaks it
	wants  wants
}

// wants is what analyze must make of the bundle.
type wants struct {
	root     string   // rule of the root; empty where there must be no finding
	verdicts []string // of which the root must have one
	links    []string // rules above it
	steps    []string // ids that the root's chain holds
	evidence []string // each a part of a quoted line of the root's chain
	headline []string
	stalled  bool // relist stood still for longer than the threshold, in the phase of the lists
}

// report is what of plegdiag.report/v1 a scenario asks for.
type report struct {
	Incident struct {
		Headline string
		Node     string
		Stalls   []struct {
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
	if *full && s.long > 0 {
		hold = s.long
	}
	time.Sleep(hold)
	bundle := n.collect(s.flags)
	heal()
	n.waitUntilHealthy()
	require.Equal(t, daemons, n.listDaemons(), "a daemon that collect asked did not live on")
	s.compareReport(t, analyzeBundle(t, r, bundle))
}

// collect runs collect inside the node, as through ssh.
func (n *node) collect(flags []string) (path string) {
	n.t.Helper()
	path = filepath.Join(n.t.ArtifactDir(), n.name+".tgz")
	out, err := os.Create(path)
	require.NoError(n.t, err)
	defer out.Close()
	const bound = 2 * time.Minute
	ctx, cancel := context.WithTimeout(n.t.Context(), bound+10*time.Second)
	defer cancel()
	cmd := n.command(ctx, append([]string{"nice", "/opt/lab/plegdiag", "collect", "-o", "-", "--timeout", bound.String(), "--kubelet-token", "/etc/kubernetes/lab-token"}, flags...)...)
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
	return strings.Split(strings.TrimSpace(n.mustRun("pgrep", "-l", "-x", "containerd|dockerd|kubelet|systemd-journal|dbus-daemon")), "\n")
}

// waitUntilHealthy waits until the runtime answers as before.
func (n *node) waitUntilHealthy() {
	n.t.Helper()
	n.waitFor(90*time.Second, "answer of the healed node", func() bool {
		_, err := n.runCommand("systemctl", "is-active", "containerd", "kubelet")
		_, listErr := n.runCommand("/opt/lab/kubelet", "list")
		return err == nil && listErr == nil
	})
}

func analyzeBundle(t *testing.T, r *run, bundle string) *report {
	t.Helper()
	cmd := exec.Command("nice", filepath.Join(r.binDir(), "plegdiag"), "analyze", "-o", "json", bundle)
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
	if s.wants.root == "" {
		require.Empty(t, r.Findings)
		return
	}
	require.NotEmpty(t, r.Findings)
	f := r.Findings[0]
	require.Equal(t, "root", f.Role)
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
		require.NotEqual(t, "root", other.Role, "another root: %s", other.Rule)
		if !slices.Contains(links, other.Rule) { // of several containers
			links = append(links, other.Rule)
		}
	}
	require.ElementsMatch(t, s.wants.links, links)
	require.Subset(t, steps, s.wants.steps)
	for _, want := range s.wants.evidence {
		require.True(t, slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, want) }), "no evidence with %q in\n%s", want, strings.Join(lines, "\n"))
	}
	if s.wants.stalled {
		require.Len(t, r.Incident.Stalls, 1)
		require.Equal(t, "list", r.Incident.Stalls[0].Phase)
	}
	for _, want := range s.wants.headline {
		require.Contains(t, r.Incident.Headline, want)
	}
}
