package collect

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// asker asks one thing after the other and writes a row for each: what was asked, whether it answered, after how long.
// The rows are the diagnosis: ContainerStatus of one container that does not answer while Version does.
type asker struct {
	api, endpoint string
	bound         time.Duration
	out           io.Writer
	silent        int // questions without an answer
	limit         int // how many of them there may be
}

// maxSilent is how many questions may stay without an answer: each may leave another waiter in the daemon.
const maxSilent = 6

// deafSilent is how many may, where even the simplest had none: nothing more can be told apart then.
const deafSilent = 3

// enough says that no more is asked.
func (a *asker) enough() bool { return a.silent >= a.limit }

// first asks what needs no lock.
func (a *asker) first(q question) bool {
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

// ask asks, and says whether there was an answer without an error. The question gets a deadline; what does not obey it is left.
func (a *asker) ask(q question) bool {
	row := snapshots.RPC{
		Format: snapshots.RPCFormat, API: a.api, Endpoint: a.endpoint, Method: q.method,
		Container: q.container, Sandbox: q.sandbox, Start: now(), Deadline: a.bound.Seconds(),
	}
	begun := clocks().Monotonic
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
	row.Seconds = clocks().Monotonic - begun
	row.Answered = !unanswered(got.err)
	row.Detail = got.detail
	if got.err != nil {
		row.Error = reason(got.err)
	}
	if !row.Answered {
		a.silent++
	}
	if text, err := json.Marshal(&row); err == nil {
		_, _ = a.out.Write(append(text, '\n')) // frames do not fail
	}
	return got.err == nil
}

// unanswered says that an error means silence.
func unanswered(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || grpcSilent(err)
}
