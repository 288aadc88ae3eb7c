package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/incident"
)

// What is lost of the evidence is told file by file; what no parser was made for, and links, as
// one.
func TestWarnOfLoss(t *testing.T) {
	inc := &incident.Incident{}
	add := func(n int, path string, f incident.File) {
		for i := range n {
			f.Path = fmt.Sprintf(path, i)
			inc.Files = append(inc.Files, new(f))
		}
	}
	add(9, "proc/bus/pci/%d", incident.File{Format: "unknown", Lines: 2, Skipped: 2, FirstSkip: "no known format"})
	add(5, "etc/rc%d.d", incident.File{Format: "link", Err: "symbolic link is not followed"})
	add(1, "kubelet%d.log", incident.File{Format: "klog", Component: "kubelet", Start: time.Unix(1, 0), Lines: 9, Skipped: 1, FirstSkip: "no stamp"})
	add(1, "containerd%d.stacks.log", incident.File{Format: "goroutines", Lines: 9, Skipped: 3, FirstSkip: "no frame"})
	add(30, "cut%d.gz", incident.File{Format: "klog", Lines: 4, Used: 4, Err: "unexpected EOF"})
	var out strings.Builder
	WarnOfLoss(&out, inc)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Equal(t, 30, strings.Count(out.String(), "unexpected EOF"), "evidence that is missing is told, however often")
	require.Equal(t, []string{
		"plegdiag: containerd0.stacks.log: 3 of 9 lines not understood; first: no frame",
		"plegdiag: kubelet0.log: 1 of 9 lines not understood; first: no stamp",
		"plegdiag: proc/bus/pci/0: 2 of 2 lines not understood; first: no known format",
		"plegdiag: 8 more files with lines that were not understood, 16 in all (plegdiag ls lists them)",
		"plegdiag: 5 links are not followed (plegdiag ls lists them)",
	}, lines[30:])
}

// A file of which no line was read says why once, with the count of its lines.
func TestWarnOfLossSaysReasonOnce(t *testing.T) {
	var out strings.Builder
	WarnOfLoss(&out, &incident.Incident{Files: []*incident.File{
		{Path: "bomb.bz2", Format: "unknown", Lines: 1, Skipped: 1, Err: "465 compressed bytes became 268566528: this is no log"},
	}})
	require.Equal(t, "plegdiag: bomb.bz2: 465 compressed bytes became 268566528: this is no log; 1 of 1 lines not understood\n", out.String())
}
