//go:build linux

package collect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/fleet"
	"github.com/plegdiag/plegdiag/internal/collect/put"
	"github.com/plegdiag/plegdiag/internal/collect/sink"
)

// task is what one helper does.
type task struct {
	Do    string // key of tasks
	Items []want `json:",omitempty"` // what to collect, in order
	// Bound is for one of several operations inside the helper. The helper as a whole has the bound
	// of its step.
	Bound time.Duration `json:",omitempty"`
	Limit int           `json:",omitempty"` // bytes of one item
	Count int           `json:",omitempty"`
	Argv  []string      `json:",omitempty"` // of exec
	// Processes are the processes that the task is about, as the walk saw them.
	Processes []process  `json:",omitempty"`
	Dumps     []dumpFile `json:",omitempty"` // that this collection has caused
	IDs       []string   `json:",omitempty"`
	Since     time.Time  `json:",omitzero"`
	Names     []string   `json:",omitempty"`
	Why       string     `json:",omitempty"` // why no signal is sent; empty when some are
	// Put is where the bundle is sent. It holds secrets: such a task goes through a pipe.
	Put *put.Request `json:",omitempty"`
}

// want is one item of a task and where it comes from: a file (a pattern if it contains *), a
// socket, an address.
type want struct {
	Name, Source string
	Query        string `json:",omitempty"` // path of a request over HTTP
}

// execTask runs a program, whose output becomes the item name.
func execTask(name string, argv ...string) *task {
	return &task{Do: "exec", Argv: argv, Items: []want{{Name: name, Source: strings.Join(argv, " ")}}}
}

// tasks are what helpers can do. Each can hang: nobody waits longer than its bound.
var tasks = map[string]func(t *task, out *frames){
	"walk":         walkThreads,
	"processes":    oneItem(listProcesses),
	"files":        readFiles,
	"cgroups":      oneItem(readCgroups),
	"kmsg":         oneItem(readKmsg),
	"http":         getHTTP,
	"cri":          oneSocket(askCRI),
	"docker":       oneSocket(askDocker),
	"cri-status":   oneSocket(askCRIStatus),
	"docker-info":  oneSocket(askDockerInfo),
	"bus":          oneSocket(askBus),
	"mounts":       oneItem(statMounts),
	"fleet":        readFleet,
	"certificates": oneItem(readCertificates),
	"signal":       signalDumps,
	"remove":       oneItem(removeDumps),
	"shims":        oneItem(dumpShims),
	"journals":     exportJournals,
	"sysrq":        oneItem(pressSysrq),
}

// Helper is the hidden command collect-helper. It does one task, whose JSON is its argument (or in,
// when the argument is "-"), and writes frames to out. plegdiag collect starts itself again for
// whatever can block, because a thread in uninterruptible sleep keeps its whole process from
// ending.
func Helper(argument string, in io.Reader, out io.Writer) error {
	var t task
	if argument == "-" {
		long, err := io.ReadAll(io.LimitReader(in, 64<<20))
		if err != nil {
			return err
		}
		argument = string(long)
	}
	if err := json.Unmarshal([]byte(argument), &t); err != nil {
		return fmt.Errorf("this command is for plegdiag collect itself: %w", err)
	}
	switch t.Do {
	case "sink":
		r := sink.Request{Path: t.Names[0], Force: t.Limit == 1, MinFree: t.Count}
		return sink.Run(r, in, out, os.NewFile(3, "told"))
	case "put":
		return sendBundle(&t, out)
	case "exec":
		if len(t.Processes) > 0 && t.Processes[0].whyUntraceableNow() != "" {
			return errRefused
		}
		return execProgram(t.Argv)
	}
	do := tasks[t.Do]
	if do == nil {
		return fmt.Errorf("this command is for plegdiag collect itself: no task %q", t.Do)
	}
	frames := newFrames(out)
	do(&t, frames)
	frames.sendFrame(frame{Done: true}, nil)
	return nil
}

