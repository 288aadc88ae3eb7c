package apiserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/sink"
	"github.com/plegdiag/plegdiag/internal/collect/spool"
	"github.com/plegdiag/plegdiag/internal/redact"
)

// itemLimit bounds what is stored of one item, in bytes after compression. It is that of collect on
// a node; the goroutines of a kubelet with 100 000 of them have 4 MB.
const itemLimit = 6 << 20

// sealRoom is the part of the bundle's limit that is kept for the manifest.
const sealRoom = 256 << 10

// store writes a bundle.
type store struct {
	manifest bundle.Manifest
	writer   *bundle.Writer
	pipe     *io.PipeWriter
	written  atomic.Int64 // bytes of the bundle
	told     chan sink.Report
	full     atomic.Pointer[string] // why there is no room for more
	limit    int64
	names    map[string]int
	replaced redact.Counts
	key      []byte // nil redacts nothing
	noted    func(bundle.Item)
}

// openStore begins a bundle. Writing it is the sink's, as on a node; here it is no process of its
// own, because it is not the sick node's disk.
func openStore(opt *Options, name string, key []byte) (*store, error) {
	s := &store{limit: opt.MaxSize, names: map[string]int{}, key: key, noted: opt.Noted, told: make(chan sink.Report, 1)}
	in, pipe := io.Pipe()
	reports, tell := io.Pipe()
	s.pipe = pipe
	go func() {
		err := sink.Run(sink.Request{Path: opt.Output, Force: opt.Force, MinFree: opt.MinFree}, in, opt.Stdout, tell)
		in.CloseWithError(errors.New("the bundle cannot be written"))
		tell.CloseWithError(err)
	}()
	go s.readReports(reports)
	var err error
	s.writer, err = bundle.NewWriter(bufio.NewWriterSize(s, 1), opt.Output, name)
	return s, err
}

// Write implements io.Writer: it counts.
func (s *store) Write(p []byte) (int, error) {
	n, err := s.pipe.Write(p)
	s.written.Add(int64(n))
	return n, err
}

// readReports reads what the sink says, up to its last word.
func (s *store) readReports(in io.Reader) {
	dec := json.NewDecoder(in)
	for {
		var r sink.Report
		if dec.Decode(&r) != nil || r.Done {
			s.told <- r
			_, _ = io.Copy(io.Discard, in) // until it is closed
			return
		}
		if r.Full != "" {
			s.full.Store(&r.Full)
		}
	}
}

// newSpool makes the spool for an item.
func (s *store) newSpool(newest bool) *spool.Spool {
	return spool.New(spool.Options{Limit: itemLimit, Newest: newest, Key: s.key})
}

// storeItem ends an item and writes its file, if it has content.
func (s *store) storeItem(item *bundle.Item, sp *spool.Spool) {
	content := sp.Finish(item)
	s.replaced.Add(sp.Counts())
	s.storeBytes(item, content)
}

// storeBytes writes an item as it is.
func (s *store) storeBytes(item *bundle.Item, content []byte) {
	if n := s.names[item.Name]; n > 0 {
		item.Name = fmt.Sprintf("%s.%d", item.Name, n)
	}
	s.names[item.Name]++
	full := s.full.Load()
	switch {
	case len(content) == 0:
	case full != nil:
		s.leaveOut(item, content, "no room for more: "+*full)
	case s.written.Load()+int64(len(content)) > s.limit-sealRoom:
		s.leaveOut(item, content, fmt.Sprintf("size limit of %d MiB", s.limit>>20))
	default:
		if err := s.writer.Add(item, content); err != nil {
			item.SHA256, item.Outcome, item.Why = "", bundle.Failed, err.Error()
		}
	}
	s.recordItem(item)
}

func (s *store) leaveOut(item *bundle.Item, content []byte, why string) {
	item.Outcome, item.Why = bundle.Capped, why
	item.Dropped += int64(len(content))
	s.seal(why, item.Step)
}

// seal notes why the bundle is not whole, and a step of which something is missing.
func (s *store) seal(why, step string) {
	if s.manifest.Sealed == "" {
		s.manifest.Sealed = why
	}
	if !slices.Contains(s.manifest.Missing, step) {
		s.manifest.Missing = append(s.manifest.Missing, step)
	}
}

// recordItem adds an item to the manifest.
func (s *store) recordItem(item *bundle.Item) {
	s.manifest.Items = append(s.manifest.Items, *item)
	if s.noted != nil {
		s.noted(*item)
	}
}

// diskWait is how long the disk may take to confirm the bundle.
const diskWait = 30 * time.Second

// close finishes the bundle and waits until it is on the disk.
func (s *store) close() error {
	if s.key != nil {
		s.manifest.Replaced = s.replaced.ByName()
	}
	err := errors.Join(s.writer.Close(&s.manifest), s.pipe.Close())
	select {
	case r := <-s.told:
		switch {
		case r.Error != "":
			return errors.New(strings.TrimSpace("the bundle cannot be written: " + r.Error))
		case !r.Done:
			return errors.New("the bundle cannot be written")
		}
		return err
	case <-time.After(diskWait):
		return errors.New("the bundle cannot be written: its disk has not confirmed it")
	}
}
