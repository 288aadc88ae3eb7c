package batch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/report/rows"
)

// rowsFile is the file in which a worker leaves its rows, beside its reports.
const rowsFile = "rows.jsonl"

// Bounds of what a worker leaves, in bytes.
const (
	maxReport = 256 << 20 // a report of the largest bundles has some MiB
	maxRows   = 64 << 20
	maxStderr = 64 << 10
)

// pagePath is the page of HTML beside a JSON report.
func pagePath(report string) string { return strings.TrimSuffix(report, ".json") + ".html" }

// StatusMachine is the exit status of a worker that could not do its work for a reason that is not
// the bundle's, as a full disk.
const StatusMachine = 6

// MachineError is an error that is not the bundle's.
type MachineError struct{ err error }

func (e *MachineError) Error() string { return e.err.Error() }

// Unwrap is for [errors.Is].
func (e *MachineError) Unwrap() error { return e.err }

// maxNodes bounds the nodes of one bundle that get rows.
const maxNodes = 100

// Task is what a worker does besides reading its bundle.
type Task struct {
	Version string // of plegdiag
	Memory  int64  // bytes that it may take
	Dir     string // for the results
	Pages   bool   // make a page of HTML beside each report
}

// Work is what a worker does: it analyses the bundle that the options name and leaves a report of
// each of its nodes, and the rows, in the directory of the task. Its errors are of the bundle,
// or a [*MachineError].
func Work(ctx context.Context, o incident.Options, t Task) error {
	o.Context = t.Pages
	if err := Confine(t.Memory); err != nil {
		return &MachineError{err}
	}
	nodes, first, err := listNodes(ctx, o)
	if err != nil {
		return err
	}
	var all []rows.Row
	for i, node := range nodes {
		inc := first
		if i > 0 || inc == nil {
			o.Node = node
			if inc, err = incident.Load(ctx, o); inc == nil { // the other nodes keep their rows
				failed := rows.NewFailed(err.Error())
				failed.Node = rows.NewText(node)
				all = append(all, failed)
				continue
			}
		}
		made := rowsOf(inc)
		for k := range made {
			made[k].Report = rows.Text(fmt.Sprintf("report-%d.json", i+1))
		}
		look := report.Options{Version: t.Version, Full: true, Inputs: o.Paths}
		err := writeFile(filepath.Join(t.Dir, string(made[0].Report)), func(w io.Writer) error { return report.JSON(w, inc, look) })
		if err == nil && t.Pages {
			err = writeFile(pagePath(filepath.Join(t.Dir, string(made[0].Report))), func(w io.Writer) error { return report.HTML(w, inc, look) })
		}
		if err != nil {
			return err
		}
		all = append(all, made...)
	}
	return writeFile(filepath.Join(t.Dir, rowsFile), func(w io.Writer) error { return rows.Write(w, all) })
}

// listNodes are the nodes of a bundle, that with a stall first, and the incident of the first one;
// nil where none comes first. A bundle of one node has one without a name.
func listNodes(ctx context.Context, o incident.Options) (nodes []string, first *incident.Incident, err error) {
	inc, err := incident.Load(ctx, o)
	several, ok := errors.AsType[*incident.NodesError](err)
	switch {
	case ok:
		nodes = several.Nodes
	case inc == nil:
		return nil, nil, err
	default:
		nodes = slices.Concat([]string{inc.Node}, inc.LeftOut)
	}
	return nodes[:min(len(nodes), maxNodes)], inc, nil
}

// rowsPath are the rows of an incident. Where nothing could be read, they say why.
func rowsOf(inc *incident.Incident) []rows.Row {
	if !inc.Unread {
		return rows.Of(inc)
	}
	if len(inc.Files) == 1 && inc.Files[0].Format == "empty" {
		return []rows.Row{rows.NewFailed("it is empty")}
	}
	const reason = "no line of it could be read"
	if i := slices.IndexFunc(inc.Files, func(f *incident.File) bool { return f.Err != "" }); i >= 0 {
		return []rows.Row{rows.NewFailed(reason + ": " + inc.Files[i].Path + ": " + inc.Files[i].Err)}
	}
	return []rows.Row{rows.NewFailed(reason)}
}

// writeFile writes a file to the disk.
func writeFile(name string, write func(w io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return &MachineError{err}
	}
	out := bufio.NewWriter(file)
	err = errors.Join(write(out), out.Flush(), file.Sync(), file.Close())
	switch {
	case errors.Is(err, syscall.EFBIG):
		return fmt.Errorf("its report has more than %d MiB", maxReport>>20)
	case err != nil:
		return &MachineError{err}
	}
	return nil
}