// programDirs are where programs are searched. PATH can name a directory on a file server that does
// not answer.
var programDirs = []string{
	"/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin", "/usr/local/sbin", "/opt/bin",
	"/usr/libexec",
}

// errNoProgram becomes exit status 127, as in a shell.
var errNoProgram = errors.New("no such program")

// execProgram replaces the helper by another program, in a small environment.
func execProgram(argv []string) error {
	path := argv[0]
	for _, dir := range programDirs {
		if strings.Contains(argv[0], "/") {
			break
		}
		if info, err := os.Stat(filepath.Join(dir, argv[0])); err == nil && info.Mode()&0o111 != 0 {
			path = filepath.Join(dir, argv[0])
			break
		}
	}
	if !strings.Contains(path, "/") {
		return errNoProgram
	}
	env := []string{
		"PATH=" + strings.Join(programDirs, ":"), "LC_ALL=C", "TZ=UTC", "SYSTEMD_PAGER=",
		"SYSTEMD_COLORS=0",
	}
	err := syscall.Exec(path, argv, env)
	if errors.Is(err, syscall.ENOENT) {
		return errNoProgram
	}
	return err
}

// errRefused says that a program is not run on a process that has changed since the walk. It
// becomes exit status 126.
var errRefused = errors.New("it has ended, is stopped or traced, or one of its threads is in uninterruptible sleep")

// whyRefused says why a program was not run on the process of a task.
func (t *task) whyRefused() string {
	if len(t.Processes) > 0 && t.Processes[0].Blocked > 0 {
		return "one of its threads is in uninterruptible sleep, in " + t.Processes[0].Waits + ": strace could not stop it"
	}
	return errRefused.Error()
}

// HelperStatus is the exit status of a helper that ended with err.
func HelperStatus(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errRefused):
		return 126
	case errors.Is(err, errNoProgram):
		return 127
	}
	return 1
}

// readFiles reads files, one after the other, each with a bound of its own. A pattern makes an item
// of each file that matches: /etc/crio/crio.conf.d/* as config/etc/crio/crio.conf.d/10-x.conf.
func readFiles(t *task, out *frames) {
	var g guard
	for _, w := range t.Items {
		paths := []string{w.Source}
		if strings.Contains(w.Source, "*") {
			var r result
			if paths, r = tryFor(&g, t.Bound,
				func() ([]string, error) { return filepath.Glob(w.Source) }); r.outcome != "" {
				out.beginItem(w.Name, w.Source)
				out.endItem(w.Name, r)
				continue
			}
		}
		for _, path := range paths {
			name := w.Name
			if path != w.Source {
				name = strings.TrimSuffix(name, "*") + filepath.Base(path)
			}
			g.sendFile(out, name, path, t.Bound, t.Limit)
		}
	}
}

// readFleet sends which machine of a fleet the node is. The files themselves are not in the bundle:
// the first can hold secrets.
func readFleet(t *task, out *frames) {
	var g guard
	read := func(path string) []byte {
		const limit = 1 << 20
		text, _ := g.tryFile(t.Bound, path, limit) // where there is none, nothing is known
		return text
	}
	known := fleet.OfCloudInit(read(t.Items[0].Source))
	if known == nil {
		known = fleet.Facts{}
	}
	known.Add(fleet.OfFirmware(string(read(t.Items[1].Source)), string(read(t.Items[2].Source))))
	out.sendNote(note{Fleet: known})
}

// sendFile sends one file.
func (g *guard) sendFile(out *frames, name, path string, bound time.Duration, limit int) {
	out.beginItem(name, path)
	whole := true
	text, r := tryFor(g, bound, func() (text []byte, err error) {
		text, whole, err = readFile(path, limit)
		return text, withoutPath(err)
	})
	out.sendData(name, text)
	if r.outcome == "" && !whole {
		r = result{outcome: bundle.Capped, why: fmt.Sprintf("only the first %d bytes", limit)}
	}
	out.endItem(name, r)
}
