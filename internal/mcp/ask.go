package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plegdiag/plegdiag/internal/batch"
)

// maxPrinted bounds what a worker prints, in bytes.
const maxPrinted = 64 << 20

// maxAsking is how many questions may be open at the same time.
const maxAsking = 32

// question is a command of plegdiag about places.
type question struct {
	command string
	flags   []string // each "--name=value"
	places  []place  // the inputs, all below one directory
	last    []string // arguments behind the inputs
	lines   bool     // it prints a row a line: what comes before a bound is good
}

// statusUnknown is the exit status of an analysis that recognised nothing: its report is printed.
const statusUnknown = 4

// ask asks a worker, unless the answer is known. Its errors are for the client.
func (s *Server) ask(ctx context.Context, req *sdk.CallToolRequest, q *question) (answer, error) {
	key, size, err := q.key(ctx)
	if err != nil {
		return answer{}, err
	}
	if s.asking.Add(1) > maxAsking {
		s.asking.Add(-1)
		return answer{}, errors.New("too many questions at once; ask again when some are answered")
	}
	defer s.asking.Add(-1)
	unlock, err := s.locks.lock(ctx, key)
	if err != nil {
		return answer{}, err
	}
	defer unlock()
	if a, ok := s.answers.find(key); ok {
		return a, nil
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	a, err := s.askWorker(ctx, req, q, size)
	if err == nil {
		a.key = key
		s.answers.keep(a)
	}
	return a, err
}

// key is by what an answer is known.
func (q *question) key(ctx context.Context) (key string, size int64, err error) {
	parts := []string{q.command}
	for i := range q.places {
		stamp, bytes, err := q.places[i].stamp(ctx)
		if err != nil {
			return "", 0, err
		}
		size += bytes
		parts = append(parts, q.places[i].dir.name, q.places[i].rel, stamp)
	}
	parts = append(append(parts, q.flags...), q.last...)
	text, err := json.Marshal(parts)
	return string(text), size, err
}

// arguments are those of the worker.
func (q *question) arguments(analyses []string) []string {
	args := slices.Concat([]string{"--", q.command}, analyses, q.flags)
	if len(q.places) > 0 {
		args = append(args, "--") // no name is taken for a flag
	}
	for i := range q.places {
		args = append(args, q.places[i].argument())
	}
	return append(args, q.last...)
}

// askWorker runs a worker, and tells the client how far it is.
func (s *Server) askWorker(ctx context.Context, req *sdk.CallToolRequest, q *question, size int64) (answer, error) {
	held := s.dirs[0].held
	for i := range q.places {
		if i > 0 && q.places[i].dir.held != held {
			return answer{}, errors.New("both must be below the same directory")
		}
		held = q.places[i].dir.held
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return answer{}, err
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		tellProgress(ctx, req, ours, size)
	}()
	var analyses []string
	if judges[q.command] {
		analyses = slices.Concat(s.options.Reading, s.options.Rules)
	}
	printed := &printed{lines: q.lines}
	end, err := s.options.Worker.Run(ctx, batch.Job{
		Args: q.arguments(analyses), Files: []*os.File{held, theirs}, Stdout: printed,
	})
	theirs.Close()
	<-told
	ours.Close()
	switch {
	case err != nil:
		return answer{}, err
	case printed.full && q.lines:
		return answer{out: printed.wholeLines(), said: warnings(end.Stderr)}, nil
	case printed.full:
		return answer{}, fmt.Errorf("its answer has more than %d MiB; ask about a part of the bundle", maxPrinted>>20)
	case end.Failed != "" && (printed.kept.Len() == 0 || end.Status != 1 && end.Status != statusUnknown):
		return answer{}, &workerError{end.Failed, hints(end.Stderr)}
	}
	return answer{out: printed.kept.Bytes(), whole: true, said: warnings(end.Stderr)}, nil
}

// judges are the commands that take the rules of the user and how inputs are read.
var judges = map[string]bool{"analyze": true, "timeline": true, "explain": true, "compare": true}

// workerError is what a worker said of why it has no answer. It may name what is in the bundle.
type workerError struct{ reason, hint string }

func (e *workerError) Error() string {
	text := "plegdiag could not answer. Quoted, as it may hold words of the bundle: " + strconv.Quote(clip(e.reason, 500))
	if e.hint != "" {
		text += "; hint: " + strconv.Quote(clip(e.hint, 500))
	}
	return text
}

// printed keeps what a worker prints, up to a bound.
type printed struct {
	kept  bytes.Buffer
	full  bool
	lines bool
}

var errFull = errors.New("more than is kept")

// Write implements [io.Writer]. Its error ends the worker.
func (p *printed) Write(b []byte) (int, error) {
	if p.kept.Len()+len(b) > maxPrinted {
		p.full = true
		return 0, errFull
	}
	return p.kept.Write(b)
}

// wholeLines are the lines that were printed to their end.
func (p *printed) wholeLines() []byte {
	all := p.kept.Bytes()
	return all[:bytes.LastIndexByte(all, '\n')+1]
}

// tellProgress tells the client how many bytes of size were read, whenever that is a percent more.
func tellProgress(ctx context.Context, req *sdk.CallToolRequest, from io.Reader, size int64) {
	var token any
	if req != nil {
		token = req.Params.GetProgressToken()
	}
	told := int64(-1)
	for lines := bufio.NewScanner(from); lines.Scan(); {
		read, err := strconv.ParseInt(lines.Text(), 10, 64)
		read = min(read, size) // first bytes are read twice
		if token == nil || err != nil || read <= told || read-told < size/100 && read < size {
			continue
		}
		told = read
		// A client that has gone ends the question by its context.
		_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(read), Total: float64(size), Message: "bytes read",
		})
	}
	_, _ = io.Copy(io.Discard, from) // what is no number holds no worker up
}

// maxSaid bounds the warnings of one answer, in bytes.
const maxSaid = 1000

// warnings are what a worker said besides its answer.
func warnings(stderr []byte) string {
	return clip(strings.Join(listMessages(stderr, false), "\n"), maxSaid)
}

// hints are what a worker proposed.
func hints(stderr []byte) string { return strings.Join(listMessages(stderr, true), "\n") }

func listMessages(stderr []byte, hints bool) (said []string) {
	for line := range strings.Lines(string(stderr)) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "plegdiag: ")
		hint, isHint := strings.CutPrefix(text, "hint: ")
		if ok && isHint == hints {
			said = append(said, hint)
		}
	}
	return said
}

// askJSON asks for one document of JSON.
func askJSON[T any](ctx context.Context, s *Server, req *sdk.CallToolRequest, q *question) (*T, answer, error) {
	q.flags = append(q.flags, "--output=json")
	a, err := s.ask(ctx, req, q)
	if err != nil {
		return nil, a, err
	}
	doc, err := decode[T](a)
	return doc, a, err
}

// decode reads a document of JSON that a worker printed.
func decode[T any](a answer) (*T, error) {
	doc := new(T)
	if err := unmarshalMarked(a.out, doc); err != nil {
		return nil, fmt.Errorf("the worker's answer is no JSON: %w", err)
	}
	return doc, nil
}
