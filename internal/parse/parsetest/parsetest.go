// Package parsetest reads samples of all formats for the tests of package parse and of the packages
// below it, and checks the laws that hold for whatever is read: the account adds up, places are
// real, lines rise, quotes stand where they say.
package parsetest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/samples"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// testdata is the folder of the samples, in which all packages here share: seen from package parse,
// or from one below it.
func testdata(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	if filepath.Base(dir) != "parse" {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, "testdata")
}

// Sample reads a file of testdata; it may be compressed.
func Sample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testdata(t), name))
	require.NoError(t, err)
	if !strings.HasSuffix(name, ".gz") {
		return b
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	require.NoError(t, err)
	b, err = io.ReadAll(r)
	require.NoError(t, err)
	return b
}

// SampleNames are the names of all sample files, as "format/name.log" or "….log.gz".
func SampleNames(t testing.TB) (names []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(testdata(t)), ".", func(p string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(p, ".log") || strings.HasSuffix(p, ".log.gz") {
			names = append(names, p)
		}
		return err
	}))
	require.NotEmpty(t, names)
	return names
}

// Golden compares what was got with a file of testdata.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join(testdata(t), name)
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err, "accept with -update")
	require.Equal(t, string(want), got, "accept with -update")
}

// Format is the format of a name.
func Format(t testing.TB, name string) parse.Format {
	t.Helper()
	for _, f := range parse.Formats {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no format %s", name)
	return parse.Format{}
}

// Account is what came out of one file.
type Account struct {
	Stats         lines.Stats
	Used, Skipped int // lines
	Records       []event.Record
	Calls         []traces.Syscall
	Samples       []samples.Sample
	Data          []snapshots.Datum
	Skips         []*event.Skip
	Err           error
	Text          strings.Builder // one line per pair
}

// Read runs a format over data and checks the laws that hold for every input.
func Read(t testing.TB, f parse.Format, data []byte, want func([]byte) bool) *Account {
	t.Helper()
	return ReadInput(t, f, data, traces.Input{Input: lines.Input{Want: want}})
}

// ReadInput reads data as a file of the format f. What else is known of the file comes from in.
func ReadInput(t testing.TB, f parse.Format, data []byte, in traces.Input) *Account {
	t.Helper()
	a := &Account{}
	in.Path, in.R, in.Stats = "f", bytes.NewReader(data), &a.Stats
	switch read := f.Reader.(type) {
	case parse.Records:
		collect(t, a, read(in.Input), a.keepRecord)
	case parse.Syscalls:
		collect(t, a, read(in), func(s *traces.Syscall) {
			a.Calls = append(a.Calls, *s)
			a.Used += s.Lines
			printSyscall(&a.Text, s)
		})
	case parse.Samples:
		collect(t, a, read(in.Input), func(s samples.Sample) {
			a.Samples = append(a.Samples, s.Clone())
			a.Used += s.Lines
			printSample(&a.Text, &s)
		})
	case parse.Data:
		collect(t, a, read(in.Input), func(e snapshots.Datum) {
			a.Data = append(a.Data, e)
			if e.Log != nil {
				a.keepRecord(*e.Log)
				return
			}
			a.Used += e.Lines
			printDatum(&a.Text, &e)
		})
	}
	a.check(t, f, data)
	return a
}

// collect takes all of a sequence: what it holds, and its errors.
func collect[T any](t testing.TB, a *Account, all iter.Seq2[T, error], keep func(T)) {
	t.Helper()
	for one, err := range all {
		require.NoError(t, a.Err, "an error that is no Skip is the last pair")
		if skip, ok := errors.AsType[*event.Skip](err); ok {
			a.Skips = append(a.Skips, skip)
			a.Skipped += skip.Lines
			fmt.Fprintf(&a.Text, "skip %d %v\n", skip.Lines, skip)
		} else if a.Err = err; err != nil {
			fmt.Fprintf(&a.Text, "error %v\n", err)
		} else {
			keep(one)
		}
	}
}

func (a *Account) keepRecord(rec event.Record) {
	a.Records = append(a.Records, rec)
	a.Used += rec.Lines
	printRecord(&a.Text, &rec)
}

// check holds the laws: the account adds up, places are real, lines rise, quotes stand where they
// say.
func (a *Account) check(t testing.TB, f parse.Format, data []byte) {
	t.Helper()
	switch f.Reader.(type) {
	case parse.Dump, parse.Transcript, parse.Reference: // read elsewhere, or not at all
		return
	}
	lines := bytes.Split(data, []byte{'\n'})
	if last := len(lines) - 1; len(lines[last]) == 0 {
		lines = lines[:last]
	}
	if f.Entries {
		lines = make([][]byte, max(1, a.Stats.Lines))
	} else {
		require.Equal(t, len(lines), a.Stats.Lines, "lines")
	}
	require.Equal(t, a.Stats.Lines, a.Used+a.Stats.Blank+a.Skipped, "lines == used + blank + skipped: %s", f.Name)
	stands := func(pos event.Pos, raw string) {
		require.True(t, pos.Line >= 1 && pos.Line <= len(lines), "%v of %d lines", pos, len(lines))
		require.True(t, f.Entries || strings.Contains(string(lines[pos.Line-1]), raw), "%q stands in %v", raw, pos)
		require.LessOrEqual(t, len(raw), event.MaxRaw)
	}
	last, late := 0, 0
	for i := range a.Records {
		rec := &a.Records[i]
		stands(rec.Pos, rec.Raw)
		if f.Sorted || rec.Pos.Message > 0 { // what stands before it counts the line
			require.GreaterOrEqual(t, rec.Lines, 0)
		} else {
			require.GreaterOrEqual(t, rec.Lines, 1)
		}
		if len(rec.Pieces) == 0 && rec.Lines == 1 && !f.Sorted {
			// A held message may come after its successors; one that nobody wants only where the
			// file ends inside of it, once for each stream.
			if rec.Pos.Line <= last && !rec.Wanted {
				late++
			}
			last = max(last, rec.Pos.Line)
		}
		off := 0
		for i, p := range rec.Pieces {
			require.True(t, p.Off >= off && p.Off <= len(rec.Text), "offsets rise")
			require.True(t, i > 0 || p == event.Piece{Pos: rec.Pos}, "the first piece is the record's place")
			off = p.Off
			if p.Raw != "" {
				stands(p.Pos, p.Raw)
			}
		}
	}
	require.LessOrEqual(t, late, 2, "lines rise")
	for i := range a.Calls {
		s := &a.Calls[i]
		stands(s.Pos, s.Raw)
		if s.EndPos != (event.Pos{}) {
			stands(s.EndPos, s.EndRaw)
			require.Greater(t, s.EndPos.Line, s.Pos.Line)
		}
	}
	for i := range a.Samples {
		s := &a.Samples[i]
		stands(s.Pos, string(s.Raw))
		require.Less(t, len(s.State), 2)
		if s.Frames != nil {
			require.Len(t, s.Frames, len(strings.Fields(s.Stack)), "a line for each function")
		}
		for _, q := range slices.Concat(s.Frames, s.More) {
			stands(q.Pos, q.Text)
		}
	}
	for i := range a.Data {
		stands(a.Data[i].Pos, a.Data[i].Raw)
	}
	for _, skip := range a.Skips {
		require.True(t, (skip.Pos.Line >= 1 || f.Entries) && skip.Pos.Line <= len(lines))
		require.Less(t, len(skip.Reason), 400)
	}
}

// Time is a time as goldens have it: what it lacks, and how precise it is.
func Time(t event.Time) string {
	if !t.Known {
		return "-"
	}
	var s strings.Builder
	s.WriteString(t.T.UTC().Format("2006-01-02T15:04:05.999999999Z"))
	for _, l := range []struct {
		bit  event.Lacks
		name string
	}{{event.LacksZone, "zone"}, {event.LacksYear, "year"}, {event.LacksDate, "date"}, {event.LacksBoot, "boot"}} {
		if t.Lacks&l.bit != 0 {
			s.WriteString("-" + l.name)
		}
	}
	if t.Prec != 0 {
		s.WriteString("±" + t.Prec.String())
	}
	return s.String()
}

// printRecord: line+lines time (carrier) unit[pid]@host level "text" key="value" pieces.
func printRecord(w io.Writer, r *event.Record) {
	fmt.Fprintf(w, "%d+%d %s", r.Pos.Line, r.Lines, Time(r.Time))
	if r.Outer.Known {
		fmt.Fprintf(w, " (%s)", Time(r.Outer))
	}
	fmt.Fprintf(w, " %s[%d]@%s %v", r.Unit, r.PID, r.Host, r.Level)
	if !r.Wanted {
		fmt.Fprint(w, " unwanted")
	}
	fmt.Fprintf(w, " %.100q", r.Text)
	for _, f := range r.Fields {
		fmt.Fprintf(w, " %s=%.60q", f.Key, f.Value)
	}
	for _, p := range r.Pieces {
		fmt.Fprintf(w, " %d@%d", p.Off, p.Pos.Line)
	}
	fmt.Fprintln(w)
}

// printSyscall: line-end+lines pid start name(args) = result errno duration marks.
func printSyscall(w io.Writer, s *traces.Syscall) {
	fmt.Fprintf(w, "%d-%d+%d %d %s", s.Pos.Line, s.EndPos.Line, s.Lines, s.PID, Time(s.Start))
	if s.Name == "" {
		fmt.Fprintf(w, " note %.60q", s.Raw)
		if c := s.Count; c != nil {
			fmt.Fprintf(w, " table %d%s: %s %d errors %d %v min %v max %v wall %v max %v", c.Table, c.Title, c.Name, c.Calls, c.Errors, c.Total, c.Min, c.Max, c.Wall, c.WallMax)
		}
		fmt.Fprintln(w)
		return
	}
	fmt.Fprintf(w, " %s(%.100s) = %s %s", s.Name, s.Args, s.Result, s.Errno)
	if s.HasDuration {
		fmt.Fprintf(w, " %v", s.Duration)
	}
	for _, m := range []struct {
		set  bool
		name string
	}{{s.Unfinished, "unfinished"}, {s.AtLeast, "at least"}, {s.Injected, "injected"}, {s.Delayed, "delayed"}} {
		if m.set {
			fmt.Fprintf(w, " %s", m.name)
		}
	}
	fmt.Fprintln(w)
}

// printSample: line time pid/tid state comm exe syscall wchan stack marks.
func printSample(w io.Writer, s *samples.Sample) {
	switch {
	case s.Legend != samples.NoLegend:
		fmt.Fprintf(w, "%d legend %x%d %.80q\n", s.Pos.Line, s.StackID, s.CgroupID, s.Stack+s.Cgroup)
		return
	case s.Disk != nil:
		fmt.Fprintf(w, "%d disk %s %+v\n", s.Pos.Line, Time(s.Time), *s.Disk)
		return
	case s.Walk != samples.NoWalk:
		fmt.Fprintf(w, "%d walk %d %s\n", s.Pos.Line, s.Walk, Time(s.Time))
		return
	case s.TID == 0 && !s.Part && s.Count == 0:
		fmt.Fprintf(w, "%d note %.60q\n", s.Pos.Line, s.Raw)
		return
	}
	fmt.Fprintf(w, "%d %s %d/%d %s %q exe %q in %q at %q stack %.60q target %.60q", s.Pos.Line, Time(s.Time), s.PID, s.TID, s.State, s.Comm, s.Exe, s.Syscall, s.WChan, s.Stack, s.Target)
	if s.HasAge {
		fmt.Fprintf(w, " age %v", s.Age)
	}
	if s.HasNumber {
		fmt.Fprintf(w, " number %d(%s) on %q", s.Number, s.Args, s.Machine)
	}
	if s.StackID != 0 || s.CgroupID != 0 || s.Cgroup != "" {
		fmt.Fprintf(w, " stack %x cgroup %d %q", s.StackID, s.CgroupID, s.Cgroup)
	}
	if s.Part {
		fmt.Fprintf(w, " part of %q +%d", s.Group, s.Lines)
	}
	if s.Count != 0 {
		fmt.Fprintf(w, " count %d of %d", s.Count, s.Scans)
	}
	fmt.Fprintf(w, " seq %d kernel %v ended %v\n", s.Seq, s.Kernel, s.Ended)
}

// printDatum: line+lines doc path = value fields, or the text of a line that is no datum.
func printDatum(w io.Writer, e *snapshots.Datum) {
	fmt.Fprintf(w, "%d+%d %d", e.Pos.Line, e.Lines, e.Doc)
	for _, name := range e.Path {
		fmt.Fprintf(w, " %.80q", name)
	}
	if e.Value != "" {
		fmt.Fprintf(w, " = %.100q", e.Value)
	}
	for _, f := range e.Fields {
		fmt.Fprintf(w, " %s=%.100q", f.Key, f.Value)
	}
	if e.Text != "" {
		fmt.Fprintf(w, " text %.100q", e.Text)
	}
	fmt.Fprintln(w)
}

// Repeated yields the same bytes n times and then fails with err.
type Repeated struct {
	Text []byte
	N    int
	Err  error

	off int
}

func (r *Repeated) Read(p []byte) (int, error) {
	if r.N == 0 {
		return 0, r.Err
	}
	n := copy(p, r.Text[r.off:])
	if r.off += n; r.off == len(r.Text) {
		r.off = 0
		r.N--
	}
	return n, nil
}

// Literals are of the kind and number that observers look for.
var Literals = func() (out []string) {
	for verb := range strings.FieldsSeq("UpdateContainerResources ListContainers RunPodSandbox StopPodSandbox RemoveContainer ContainerStatus PodSandboxStatus ExecSync") {
		for what := range strings.FieldsSeq("failed returned started-at cost timeout deadline") {
			out = append(out, verb+" "+what)
		}
	}
	return append(out, "PLEG is not healthy", "goroutine stack dump", "blocked for more than", "context deadline exceeded",
		"umount2", "SyncLoop", "TaskExit", "shim disconnected", "NotReady", "systemd", "Suppressed ", "recvfrom")
}()

// Hot are lines that make up a bundle, one format each, with a Want that rejects them.
var Hot = map[string]string{
	"journal-short": `Nov 20 18:25:12 node-1 containerd[43]: time="2026-11-20T18:25:12.300192142Z" level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:debug-for-cntr-99112,Uid:uid-debug-for-cntr-99112,Namespace:default,Attempt:0,}"` + "\n",
	"klog":          `I1108 09:30:11.885000    2917 kubelet.go:2406] "SyncLoop (PLEG): event for pod" pod="kube-system/coredns-1" event={"ID":"4b1a","Type":"ContainerDied","Data":"40585f73"}` + "\n",
	"logrus":        `time="2026-11-20T18:25:12.300192142Z" level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:debug-for-cntr-99112,Uid:uid-debug-for-cntr-99112,Namespace:default,Attempt:0,}"` + "\n",
	"journal-json":  `{"__CURSOR":"s=12a989fbf0f4457f977dcfb7dfb7087e;i=25e;b=e04a33f80c3747cfae76afbd59dd1892;m=446ad212;t=660b95d63c9b4;x=f1d53d7cf1521f2d","_SYSTEMD_SLICE":"system.slice","SYSLOG_IDENTIFIER":"containerd","_HOSTNAME":"node-1","PRIORITY":"6","__REALTIME_TIMESTAMP":"1795199112300980","_PID":"43","MESSAGE":"time=\"2026-11-20T18:25:12.300192142Z\" level=info msg=\"RunPodSandbox for &PodSandboxMetadata{Name:debug-for-cntr-99112,Uid:uid-debug-for-cntr-99112,Namespace:default,Attempt:0,}\""}` + "\n",
	"journal-export": "__CURSOR=s=12a989fbf0f4457f977dcfb7dfb7087e;i=25e;b=e04a33f80c3747cfae76afbd59dd1892\n__REALTIME_TIMESTAMP=1795199112300980\n_HOSTNAME=node-1\nSYSLOG_IDENTIFIER=containerd\n_PID=43\n" +
		`MESSAGE=time="2026-11-20T18:25:12.300192142Z" level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:debug-for-cntr-99112,Uid:uid-debug-for-cntr-99112,Namespace:default,Attempt:0,}"` + "\n\n",
	"text":   "a line without any header, as in the middle of a long message of some program or other\n",
	"strace": `9100  18:25:36.238768 openat(AT_FDCWD</>, "/usr/lib/x86_64-linux-gnu/libm.so.6", O_RDONLY|O_CLOEXEC) = 3</usr/lib/x86_64-linux-gnu/libm.so.6> <0.000005>` + "\n",
}

// Drain reads everything and keeps nothing.
func Drain(t testing.TB, f parse.Format, in lines.Input) {
	if read, log := f.Reader.(parse.Records); log {
		drainSeq(t, read(in))
	} else {
		drainSeq(t, f.Reader.(parse.Syscalls)(traces.Input{Input: in}))
	}
}

func drainSeq[T any](t testing.TB, seq iter.Seq2[T, error]) {
	for _, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// IsSkip says that an error concerns a part of a file, and its sequence goes on.
func IsSkip(err error) bool {
	_, ok := errors.AsType[*event.Skip](err)
	return ok
}
