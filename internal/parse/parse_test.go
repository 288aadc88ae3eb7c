package parse

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
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample reads a file of testdata; it may be compressed.
func sample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
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

// samples are the names of all sample files, as "format/name.log" or "….log.gz".
func samples(t testing.TB) (names []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS("testdata"), ".", func(p string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(p, ".log") || strings.HasSuffix(p, ".log.gz") {
			names = append(names, p)
		}
		return err
	}))
	require.NotEmpty(t, names)
	return names
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(got), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err, "accept with -update")
	require.Equal(t, string(want), got, "accept with -update")
}

func format(t testing.TB, name string) Format {
	t.Helper()
	for _, f := range Formats {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no format %s", name)
	return Format{}
}

// account is what came out of one file.
type account struct {
	stats         Stats
	used, skipped int
	records       []event.Record
	syscalls      []Syscall
	samples       []Sample
	entries       []Datum
	skips         []*event.Skip
	err           error
	text          strings.Builder // one line per pair
}

// read runs a format over data and checks the laws that hold for every input.
func read(t testing.TB, f Format, data []byte, want func([]byte) bool) *account {
	t.Helper()
	return readInput(t, f, data, Input{Want: want})
}

// readInput reads data as in says otherwise.
func readInput(t testing.TB, f Format, data []byte, in Input) *account {
	t.Helper()
	a := &account{}
	in.Path, in.R, in.Stats = "f", bytes.NewReader(data), &a.stats
	fail := func(err error) bool {
		require.NoError(t, a.err, "an error that is no Skip is the last pair")
		if skip, ok := errors.AsType[*event.Skip](err); ok {
			a.skips = append(a.skips, skip)
			a.skipped += skip.Lines
			fmt.Fprintf(&a.text, "skip %d %v\n", skip.Lines, skip)
			return true
		}
		if err != nil {
			a.err = err
			fmt.Fprintf(&a.text, "error %v\n", err)
		}
		return err != nil
	}
	if f.Records != nil {
		for rec, err := range f.Records(in) {
			if fail(err) {
				continue
			}
			a.records = append(a.records, rec)
			a.used += rec.Lines
			printRecord(&a.text, &rec)
		}
	}
	if f.Syscalls != nil {
		for s, err := range f.Syscalls(in) {
			if fail(err) {
				continue
			}
			a.syscalls = append(a.syscalls, *s)
			a.used += s.Lines
			printSyscall(&a.text, s)
		}
	}
	if f.Samples != nil {
		for s, err := range f.Samples(in) {
			if fail(err) {
				continue
			}
			a.samples = append(a.samples, s)
			a.used += s.Lines
			printSample(&a.text, &s)
		}
	}
	if f.Data != nil {
		for e, err := range f.Data(in) {
			if fail(err) {
				continue
			}
			a.entries = append(a.entries, e)
			a.used += e.Lines
			if e.Log != nil {
				a.records = append(a.records, *e.Log)
				printRecord(&a.text, e.Log)
				continue
			}
			printDatum(&a.text, &e)
		}
	}
	a.check(t, f, data)
	return a
}

// check holds the laws: the account adds up, places are real, lines rise, quotes stand where they say.
func (a *account) check(t testing.TB, f Format, data []byte) {
	t.Helper()
	if f.Dump {
		return
	}
	lines := bytes.Split(data, []byte{'\n'})
	if last := len(lines) - 1; len(lines[last]) == 0 {
		lines = lines[:last]
	}
	if f.Entries {
		lines = make([][]byte, max(1, a.stats.Lines))
	} else {
		require.Equal(t, len(lines), a.stats.Lines, "lines")
	}
	require.Equal(t, a.stats.Lines, a.used+a.stats.Blank+a.skipped, "lines == used + blank + skipped: %s", f.Name)
	stands := func(pos event.Pos, raw string) {
		require.True(t, pos.Line >= 1 && pos.Line <= len(lines), "%v of %d lines", pos, len(lines))
		require.True(t, f.Entries || strings.Contains(string(lines[pos.Line-1]), raw), "%q stands in %v", raw, pos)
		require.LessOrEqual(t, len(raw), event.MaxRaw)
	}
	last, late := 0, 0
	for i := range a.records {
		rec := &a.records[i]
		stands(rec.Pos, rec.Raw)
		require.GreaterOrEqual(t, rec.Lines, 1)
		if len(rec.Pieces) == 0 && rec.Lines == 1 {
			// A held message may come after its successors; one that nobody wants only where the file ends inside of it, once for each stream.
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
		}
	}
	require.LessOrEqual(t, late, 2, "lines rise")
	for i := range a.syscalls {
		s := &a.syscalls[i]
		stands(s.Pos, s.Raw)
		if s.EndPos != (event.Pos{}) {
			stands(s.EndPos, s.EndRaw)
			require.Greater(t, s.EndPos.Line, s.Pos.Line)
		}
	}
	for i := range a.samples {
		s := &a.samples[i]
		stands(s.Pos, s.Raw)
		require.Less(t, len(s.State), 2)
		if s.Frames != nil {
			require.Len(t, s.Frames, len(strings.Fields(s.Stack)), "a line for each function")
		}
		for _, q := range slices.Concat(s.Frames, s.More) {
			stands(q.Pos, q.Text)
		}
	}
	for i := range a.entries {
		stands(a.entries[i].Pos, a.entries[i].Raw)
	}
	for _, skip := range a.skips {
		require.True(t, (skip.Pos.Line >= 1 || f.Entries) && skip.Pos.Line <= len(lines))
		require.Less(t, len(skip.Reason), 400)
	}
}

func stamp(t event.Time) string {
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
	fmt.Fprintf(w, "%d+%d %s", r.Pos.Line, r.Lines, stamp(r.Time))
	if r.Outer.Known {
		fmt.Fprintf(w, " (%s)", stamp(r.Outer))
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
func printSyscall(w io.Writer, s *Syscall) {
	fmt.Fprintf(w, "%d-%d+%d %d %s", s.Pos.Line, s.EndPos.Line, s.Lines, s.PID, stamp(s.Start))
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
func printSample(w io.Writer, s *Sample) {
	switch {
	case s.Legend != NoLegend:
		fmt.Fprintf(w, "%d legend %x%d %.80q\n", s.Pos.Line, s.StackID, s.CgroupID, s.Stack+s.Cgroup)
		return
	case s.Disk != nil:
		fmt.Fprintf(w, "%d disk %s %+v\n", s.Pos.Line, stamp(s.Time), *s.Disk)
		return
	case s.Walk != NoWalk:
		fmt.Fprintf(w, "%d walk %d %s\n", s.Pos.Line, s.Walk, stamp(s.Time))
		return
	case s.TID == 0 && !s.Part && s.Count == 0:
		fmt.Fprintf(w, "%d note %.60q\n", s.Pos.Line, s.Raw)
		return
	}
	fmt.Fprintf(w, "%d %s %d/%d %s %q exe %q in %q at %q stack %.60q target %.60q", s.Pos.Line, stamp(s.Time), s.PID, s.TID, s.State, s.Comm, s.Exe, s.Syscall, s.WChan, s.Stack, s.Target)
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
func printDatum(w io.Writer, e *Datum) {
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

func TestGolden(t *testing.T) {
	for _, name := range samples(t) {
		f := format(t, path.Dir(name))
		if f.Dump {
			continue
		}
		t.Run(name, func(t *testing.T) {
			a := read(t, f, sample(t, name), nil)
			golden(t, strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".log")+".golden", a.text.String())
		})
	}
}

// TestSniff holds every sample against every format: a format that steals another's files shows as a diff.
func TestSniff(t *testing.T) {
	var out strings.Builder
	for _, name := range samples(t) {
		head := sample(t, name)
		head = head[:min(len(head), headSize)]
		f, ok := Detect(head, name)
		require.True(t, ok, name)
		require.Equal(t, path.Dir(name), f.Name, name)
		fmt.Fprintf(&out, "%s:", name)
		for _, g := range Formats {
			if score := g.Sniff(head); score > 0 {
				fmt.Fprintf(&out, " %s=%.2f", g.Name, score)
			}
		}
		fmt.Fprintln(&out)
	}
	golden(t, "sniff.golden", out.String())
}

func TestDetect(t *testing.T) {
	noise := make([]byte, 4096)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	for name, tt := range map[string]struct {
		head string
		want string
	}{
		"empty":        {"", ""},
		"noise":        {string(noise), ""},
		"elf":          {"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00>\x00\x01\x00\x00\x00", ""},
		"blank":        {"\n\n", "text"},
		"cut line":     {"Nov 20 18:25:12 node-1 containerd[43]: time=\"2026-11-20T18:2", "journal-short"},
		"no entries":   {"-- No entries --\n", "journal-short"},
		"separator":    {"\x1e\n", ""},
		"toml":         {"version = 2\n[plugins]\n", "toml"},
		"shell":        {"PATH=/bin\nHOME=/root\n", "text"},
		"strace table": {"% time     seconds  usecs/call     calls    errors syscall\n------ -----------\n", "strace"},
		"go code":      {"package main\n\nfunc main() {\n\tprintln(1)\n}\n", "text"},
		"c call":       {"close(3);\nx = f(1);\n", "text"},
		"cpu profile":  {"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04\x12\x05\x00\x00\x00\x00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, ok := Detect([]byte(tt.head), "x.log")
			require.Equal(t, tt.want != "", ok)
			require.Equal(t, tt.want, f.Name)
		})
	}
}

// TestDetectByName: a bare number says nothing, the name of its file does.
func TestDetectByName(t *testing.T) {
	for _, tt := range []struct{ file, head, want string }{
		{"proc/sys/kernel/pid_max", "32768\n", "values"},
		{"sys/fs/cgroup/freezer/kubepods/podX/freezer.state", "FROZEN\n", "values"},
		{"sys/fs/cgroup/kubepods.slice/cgroup.events", "populated 1\nfrozen 0\n", "values"},
		{"proc/loadavg", "2.48 1.72 0.79 1/92 17216\n", "values"},
		{"pid_max.d/notes", "32768\n", "text"},
		{"notes", "FROZEN\n", "text"},
		{"memory", "32768\n", "text"},
	} {
		f, ok := Detect([]byte(tt.head), tt.file)
		require.True(t, ok)
		require.Equal(t, tt.want, f.Name, tt.file)
	}
}

// TestJoinedDump puts the dump that journald cut into four entries together again:
// it is the file that containerd wrote of the same dump, byte for byte.
func TestJoinedDump(t *testing.T) {
	truth := strings.TrimRight(string(sample(t, "goroutines/umount2.log.gz")), "\n")
	for _, name := range []string{"journal-short/umount2_all.log.gz", "journal-short/umount2_precise.log.gz", "journal-export/umount2.log.gz"} {
		t.Run(name, func(t *testing.T) {
			a := read(t, format(t, path.Dir(name)), sample(t, name), nil)
			var dump *event.Record
			for i := range a.records {
				if strings.Contains(a.records[i].Text, "=== BEGIN goroutine stack dump ===") {
					require.Nil(t, dump)
					dump = &a.records[i]
				}
			}
			require.NotNil(t, dump)
			require.Len(t, dump.Pieces, 4)
			got := strings.TrimPrefix(dump.Text, "=== BEGIN goroutine stack dump ===\n")
			got = strings.TrimSuffix(got, "\n=== END goroutine stack dump ===")
			require.Equal(t, truth, strings.TrimRight(got, "\n"))
			require.Equal(t, "containerd", dump.Unit)
			require.Equal(t, event.Info, dump.Level)
		})
	}
	// JSON has lost it, and says so.
	a := read(t, format(t, "journal-json"), sample(t, "journal-json/umount2.log.gz"), nil)
	require.Len(t, a.skips, 12)
	require.ErrorContains(t, a.skips[0], "collect it again with journalctl -o export")
}

// TestJoinCuts cuts a message at every place, also between a backslash and its letter, with other writers in between.
func TestJoinCuts(t *testing.T) {
	const msg = `time="2026-11-20T18:25:56Z" level=info msg="=== BEGIN\n\tgoroutine \"1\" \\ \u4e2d [running]:\nmain.main()\n=== END"`
	const text = "=== BEGIN\n\tgoroutine \"1\" \\ 中 [running]:\nmain.main()\n=== END"
	for cut := strings.Index(msg, "BEGIN"); cut < len(msg); cut++ {
		log := "Nov 20 18:25:56 n containerd[43]: " + msg[:cut] + "\n" +
			"Nov 20 18:25:56 n containerd[44]: " + `time="2026-11-20T18:25:56Z" level=info msg=other` + "\n" +
			"Nov 20 18:25:56 n systemd[1]: other\n" +
			"Nov 20 18:25:56 n containerd[43]: " + msg[cut:] + "\n"
		a := read(t, format(t, "journal-short"), []byte(log), nil)
		require.Len(t, a.records, 3)
		require.Equal(t, "other", a.records[0].Text)
		require.Equal(t, text, a.records[2].Text)
		require.Equal(t, 2, a.records[2].Lines)
		require.Equal(t, 4, a.records[2].Pieces[1].Pos.Line)
	}
}

func TestJoinIsBounded(t *testing.T) {
	piece := "Nov 20 18:25:56 n x[1]: " + strings.Repeat("a", 1<<20) + "\n"
	log := io.MultiReader(
		strings.NewReader("Nov 20 18:25:56 n x[1]: time=\"2026-11-20T18:25:56Z\" level=info msg=\"open\n"),
		strings.NewReader(strings.Repeat(piece, 70)),
	)
	joined, total := 0, 0
	for rec, err := range logRecords(Input{R: log}) {
		if err == nil {
			joined = max(joined, rec.Lines)
			total += rec.Lines
			require.LessOrEqual(t, len(rec.Text), maxHeld)
		}
	}
	require.Equal(t, 71, total)
	require.Greater(t, joined, 60)
}

// TestUnwanted: the time of a line is known without its text.
func TestUnwanted(t *testing.T) {
	for _, name := range samples(t) {
		f := format(t, path.Dir(name))
		data := sample(t, name)
		all := read(t, f, data, nil)
		none := read(t, f, data, func([]byte) bool { return false })
		require.Equal(t, all.stats, none.stats)
		if len(all.records) == len(none.records) {
			for i := range none.records {
				require.Equal(t, all.records[i].Time, none.records[i].Time, "%s:%d", name, all.records[i].Pos.Line)
				require.Equal(t, all.records[i].Unit, none.records[i].Unit)
				require.Equal(t, all.records[i].Level, none.records[i].Level)
			}
		}
		require.Len(t, none.syscalls, len(all.syscalls))
		for i := range none.syscalls {
			require.Equal(t, all.syscalls[i].Name, none.syscalls[i].Name)
			require.Equal(t, all.syscalls[i].Errno, none.syscalls[i].Errno)
			require.Equal(t, all.syscalls[i].Duration, none.syscalls[i].Duration)
		}
	}
}

// repeated yields the same bytes n times and then fails with err.
type repeated struct {
	text []byte
	n    int
	off  int
	err  error
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, r.err
	}
	n := copy(p, r.text[r.off:])
	if r.off += n; r.off == len(r.text) {
		r.off = 0
		r.n--
	}
	return n, nil
}

func TestLongLine(t *testing.T) {
	const size = 100 << 20
	for _, f := range Formats {
		if f.Dump || f.Entries {
			continue
		}
		long := &repeated{text: bytes.Repeat([]byte("x"), 1<<20), n: size >> 20, err: io.EOF}
		r := io.MultiReader(strings.NewReader("first\n"), long, strings.NewReader("\nlast\n"))
		var stats Stats
		cut := false
		used := 0
		count := func(lines int, err error) {
			skip, ok := errors.AsType[*event.Skip](err)
			require.True(t, ok || err == nil)
			if ok {
				cut = cut || strings.Contains(skip.Reason, "cut at 16777216")
				lines = skip.Lines
			}
			used += lines
		}
		in := Input{Path: "f", R: r, Stats: &stats}
		if f.Records != nil {
			for rec, err := range f.Records(in) {
				require.LessOrEqual(t, len(rec.Text), MaxLine)
				count(rec.Lines, err)
			}
		} else if f.Samples != nil {
			for s, err := range f.Samples(in) {
				count(s.Lines, err)
			}
		} else if f.Data != nil {
			for e, err := range f.Data(in) {
				count(e.Lines, err)
			}
		} else {
			for s, err := range f.Syscalls(in) {
				count(s.Lines, err)
			}
		}
		require.Equal(t, 3, stats.Lines, f.Name)
		require.Equal(t, 3, used, f.Name)
		require.True(t, cut, f.Name)
	}
}

func TestReadErrorIsLast(t *testing.T) {
	for _, f := range Formats {
		if f.Records == nil {
			continue
		}
		r := &repeated{text: []byte("Nov 20 18:25:56 n x[1]: text\n"), n: 3, err: io.ErrUnexpectedEOF}
		var errs []error
		for _, err := range f.Records(Input{R: r}) {
			if _, ok := errors.AsType[*event.Skip](err); err != nil && !ok {
				errs = append(errs, err)
			}
		}
		require.Equal(t, []error{io.ErrUnexpectedEOF}, errs, f.Name)
	}
}

func TestEarlyStop(t *testing.T) {
	for _, name := range samples(t) {
		f := format(t, path.Dir(name))
		data := sample(t, name)
		for n := range 12 {
			seen := 0
			if f.Records != nil {
				for _, err := range f.Records(Input{R: bytes.NewReader(data)}) {
					if seen++; seen > n || err != nil && !isSkip(err) {
						break
					}
				}
			}
			if f.Syscalls != nil {
				for _, err := range f.Syscalls(Input{R: bytes.NewReader(data)}) {
					if seen++; seen > n || err != nil && !isSkip(err) {
						break
					}
				}
			}
			if f.Data != nil {
				for _, err := range f.Data(Input{R: bytes.NewReader(data)}) {
					if seen++; seen > n || err != nil && !isSkip(err) {
						break
					}
				}
			}
			if f.Samples != nil {
				for _, err := range f.Samples(Input{R: bytes.NewReader(data)}) {
					if seen++; seen > n || err != nil && !isSkip(err) {
						break
					}
				}
			}
			require.LessOrEqual(t, seen, n+1)
		}
	}
}

func TestLines(t *testing.T) {
	long := strings.Repeat("y", 3*readAhead)
	var got []string
	for line, err := range Lines(strings.NewReader("a\n\nb\r\n" + long + "\nend")) {
		require.NoError(t, err)
		require.Equal(t, len(got)+1, line.N)
		got = append(got, string(line.Bytes))
	}
	require.Equal(t, []string{"a", "", "b\r", long, "end"}, got)
}

// hot are lines that make up a bundle, one format each, with a Want that rejects them.
var hot = map[string]string{
	"journal-short": `Nov 20 18:25:12 node-1 containerd[43]: time="2026-11-20T18:25:12.300192142Z" level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:debug-for-cntr-99112,Uid:uid-debug-for-cntr-99112,Namespace:default,Attempt:0,}"` + "\n",
	"klog":          `I1108 09:30:11.885000    2917 kubelet.go:2406] "SyncLoop (PLEG): event for pod" pod="kube-system/coredns-1" event={"ID":"4b1a","Type":"ContainerDied","Data":"40585f73"}` + "\n",
	"logrus":        `time="2026-11-20T18:25:12.300192142Z" level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:debug-for-cntr-99112,Uid:uid-debug-for-cntr-99112,Namespace:default,Attempt:0,}"` + "\n",
	"journal-json":  `{"__CURSOR":"s=12a989fbf0f4457f977dcfb7dfb7087e;i=25e;b=e04a33f80c3747cfae76afbd59dd1892;m=446ad212;t=660b95d63c9b4;x=f1d53d7cf1521f2d","_SYSTEMD_SLICE":"system.slice","SYSLOG_IDENTIFIER":"containerd","_HOSTNAME":"node-1","PRIORITY":"6","__REALTIME_TIMESTAMP":"1795199112300980","_PID":"43","MESSAGE":"time=\"2026-11-20T18:25:12.300192142Z\" level=info msg=\"RunPodSandbox for &PodSandboxMetadata{Name:debug-for-cntr-99112,Uid:uid-debug-for-cntr-99112,Namespace:default,Attempt:0,}\""}` + "\n",
	"journal-export": "__CURSOR=s=12a989fbf0f4457f977dcfb7dfb7087e;i=25e;b=e04a33f80c3747cfae76afbd59dd1892\n__REALTIME_TIMESTAMP=1795199112300980\n_HOSTNAME=node-1\nSYSLOG_IDENTIFIER=containerd\n_PID=43\n" +
		`MESSAGE=time="2026-11-20T18:25:12.300192142Z" level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:debug-for-cntr-99112,Uid:uid-debug-for-cntr-99112,Namespace:default,Attempt:0,}"` + "\n\n",
	"text":   "a line without any header, as in the middle of a long message of some program or other\n",
	"strace": `9100  18:25:36.238768 openat(AT_FDCWD</>, "/usr/lib/x86_64-linux-gnu/libm.so.6", O_RDONLY|O_CLOEXEC) = 3</usr/lib/x86_64-linux-gnu/libm.so.6> <0.000005>` + "\n",
}

// drain reads everything and keeps nothing.
func drain(t testing.TB, f Format, in Input) {
	if f.Records != nil {
		drainSeq(t, f.Records(in))
	} else {
		drainSeq(t, f.Syscalls(in))
	}
}

func drainSeq[T any](t testing.TB, seq iter.Seq2[T, error]) {
	for _, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnwantedLinesDoNotAllocate compares a short file with a long one: what a file costs is paid once.
func TestUnwantedLinesDoNotAllocate(t *testing.T) {
	reject := func([]byte) bool { return false }
	for name, line := range hot {
		f := format(t, name)
		allocs := func(lines int) float64 {
			return testing.AllocsPerRun(5, func() {
				drain(t, f, Input{Path: "f", R: &repeated{text: []byte(line), n: lines, err: io.EOF}, Want: reject})
			})
		}
		require.Equal(t, allocs(10), allocs(5000), name)
	}
}

func BenchmarkParse(b *testing.B) {
	lits := NewLiterals(literals)
	for _, f := range Formats {
		line, ok := hot[f.Name]
		if !ok {
			continue
		}
		for _, want := range []struct {
			name string
			want func([]byte) bool
		}{{"nothing", func([]byte) bool { return false }}, {"prefilter", lits.Match}, {"everything", nil}} {
			b.Run(fmt.Sprintf("format=%s/want=%s", f.Name, want.name), func(b *testing.B) {
				n := 4 << 20 / len(line)
				b.SetBytes(int64(n * len(line)))
				b.ReportAllocs()
				for b.Loop() {
					drain(b, f, Input{Path: "f", R: &repeated{text: []byte(line), n: n, err: io.EOF}, Want: want.want})
				}
			})
		}
	}
}

// FuzzParse holds the laws of account.check for any bytes and any format.
func FuzzParse(f *testing.F) {
	for _, name := range samples(f) {
		b := sample(f, name)
		f.Add(b[:min(len(b), 4096)], true)
	}
	f.Add(stored(f, dataZstd, true, []string{"MESSAGE=a\nb", "_PID=7"}, []string{"_COMM=x"}), true)
	f.Add(stored(f, dataXZ, false, []string{"MESSAGE=goroutine 1 [running]:"}), false)
	f.Add([]byte("{\n\t\"E\" : \n}"), true)
	f.Add([]byte("{}"), false)
	f.Add([]byte("A(0\n00:00:00 A() = \n0,0--- "), false)
	f.Add([]byte("2025-11-08T09:30:00.123456789+08:00 stderr P cut\n{"), false)
	f.Add([]byte("TS,PID,TID,USERNAME,ST,COMMAND,SYSCALL,WCHAN,EXE,NSPID,KSTACK\n2026-11-01 01:59:59.000,7092,7092,root,\xfbR,(true),[running],0,true,402,\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, all bool) {
		var want func([]byte) bool
		if !all {
			want = func(line []byte) bool { return len(line)%2 == 0 }
		}
		for _, g := range Formats {
			score := g.Sniff(data)
			require.True(t, score >= 0 && score <= 1, "%s sniffs %v", g.Name, score)
			first := read(t, g, data, want)
			again := readInput(t, g, data, Input{Want: want, Go: beside})
			require.Equal(t, first.text.String(), again.text.String(), "deterministic, also with a goroutine ahead")
		}
		require.Equal(t, sumTrace(t, data, nil), sumTrace(t, data, &CallFilter{Least: map[string]time.Duration{"read": 0}}))
	})
}

func TestStamps(t *testing.T) {
	for in, want := range map[string]string{
		"2024-02-29T23:59:60Z":             "2024-03-01T00:00:00Z±1s",
		"2025-02-29T00:00:00Z":             "-",
		"2025-11-08T09:30:11.885+08:00":    "2025-11-08T01:30:11.885Z±1ms",
		"2025-11-08T09:30:11,885000-0330":  "2025-11-08T13:00:11.885Z±1µs",
		"2025-11-08 09:30:11":              "2025-11-08T09:30:11Z-zone±1s",
		"2025-11-08T09:30:11.123456789123": "2025-11-08T09:30:11.123456789Z-zone",
		"0000-01-01T00:00:00Z":             "0000-01-01T00:00:00Z±1s",
		"1969-12-31T23:59:59.5Z":           "1969-12-31T23:59:59.5Z±100ms",
		"2025-11-08T09:30":                 "-",
	} {
		got, _ := isoStamp([]byte(in))
		require.Equal(t, want, stamp(got), in)
	}
	for y := -1; y < 2400; y += 7 {
		for m := 1; m <= 12; m++ {
			n, ok := days(y, m, 28)
			require.True(t, ok)
			require.Equal(t, time.Date(y, time.Month(m), 28, 0, 0, 0, 0, time.UTC).Unix(), n*86400)
		}
	}
}

// TestNumbersAreNoTimes: inodes of a listing, counters of a cgroup.
func TestNumbersAreNoTimes(t *testing.T) {
	const text = "4026531843      0 lrwxrwxrwx   1 root root 8 Nov 22 02:57 /proc/net -> self/net\n9681488754 9522051915 \n1653322986\n"
	for _, rec := range read(t, format(t, "text"), []byte(text), nil).records {
		require.False(t, rec.Time.Known, rec.Text)
	}
}

func isSkip(err error) bool {
	_, ok := errors.AsType[*event.Skip](err)
	return ok
}
