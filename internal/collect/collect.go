//go:build linux

package collect

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/sink"
	"github.com/plegdiag/plegdiag/internal/collect/spool"
	"github.com/plegdiag/plegdiag/internal/redact"
)

// collector is one collection.
type collector struct {
	opt      Options
	begun    time.Time // a moment, as deadline
	deadline time.Time
	writer   *bundle.Writer
	out      *byteCounter
	manifest bundle.Manifest
	key      []byte // of the tokens that replace secrets
	replaced redact.Counts
	left     []bundle.Helper
	walked   walked
	silent   []string        // containers and sandboxes whose status had no answer
	waits    int             // calls to a runtime without an answer
	mute     map[string]bool // sockets of daemons that left a call without an answer
	// signalled is how many shims were sent SIGUSR1
	signalled int
	dumpFiles []dumpFile // that daemons wrote
	names     map[string]int
	missing   []string // steps that the early end has cut
	refused   string   // why something had no room
	// gets what would be read, instead of the helper; nil in a real collection
	planned func(from want)
	sealed  atomic.Pointer[ending]
	hurry   chan struct{} // closed when it is sealed
	once    sync.Once
	mu      sync.Mutex
	reading *os.File // pipe of the helper that works now
	dumped  []dumpRound
}

// ending is why a collection ends early.
type ending struct {
	why    string
	after  time.Duration
	failed bool // nothing can be written any more
}

// itemLimit bounds what is stored of one item, in bytes after compression.
const itemLimit = 6 << 20

// sealRoom is the part of MaxSize that is kept for the manifest.
const sealRoom = 256 << 10

// Run collects. It returns at most five seconds after Timeout, whatever hangs.
func Run(ctx context.Context, opt Options) (*Summary, error) {
	steps, err := planSteps(&opt)
	if err != nil {
		return nil, err
	}
	if err := checkPut(ctx, &opt); err != nil {
		return nil, err
	}
	lowerPriority()
	c := &collector{
		opt: opt, begun: moment(), deadline: moment().Add(opt.Timeout), names: map[string]int{}, hurry: make(chan struct{}),
		key: make([]byte, 32), mute: map[string]bool{},
	}
	if _, err := rand.Read(c.key); err != nil {
		return nil, err
	}
	disk, err := c.openSink()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.seal("interrupted", false) })
	defer stop()
	for i := range steps {
		steps[i].do(c, &steps[i])
	}
	return c.sealBundle(disk)
}

// lowerPriority lets the node's daemons run first, and lets the kernel kill this process first when
// memory is short.
func lowerPriority() {
	debug.SetMemoryLimit(48 << 20)
	debug.SetGCPercent(50)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0o600) // only a wish
	// IOPRIO_CLASS_BE of linux/ioprio.h
	const nice, bestEffortLast = 10, 2<<13 | 7
	for _, tid := range numericEntries("/proc/self/task") {
		_ = unix.Setpriority(unix.PRIO_PROCESS, tid, nice)
		_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, 1, uintptr(tid), bestEffortLast)
	}
}

// seal ends the collection early. The first reason counts. failed says that nothing can be written.
func (c *collector) seal(why string, failed bool) {
	c.once.Do(func() {
		c.sealed.Store(&ending{why, moment().Sub(c.begun), failed})
		close(c.hurry)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.reading != nil {
			_ = c.reading.SetReadDeadline(moment())
		}
	})
}

