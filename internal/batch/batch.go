// Package batch analyses many bundles, each in a process of its own with bounds of time, memory and
// output: one that is hostile or broken costs its own row and nothing else. What it writes is named
// by the bundle's SHA-256, is complete or not there, and is kept as long as version, rules and
// settings are the same. So a run can be killed at any moment and started again, and several runs,
// on one machine or many, can share a directory. It never writes to a bundle.
package batch

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/plegdiag/plegdiag/internal/report/rows"
)

// clock is the machine's: runs have bounds of time.
var clock = time.Now //nolint:forbidigo // how long a run takes is no evidence

// Options say what to analyse, and within which bounds.
type Options struct {
	// Inputs are bundles, directories of bundles, "@FILE" for a list of both, or "-" for a list
	// from List; see [listInputs].
	Inputs []string
	List   io.Reader
	Each   bool   // every entry of a directory is a bundle, whatever it is
	Out    string // the directory for results; it is made when it is missing
	Shard  Shard
	Jobs   int // bundles at the same time; at least 1
	// RetryFailed tries the bundles again that failed with the same version, rules and settings.
	RetryFailed bool
	Labels      map[string]string // of every row
	Pages       bool              // write a page of HTML beside each report; the worker makes it
	Identity    Identity
	// Worker analyses one bundle: it calls [Work]. The directory for its results and the bundle are
	// added to its arguments.
	Worker Worker
	// Notify is called after every bundle, never twice at the same time; nil is not called.
	Notify func(Progress)
	// Stop, once closed, starts no further bundle: those that run are finished.
	Stop <-chan struct{}
}

// Identity is by what a result is known to be still good: it is, if all of it is the same.
type Identity struct {
	Version  string // of plegdiag
	Catalog  string // digest of the rules
	Settings string // what else changes what is found; empty for nothing
}

// Shard is a part of the inputs: of Count parts that with this Index, from 0. The zero Shard is
// all.
type Shard struct{ Index, Count int }

// has says whether a bundle is of the shard, by the name that it has below its input. Its place
// among the others does not count, which changes when bundles are added.
func (s Shard) has(key string) bool {
	if s.Count < 2 {
		return true
	}
	sum := sha256.Sum256([]byte(key))
	return binary.BigEndian.Uint64(sum[:])%uint64(s.Count) == uint64(s.Index)
}

// Progress is how far a run is.
type Progress struct {
	All, Done, Failed int           // bundles of this shard
	Left              time.Duration // until the end, at the rate of those that were analysed; 0 where it is not known
}

// Tally is what a run did.
type Tally struct {
	Listed   int // bundles of all shards, by name
	Tried    int // of this one: the sum of the next three
	Analysed int // in this run, those that failed included
	Before   int // that were done before
	Twice    int // names of a bundle that has another name in this run
	Failed   int // of the analysed and of those done before
	Passed   int // files in directories that are no archives and were not tried
	Rows     int // in the merged file
	Bundles  int // in the merged file
	Stopped  bool
}

// Merged is the name of the file in [Options.Out] that has the rows of all bundles.
const Merged = "rows.jsonl"

// Run analyses the bundles of a shard that are not done yet, and then merges the rows of all that
// are in the directory. An error is of the machine (a full disk, no more processes) or of the
// inputs: what is wrong with one bundle is in its row. When ctx ends, the bundles that run are
// killed and stay undone.
func Run(ctx context.Context, o Options) (Tally, error) {
	listed, err := listInputs(&o)
	if err != nil {
		return Tally{}, err
	}
	out, err := openStore(&o)
	if err != nil {
		return Tally{}, err
	}
	r := run{Options: o, store: out, claims: map[string]chan struct{}{}, began: clock()}
	for _, in := range listed.inputs {
		if o.Shard.has(in.key) {
			r.left = append(r.left, in)
		}
	}
	r.all = len(r.left)
	r.tally.Listed, r.tally.Passed = len(listed.inputs), listed.passed
	var running sync.WaitGroup
	for place := range min(max(o.Jobs, 1), r.all) {
		running.Go(func() { r.workThrough(ctx, place) })
	}
	running.Wait()
	r.tally.Stopped = r.tally.Tried < r.all && r.broken == nil
	r.tally.Rows, r.tally.Bundles, err = out.merge()
	return r.tally, errors.Join(r.broken, err, out.close())
}

// run is the state that the workers of one run share.
type run struct {
	Options
	store *store
	all   int
	began time.Time

	mu     sync.Mutex
	left   []input // not yet taken
	tally  Tally
	claims map[string]chan struct{} // by bundle: closed when it is done
	broken error                    // why the run ends early
}

