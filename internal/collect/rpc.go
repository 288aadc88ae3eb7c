//go:build linux

package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/plegdiag/plegdiag/internal/collect/cri"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// asker asks one question after the other and writes a row for each: what was asked, whether there
// was an answer, and after how long. The rows show, for example, that ContainerStatus of one
// container has no answer while Version has one.
type asker struct {
	api, endpoint string
	bound         time.Duration
	out           io.Writer
	silent        int // questions without an answer
	limit         int // how many of them there may be
}

// maxSilent is how many questions can stay without an answer: each can leave another waiter in the
// daemon.
const maxSilent = 6

// deafSilent is how many can when even the simplest had no answer: more questions would show
// nothing new.
const deafSilent = 3

// isDone says that no more questions are asked.
func (a *asker) isDone() bool { return a.silent >= a.limit }

// askFirst asks the first question, one that needs no lock.
func (a *asker) askFirst(q question) bool {
	ok := a.ask(q)
	if a.limit = maxSilent; a.silent > 0 {
		a.limit = deafSilent
	}
	return ok
}

// question is one row before it is asked.
type question struct {
	method, container, sandbox string
	ask                        func(ctx context.Context) (detail map[string]string, err error)
}

// ask asks a question and says whether there was an answer without an error. The question has a
// deadline; one that ignores it is left behind.
func (a *asker) ask(q question) bool {
	row := snapshots.RPC{
		Format: snapshots.RPCFormat, API: a.api, Endpoint: a.endpoint, Method: q.method,
		Container: q.container, Sandbox: q.sandbox, Start: now(), Deadline: a.bound.Seconds(),
	}
	begun := readClocks().Monotonic
	type answer struct {
		detail map[string]string
		err    error
	}
	answers := make(chan answer, 1)
	ctx, cancel := context.WithTimeout(context.Background(), a.bound)
	defer cancel()
	go func() {
		detail, err := q.ask(ctx)
		answers <- answer{detail, err}
	}()
	var got answer
	select {
	case got = <-answers:
	case <-time.After(a.bound + killGrace):
		got.err = context.DeadlineExceeded
	}
	row.Seconds = readClocks().Monotonic - begun
	row.Answered = !isSilence(got.err)
	row.Detail = got.detail
	if got.err != nil {
		row.Error = errorText(got.err)
	}
	if !row.Answered {
		a.silent++
	}
	if text, err := json.Marshal(&row); err == nil {
		_, _ = a.out.Write(append(text, '\n')) // frames do not fail
	}
	return got.err == nil
}

// askFor asks a question and returns the value of its answer; ok as ask.
func askFor[T any](a *asker, q question, get func(ctx context.Context) (T, map[string]string, error)) (value T, ok bool) {
	values := make(chan T, 1)
	q.ask = func(ctx context.Context) (map[string]string, error) {
		v, detail, err := get(ctx)
		values <- v
		return detail, err
	}
	if !a.ask(q) {
		return value, false
	}
	return <-values, true
}

// askEach calls ask with each id, until no more questions are asked. It says how many ids were left
// out; empty when none were.
func (a *asker) askEach(ids []string, ask func(id string)) (why string) {
	for n, id := range ids {
		if a.isDone() || n == maxAsked {
			return fmt.Sprintf("not all of %d were asked: %d calls had no answer", len(ids), a.silent)
		}
		ask(id)
	}
	return ""
}

// isSilence says that an error means that there was no answer.
func isSilence(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	if failed, ok := errors.AsType[*cri.Error](err); ok {
		return failed.IsSilence()
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}