// waitUntil waits until a moment, but not longer than the collection.
func (c *collector) waitUntil(until time.Time) {
	if until.After(c.deadline) {
		until = c.deadline
	}
	timer := time.NewTimer(until.Sub(moment()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.hurry:
	}
}

// newSpool makes the spool for an item of a step.
func (c *collector) newSpool(s *step) *spool.Spool {
	o := spool.Options{Limit: itemLimit, Newest: s.newest, Export: s.export}
	if !c.opt.NoRedact {
		o.Key = c.key
	}
	return spool.New(o)
}

// storeItem ends an item and writes its file, if it has content.
func (c *collector) storeItem(item *bundle.Item, s *spool.Spool) {
	content := s.Finish(item)
	c.replaced.Add(s.Counts())
	if len(content) > 0 {
		c.writeItem(item, content)
	}
	c.recordItem(item)
}

// writeItem writes the file of an item to the bundle.
func (c *collector) writeItem(item *bundle.Item, content []byte) {
	if n := c.names[item.Name]; n > 0 {
		item.Name = fmt.Sprintf("%s.%d", item.Name, n)
	}
	c.names[item.Name]++
	if c.out.n.Load()+int64(len(content)) > c.opt.MaxSize-sealRoom {
		item.Outcome, item.Why = bundle.Capped, "no room for it under --max-size"
		item.Dropped += int64(len(content))
		c.refused = fmt.Sprintf("size limit of %d MiB", c.opt.MaxSize>>20)
		c.addMissing(item.Step)
		return
	}
	if err := c.writer.Add(item, content); err != nil {
		item.SHA256, item.Outcome, item.Why = "", bundle.Failed, c.whyUnwritten(err)
	}
}

// whyUnwritten says why something could not be written, and ends the collection. A broken pipe
// means that the helper that writes has ended, and its report says why.
func (c *collector) whyUnwritten(err error) string {
	if errors.Is(err, syscall.EPIPE) {
		select {
		case <-c.hurry:
		case <-time.After(killGrace):
		}
	}
	why := errorText(err)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		why = "its disk took nothing for too long"
	}
	c.seal("the bundle cannot be written: "+why, true)
	return c.sealed.Load().why
}

// addMissing notes that a step is not whole because the collection ends early.
func (c *collector) addMissing(step string) {
	if !slices.Contains(c.missing, step) {
		c.missing = append(c.missing, step)
	}
}

// recordItem adds an item to the manifest.
func (c *collector) recordItem(item *bundle.Item) {
	c.manifest.Items = append(c.manifest.Items, *item)
	if c.opt.Noted != nil {
		c.opt.Noted(*item)
	}
}

// storeContent makes an item of content that this process has itself.
func (c *collector) storeContent(s *step, name, source string, content []byte) {
	item := bundle.Item{Name: name, Step: s.name, Source: source, Start: now(), End: now()}
	sp := c.newSpool(s)
	_, _ = sp.Write(content) // does not fail
	c.storeItem(&item, sp)
}

// disk is the helper that writes the bundle.
type disk struct {
	*child
	in   *os.File
	told chan sink.Report
}

const writerGone = "the helper that writes the bundle has ended"

// openSink starts the helper that writes the bundle, and begins the bundle.
func (c *collector) openSink() (*disk, error) {
	name := "plegdiag-" + hostName() + "-" + now().Format("20060102T150405Z")
	c.manifest = bundle.Manifest{
		Schema: bundle.ManifestSchema, Tool: c.opt.Version, Node: hostName(), Start: now(),
		Redaction: !c.opt.NoRedact, Fleet: map[string]string{},
	}
	if c.opt.Output == "" {
		c.opt.Output = name + ".tgz"
	}
	path := c.opt.Output
	if path != "-" && !filepath.IsAbs(path) {
		dir, err := os.Readlink("/proc/self/cwd") // does not read the directory itself
		if err != nil {
			return nil, err
		}
		path = filepath.Join(dir, path)
	}
	t := &task{Do: "sink", Names: []string{path}, Count: c.opt.MinFree}
	if c.opt.Force {
		t.Limit = 1
	}
	d, err := startSink(&c.opt, t)
	if err != nil {
		return nil, err
	}
	go d.readReports(c)
	c.out = &byteCounter{w: d.in}
	_ = d.in.SetWriteDeadline(c.deadline.Add(2 * time.Second))
	if c.writer, err = bundle.NewWriter(bufio.NewWriterSize(c.out, 1), path, name); err != nil {
		closeFiles(d.in) // ends the helper
		return nil, err
	}
	return d, nil
}

// startSink starts the helper that writes the bundle. It reports on its descriptor 3.
func startSink(opt *Options, t *task) (*disk, error) {
	argument, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	toldRead, toldWrite, err := os.Pipe()
	if err != nil {
		closeFiles(inRead, inWrite)
		return nil, err
	}
	d := &disk{child: newChild(opt.Helper, argument, toldRead), in: inWrite, told: make(chan sink.Report, 8)}
	d.cmd.Stdin, d.cmd.ExtraFiles = inRead, []*os.File{toldWrite}
	d.cmd.Env = []string{"GOMAXPROCS=1", "GOMEMLIMIT=16MiB"}
	if opt.Output == "-" {
		d.cmd.Stdout = opt.Stdout
	}
	err = d.cmd.Start()
	closeFiles(inRead, toldWrite)
	if err != nil {
		closeFiles(inWrite, toldRead)
		return nil, fmt.Errorf("%w: %w", errFork, err)
	}
	go d.awaitEnd()
	return d, nil
}