// workThrough takes bundles until there is none left. Place is a number of its own.
func (r *run) workThrough(ctx context.Context, place int) {
	runtime.LockOSThread() // a worker dies with the thread that started it
	for {
		in, ok := r.takeInput(ctx)
		if !ok {
			return
		}
		if err := r.tryInput(ctx, in, place); err != nil {
			r.breakOff(fmt.Errorf("%s: %w", in.path, err))
		}
	}
}

// takeInput takes the next input; none if the run is to end.
func (r *run) takeInput(ctx context.Context) (input, bool) {
	select {
	case <-r.Stop:
		return input{}, false
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) == 0 || r.broken != nil || ctx.Err() != nil {
		return input{}, false
	}
	in := r.left[0]
	r.left = r.left[1:]
	return in, true
}

// breakOff ends the run because of something that is wrong with the machine.
func (r *run) breakOff(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = err
	}
}

// maxChanges is how often a bundle may change while it is read: somebody writes it.
const maxChanges = 3

// tryInput analyses one bundle, unless that was done. An error is of the machine. When ctx ends,
// nothing is noted.
func (r *run) tryInput(ctx context.Context, in input, place int) error {
	for range maxChanges {
		id, err := identify(ctx, in.path)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return r.noteUnread(in, err.Error())
		}
		done, first := r.claim(id.sum)
		if !first {
			<-done
			if known, err := r.store.restamp(id.sum, in.path); err != nil || known == nil {
				return err
			}
			return r.note(func(t *Tally) { t.Twice++ })
		}
		changed, err := r.analyse(ctx, in, id, place)
		if !changed || err != nil {
			close(done)
			return err
		}
		r.disclaim(id.sum)
	}
	return r.noteUnread(in, "it changed while it was read: is it still being written?")
}

// claim says whether nobody else in this run has that bundle. Done is closed by whoever has it.
func (r *run) claim(sum string) (done chan struct{}, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if done, ok := r.claims[sum]; ok {
		return done, false
	}
	r.claims[sum] = make(chan struct{})
	return r.claims[sum], true
}

// disclaim gives up a bundle that is none any more.
func (r *run) disclaim(sum string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.claims[sum])
	delete(r.claims, sum)
}

// analyse analyses a bundle and notes its rows, unless there are some that are still good. Changed
// says that the bundle is another one by now, and that nothing was noted.
func (r *run) analyse(ctx context.Context, in input, id identity, place int) (changed bool, err error) {
	known, err := r.store.restamp(id.sum, in.path)
	if err != nil {
		return false, err
	}
	if known != nil && r.isGood(known) {
		return false, r.note(func(t *Tally) { t.Before++; t.countFailed(known) })
	}
	dir, err := r.store.workDir(place)
	if err != nil {
		return false, err
	}
	found, err := r.runWorker(ctx, in.path, dir)
	if err != nil || ctx.Err() != nil {
		return false, err
	}
	if id.hasChanged() {
		return true, nil
	}
	if err := r.store.commit(id.sum, in.path, dir, found); err != nil {
		return false, err
	}
	return false, r.note(func(t *Tally) { t.Analysed++; t.countFailed(found) })
}

// isGood says that rows need not be made again.
func (r *run) isGood(known []rows.Row) bool {
	return known[0].State != rows.Failed || !r.RetryFailed
}

// noteUnread notes the row of an input that could not be read and so has no sum.
func (r *run) noteUnread(in input, reason string) error {
	failed := []rows.Row{rows.NewFailed(reason)}
	if err := r.store.commitUnread(in.path, failed); err != nil {
		return err
	}
	return r.note(func(t *Tally) { t.Analysed++; t.countFailed(failed) })
}

func (t *Tally) countFailed(of []rows.Row) {
	if of[0].State == rows.Failed {
		t.Failed++
	}
}

// note counts a bundle that was tried, and tells how far the run is.
func (r *run) note(count func(*Tally)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	count(&r.tally)
	r.tally.Tried = r.tally.Analysed + r.tally.Before + r.tally.Twice
	if r.Notify == nil {
		return nil
	}
	p := Progress{All: r.all, Done: r.tally.Tried, Failed: r.tally.Failed}
	if n := r.tally.Analysed; n > 0 {
		p.Left = clock().Sub(r.began) / time.Duration(n) * time.Duration(r.all-r.tally.Tried)
	}
	r.Notify(p)
	return nil
}
