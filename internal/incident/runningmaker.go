package incident

import (
	"sync"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// runningMaker runs an eventMaker in a goroutine of its own, which begins with the first full
// batch: most files of a node hold few lines that matter, and some bundles hold 50 000 files.
type runningMaker struct {
	newMaker func() *eventMaker
	maker    *eventMaker // nil while no line matters
	batch    []line
	full     chan []line
	free     chan []line
	done     sync.WaitGroup
}

// batchSize is how many lines are passed on at once: one at a time, passing them on would cost more
// than the work.
const batchSize = 128

// addRecord passes a record on; its strings belong to the maker from then on.
func (r *runningMaker) addRecord(rec *event.Record, source *timeline.SourceBuilder) {
	if r.maker == nil {
		r.maker = r.newMaker()
	}
	r.batch = append(r.batch, line{*rec, source})
	if len(r.batch) < batchSize {
		return
	}
	if r.full == nil {
		r.startGoroutine()
	}
	r.full <- r.batch
	r.batch = <-r.free
}

func (r *runningMaker) startGoroutine() {
	r.full, r.free = make(chan []line, 2), make(chan []line, 3)
	r.done.Go(func() {
		for batch := range r.full {
			r.makeEvents(batch)
			r.free <- batch[:0]
		}
	})
	for range cap(r.free) - 1 {
		r.free <- make([]line, 0, batchSize)
	}
}

// makeRemaining makes the events of the lines that are left and returns when all are made.
func (r *runningMaker) makeRemaining() {
	if r.full != nil {
		close(r.full)
		r.done.Wait()
	}
	r.makeEvents(r.batch)
}

func (r *runningMaker) makeEvents(batch []line) {
	for i := range batch {
		r.maker.makeEvents(&batch[i])
	}
	clear(batch)
}
