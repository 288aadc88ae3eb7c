// Package collect turns a live node into a bundle. It is the only package that touches the machine.
//
// It is made for a node on which everything else hangs. A helper does whatever can block: it is the
// same program, started once more. A helper that does not answer is killed, and left behind if it
// does not end. A goroutine, or a command with a context, would keep this process from ending while
// one of its threads is in uninterruptible sleep. The process itself reads only pipes and its own
// files in /proc; even the bundle is written by a helper. It never reads environments of processes
// and containers, kubeconfigs or Secrets, and starts no ps, no crictl, and no systemctl that asks a
// daemon.
package collect

import (
	"os"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/put"
)

// Suspicious is the value of Options.Strace with which the collection chooses the process.
const Suspicious = "suspicious"

// Options say what to collect, and how much.
type Options struct {
	// Output is the file to write; "-" is Stdout. Its ending decides the compression: .zst is zstd,
	// any other is gzip.
	Output  string
	Stdout  *os.File
	Force   bool // overwrite Output
	Since   time.Duration
	Timeout time.Duration
	MaxSize int64 // bytes of the bundle
	MinFree int   // MiB that stay free where Output is
	Only    []string
	Skip    []string
	// Helper is the command line that starts this program as a helper; the task is appended.
	Helper  []string
	Version string
	// NoRedact leaves values as they are.
	NoRedact bool
	// NoSignal sends no signal to any process except helpers.
	NoSignal bool
	// RemoveDumps removes the files that daemons write when they are sent SIGUSR1.
	RemoveDumps bool
	// ProbeRemote also asks network file systems how full they are.
	ProbeRemote bool
	// KubeletToken is a file with a token for the kubelet's port 10250; empty asks without one.
	KubeletToken string
	// AllowKill are names of daemons that are ended by SIGQUIT for their goroutines, in the last
	// step.
	AllowKill []string
	// Strace is the PID to trace for some seconds, or Suspicious; empty for none.
	Strace string
	// SysrqW makes the kernel write the stacks of all threads in state D to its log.
	SysrqW bool
	// Sockets replaces the addresses of daemons, by their kind: cri, docker, containerd-debug,
	// dbus, kubelet, kubelet-healthz.
	Sockets map[string]string
	// Journal is a directory with journal files to read instead of asking journalctl; empty asks
	// journalctl.
	Journal string
	// Put is where Send sends the bundle; nil keeps it here. Run only checks it.
	Put *put.Request
	// Noted is called with every item.
	Noted func(bundle.Item)
}

// Summary is the result of a collection.
type Summary struct {
	Path      string // of the bundle; "-" is the stream
	Bytes     int64  // of the bundle
	Items     map[bundle.Outcome]int
	Left      []bundle.Helper
	DumpFiles []bundle.DumpFile
	Sealed    string // why it ended early, or is not whole; empty when it is
	// Unsynced says where the writer waits for the disk: all is written, and the disk has not taken it
	// yet. Empty when it has.
	Unsynced string
}
