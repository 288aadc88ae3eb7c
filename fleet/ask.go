package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Answer is what DuckDB said to a question.
type Answer struct {
	Question
	Columns []string // empty where there are no rows
	Rows    [][]any  // as encoding/json decodes them, numbers as float64
}

// Bounds of what is read of an answer. The questions themselves end after some hundred rows.
const (
	maxAnswer = 64 << 20 // bytes
	maxSaid   = 4 << 10  // of what DuckDB complains of
)

// killedWait is how long the end of a killed program's output is waited for.
const killedWait = 5 * time.Second

// Ask has DuckDB, a program at that path, answer all questions about the rows in a directory, of
// the name that a.Rows has there. It writes nothing into the directory.
func Ask(ctx context.Context, program, dir string, a Asked) ([]Answer, error) {
	out, err := os.MkdirTemp("", "plegdiag-fleet-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(out)
	// Without the user's own .duckdbrc, and to the first error.
	cmd := exec.CommandContext(ctx, program, "-init", os.DevNull, "-batch", "-bail")
	cmd.Dir = dir // its own name is in no SQL
	cmd.Stdin = strings.NewReader(Script(a, out))
	var said bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &said, killedWait
	if err := cmd.Run(); err != nil {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("%s: %w: %s", program, err, firstOf(said.String())))
	}
	var all []Answer
	for _, q := range Questions() {
		answer, err := readAnswer(filepath.Join(out, q.Name+".json"))
		if err != nil {
			return nil, fmt.Errorf("%s did not answer %q: %w: %s", program, q.Title, err, firstOf(said.String()))
		}
		answer.Question = q
		all = append(all, answer)
	}
	return all, nil
}

// firstOf is the beginning of what a program said.
func firstOf(said string) string {
	return strings.ToValidUTF8(strings.TrimSpace(said[:min(len(said), maxSaid)]), "?")
}

// readAnswer reads a file of JSON objects, one a line, which all have the same keys.
func readAnswer(name string) (a Answer, err error) {
	file, err := os.Open(name)
	if err != nil {
		return a, err
	}
	defer file.Close()
	dec := json.NewDecoder(io.LimitReader(file, maxAnswer))
	for {
		keys, values, err := readObject(dec)
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return a, err
		}
		a.Columns = keys
		a.Rows = append(a.Rows, values)
	}
}

// readObject reads one JSON object, its keys in their order.
func readObject(dec *json.Decoder) (keys []string, values []any, err error) {
	if _, err := dec.Token(); err != nil {
		return nil, nil, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return nil, nil, err
		}
		name, _ := key.(string)
		keys, values = append(keys, name), append(values, value)
	}
	_, err = dec.Token()
	return keys, values, err
}
