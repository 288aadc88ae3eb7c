//go:build linux

package collect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/fleet"
)

// frame is what a helper sends to the program that started it: a line of JSON, then Bytes bytes.
//
//	{"begin":"cgroups/kubepods/cgroup.events","source":"/sys/fs/cgroup/…"}
//	{"data":"cgroups/kubepods/cgroup.events","bytes":23}
//	{"end":"cgroups/kubepods/cgroup.events","outcome":"ok"}
//	{"done":true}
//
// Begin comes before anything that can block, so it is known where a helper hangs.
type frame struct {
	Begin   string         `json:"begin,omitempty"`
	Data    string         `json:"data,omitempty"`
	End     string         `json:"end,omitempty"`
	Bytes   int            `json:"bytes,omitempty"`
	Source  string         `json:"source,omitempty"`
	Outcome bundle.Outcome `json:"outcome,omitempty"`
	Why     string         `json:"why,omitempty"`
	WChan   string         `json:"wchan,omitempty"`
	Stack   []string       `json:"stack,omitempty"`
	At      time.Time      `json:"at,omitzero"` // of begin and end
	Note    *note          `json:"note,omitempty"`
	// Done says that nothing follows. The pipe of a helper with a thread in uninterruptible sleep
	// has no end of file.
	Done bool `json:"done,omitempty"`
}

// note is something that later steps need to know: one of its fields is set.
type note struct {
	Process    *process  `json:",omitempty"` // that the last walk found
	Container  string    `json:",omitempty"` // id in the name of a cgroup
	Silent     string    `json:",omitempty"` // container or sandbox whose status had no answer
	Unanswered int       `json:",omitempty"` // calls to a runtime without an answer
	Mute       string    `json:",omitempty"` // socket of a daemon that left a call without an answer
	Dump       *dumpFile `json:",omitempty"` // that a daemon wrote
	Signalled  int       `json:",omitempty"` // PID of a shim that was sent SIGUSR1
	// Fleet is which machine it is; Sure that the kubelet says so,.
	Fleet fleet.Facts `json:",omitempty"`
}

// maxFrame bounds the content of one frame.
const maxFrame = 1 << 20

// frames writes frames. Several goroutines of a helper can share it.
type frames struct {
	mu sync.Mutex
	w  *bufio.Writer
}

func newFrames(w io.Writer) *frames { return &frames{w: bufio.NewWriterSize(w, 64<<10)} }

// sendFrame writes one frame. An error means that nobody reads any more: the next write ends the
// helper by SIGPIPE.
func (f *frames) sendFrame(h frame, payload []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h.Bytes = len(payload)
	head, err := json.Marshal(&h)
	if err != nil {
		return
	}
	_, _ = f.w.Write(append(head, '\n')) // bufio keeps the error for Flush
	_, _ = f.w.Write(payload)
	_ = f.w.Flush() // see above: the signal ends the helper
}

func (f *frames) beginItem(name, source string) {
	f.sendFrame(frame{Begin: name, Source: source, At: now()}, nil)
}

// sendData sends content in pieces.
func (f *frames) sendData(name string, content []byte) {
	for len(content) > 0 {
		n := min(len(content), maxFrame)
		f.sendFrame(frame{Data: name}, content[:n])
		content = content[n:]
	}
}

func (f *frames) endItem(name string, r result) {
	f.sendFrame(frame{End: name, Outcome: r.outcome, Why: r.why, WChan: r.wchan, Stack: r.stack, At: now()}, nil)
}

// sendFile sends a whole file as one item.
func (f *frames) sendFile(name, source string, content []byte) {
	f.beginItem(name, source)
	f.sendData(name, content)
	f.endItem(name, result{})
}

func (f *frames) sendNote(n note) { f.sendFrame(frame{Note: &n}, nil) }

// oneItem makes a task of something whose content is the first item of the task.
func oneItem(do func(t *task, out itemWriter) result) func(t *task, out *frames) {
	return func(t *task, out *frames) {
		w := t.Items[0]
		out.beginItem(w.Name, w.Source)
		out.endItem(w.Name, do(t, itemWriter{out, w.Name}))
	}
}

// oneSocket makes a task of something that asks a socket, the source of the first item. It is not
// called where there is no socket.
func oneSocket(do func(t *task, path string, out itemWriter) result) func(t *task, out *frames) {
	return oneItem(func(t *task, out itemWriter) result {
		var g guard
		path := strings.TrimPrefix(t.Items[0].Source, "unix://")
		if r := g.findSocket(t.Bound, path); r.outcome != "" {
			return r
		}
		return do(t, path, out)
	})
}

// result is what became of one operation. With the zero value the content decides: ok, or empty
// without any.
type result struct {
	outcome bundle.Outcome
	why     string
	wchan   string
	stack   []string
}

// isOpen says that the operation did not return, or was not started.
func (r *result) isOpen() bool {
	return r.outcome == bundle.Timeout || r.outcome == bundle.Stuck || r.outcome == bundle.Skipped
}

// readFrame reads the next frame and its payload, which is valid until the next call.
func readFrame(r *bufio.Reader, payload *bytes.Buffer) (frame, error) {
	var f frame
	line, err := r.ReadSlice('\n')
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(line, &f); err != nil {
		return f, fmt.Errorf("a helper said %.80q: %w", line, err)
	}
	payload.Reset()
	if f.Bytes < 0 || f.Bytes > maxFrame {
		return f, errors.New("a helper's frame is too large")
	}
	_, err = io.CopyN(payload, r, int64(f.Bytes))
	return f, err
}

// itemWriter sends what is written as the content of an item. Its writes do not fail.
type itemWriter struct {
	*frames
	name string
}

// buffered collects small writes to larger frames.
func (w itemWriter) buffered() *bufio.Writer { return bufio.NewWriterSize(w, 64<<10) }

func (w itemWriter) Write(p []byte) (int, error) {
	w.sendData(w.name, p)
	return len(p), nil
}
