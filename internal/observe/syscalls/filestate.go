package syscalls

import (
	"bytes"
	"path"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

// FileState is the content of a small file of /proc, /sys or a cgroup, as a traced program read or
// wrote it last.
type FileState struct {
	Path, Text string
	At         event.Time  // zero when the trace has no times
	Quote      event.Quote // the call that moved the content
	Opened     event.Quote // the call that shows the path; no text where Quote shows it itself
}

// maxFileStates bounds the files whose content is kept: a program that watches cgroups reads a few
// for each of some hundred containers.
const maxFileStates = 4096

// holdsState says that a path is of a file whose content is a state: freezer.state, cgroup.events,
// pids.max, pid_max.
func holdsState(file string) bool {
	return (strings.HasPrefix(file, "/sys/") || strings.HasPrefix(file, "/proc/") || strings.Contains(file, "/cgroup/")) &&
		snapshots.IsValueFile(file)
}

// labelHoldsState is holdsState for what strace -y wrote behind a descriptor.
func labelHoldsState(label []byte) bool {
	end := bytes.IndexByte(label, '>')
	return end > 0 && holdsState(string(label[:end]))
}

// openedPath is the path that a call opens: below the directory of a descriptor, where the trace
// shows that.
func (f *files) openedPath(s *traces.Syscall) string {
	name, _ := traces.FirstString(s.Args)
	if strings.HasPrefix(name, "/") || s.Name == "open" || s.Name == "creat" {
		return name
	}
	if p := firstPath(s.Args); p != "" {
		return p
	}
	if d, _, ok := traces.ReadDescriptor(s.Args); ok {
		if dir := f.findHandle(f.processOf(s.PID), d); dir != nil && strings.HasPrefix(dir.path, "/") {
			return path.Join(dir.path, name)
		}
	}
	return name
}

// noteFileState keeps what a call read from a file that holds a state, or wrote to it.
func (t *Trace) noteFileState(s *traces.Syscall, h *handle) {
	sends, moves := movingCalls[s.Name]
	if !moves || h == nil || h.kind != fileHandle || !s.Returned || s.Errno != "" || !holdsState(h.path) {
		return
	}
	text, ok := traces.FirstString(s.Args)
	if !ok || text == "" {
		return // the end of the file
	}
	if cut := strings.Contains(s.Args, `"...`); cut { // by -s: the last line may not be whole
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	if sends && !strings.HasSuffix(h.path, "freezer.state") && !strings.HasSuffix(h.path, "cgroup.freeze") && !strings.HasSuffix(h.path, ".max") {
		return // a number that is added, a threshold: no content
	}
	i, known := t.stateAt[h.path]
	if !known {
		if i = len(t.FileStates); i == maxFileStates {
			return
		}
		t.stateAt[h.path] = i
		t.FileStates = append(t.FileStates, FileState{})
	}
	t.FileStates[i] = FileState{
		Path: h.path, Text: text, At: s.Start, Quote: event.Quote{Pos: s.Pos, Text: s.Raw}, Opened: h.opened,
	}
}
