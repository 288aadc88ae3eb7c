//go:build linux

package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/plegdiag/plegdiag/internal/report/rows"
)

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
		running.Go(func() { r.tryInputs(ctx, place) })
	}
	running.Wait()
	r.tally.Stopped = r.tally.Tried < r.all && r.broken == nil
	r.tally.Rows, r.tally.Bundles, err = out.mergeRows()
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

// tryInputs takes bundles until there is none left. No other worker has the same slot.
func (r *run) tryInputs(ctx context.Context, slot int) {
	runtime.LockOSThread() // a worker dies with the thread that started it
	for {
		in, ok := r.takeInput(ctx)
		if !ok {
			return
		}
		if err := r.tryInput(ctx, in, slot); err != nil {
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
func (r *run) tryInput(ctx context.Context, in input, slot int) error {
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
			if known, err := r.store.relabelRows(id.sum, in.path); err != nil || known == nil {
				return err
			}
			return r.noteTried(func(t *Tally) { t.Twice++ })
		}
		changed, err := r.analyse(ctx, in, id, slot)
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
func (r *run) analyse(ctx context.Context, in input, id identity, slot int) (changed bool, err error) {
	known, err := r.store.relabelRows(id.sum, in.path)
	if err != nil {
		return false, err
	}
	if known != nil && r.isGood(known) {
		return false, r.noteTried(func(t *Tally) { t.Before++; t.countIfFailed(known) })
	}
	dir, err := r.store.workDir(slot)
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
	return false, r.noteTried(func(t *Tally) { t.Analysed++; t.countIfFailed(found) })
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
	return r.noteTried(func(t *Tally) { t.Analysed++; t.countIfFailed(failed) })
}

func (t *Tally) countIfFailed(found []rows.Row) {
	if found[0].State == rows.Failed {
		t.Failed++
	}
}

// noteTried counts a bundle that was tried, and tells how far the run is.
func (r *run) noteTried(count func(*Tally)) error {
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