// readReports reads the reports of the helper that writes the bundle.
func (d *disk) readReports(c *collector) {
	defer d.out.Close()
	dec := json.NewDecoder(d.out)
	for {
		var s sink.Report
		if err := dec.Decode(&s); err != nil {
			c.seal(writerGone, true)
			close(d.told)
			return
		}
		switch {
		case s.Done, s.Written:
			d.told <- s
			if s.Error != "" {
				c.seal("the bundle cannot be written: "+s.Error, true)
			}
		case s.Full != "":
			c.seal("no room for more: "+s.Full, false)
		}
	}
}

// sealBundle finishes the bundle and waits until it is written.
func (c *collector) sealBundle(d *disk) (*Summary, error) {
	c.manifest.End, c.manifest.Left = now(), c.left
	if !c.opt.NoRedact {
		c.manifest.Replaced = c.replaced.ByName()
	}
	for i := range c.dumpFiles {
		c.manifest.DumpFiles = append(c.manifest.DumpFiles, c.dumpFiles[i].DumpFile)
	}
	c.manifest.Sealed, c.manifest.Missing = c.refused, c.missing
	c.manifest.ClockStep = clockStep(c.begun).Seconds()
	if e := c.sealed.Load(); e != nil {
		c.manifest.Sealed, c.manifest.SealedAfter = e.why, e.after.Round(time.Millisecond).Seconds()
	}
	late := c.deadline.Add(4 * time.Second)
	if soon := moment().Add(3 * time.Second); c.manifest.Sealed != "" && soon.Before(late) {
		late = soon
	}
	_ = d.in.SetWriteDeadline(late)
	err := c.writer.Close(&c.manifest)
	err = errors.Join(err, d.in.Close())
	s := &Summary{Path: c.opt.Output, Items: map[bundle.Outcome]int{}, Left: c.left, DumpFiles: c.manifest.DumpFiles, Sealed: c.manifest.Sealed}
	for i := range c.manifest.Items {
		s.Items[c.manifest.Items[i].Outcome]++
	}
	return s, c.awaitDisk(d, s, err, late)
}

// awaitDisk waits until the disk has the bundle, and says why it does not. failed is an error of
// the pipe to the writer.
func (c *collector) awaitDisk(d *disk, s *Summary, failed error, late time.Time) error {
	written := false
	for {
		select {
		case told, ok := <-d.told:
			switch s.Bytes = max(s.Bytes, told.Bytes); {
			case !ok && failed == nil:
				return errors.New(writerGone)
			case !ok:
				return fmt.Errorf("%s: %w", writerGone, failed)
			case told.Error != "":
				return fmt.Errorf("the bundle cannot be written: %s; it ends after %d bytes", told.Error, told.Bytes)
			case told.Done:
				return failed
			}
			written = told.Written
			continue
		case <-time.After(late.Sub(moment())):
		}
		break
	}
	r, left := d.stop()
	switch {
	case written:
		s.Unsynced = cmp.Or(r.wchan, "no known function")
		return nil
	case left:
		return fmt.Errorf("%s: the bundle cannot be written: its writer is stuck in %s", c.opt.Output, r.wchan)
	}
	return fmt.Errorf("%s: the bundle cannot be written in time", c.opt.Output)
}

// byteCounter counts the bytes of the bundle.
type byteCounter struct {
	w io.Writer
	n atomic.Int64
}

func (c *byteCounter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// hostName is the node's name, with every character that is unusual in a file name replaced.
func hostName() string {
	var uts unix.Utsname
	_ = unix.Uname(&uts) // cannot fail
	name := unix.ByteSliceToString(uts.Nodename[:])
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune("-.", c) || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, name)
}

// ChangeRoot makes a directory the root of this process and its helpers: in a pod, where the node's
// root is mounted. The program itself is found all the same, through /proc/self/exe.
func ChangeRoot(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "proc/self/exe")); err != nil {
		return fmt.Errorf("--chroot %s: /proc is not mounted below it, or is that of another PID namespace", dir)
	}
	if err := errors.Join(unix.Chroot(dir), os.Chdir("/")); err != nil {
		return fmt.Errorf("--chroot %s: %w", dir, err)
	}
	return nil
}
