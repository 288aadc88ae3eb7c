package parse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

func TestGolden(t *testing.T) {
	for _, name := range parsetest.SampleNames(t) {
		f := parsetest.Format(t, path.Dir(name))
		switch f.Reader.(type) {
		case parse.Dump, parse.Transcript: // of them others have tests
			continue
		}
		t.Run(name, func(t *testing.T) {
			a := parsetest.Read(t, f, parsetest.Sample(t, name), nil)
			parsetest.Golden(t, strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".log")+".golden", a.Text.String())
		})
	}
}

// TestSniff holds every sample against every format: a format that steals another's files shows as
// a diff.
func TestSniff(t *testing.T) {
	var out strings.Builder
	for _, name := range parsetest.SampleNames(t) {
		head := parsetest.Sample(t, name)
		head = head[:min(len(head), lines.HeadSize)]
		f, ok := parse.Detect(head, name)
		require.True(t, ok, name)
		require.Equal(t, path.Dir(name), f.Name, name)
		fmt.Fprintf(&out, "%s:", name)
		for _, g := range parse.Formats {
			if score := g.Sniff(lines.NewHead(head)); score > 0 {
				fmt.Fprintf(&out, " %s=%.2f", g.Name, score)
			}
		}
		fmt.Fprintln(&out)
	}
	parsetest.Golden(t, "sniff.golden", out.String())
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
			f, ok := parse.Detect([]byte(tt.head), "x.log")
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
		f, ok := parse.Detect([]byte(tt.head), tt.file)
		require.True(t, ok)
		require.Equal(t, tt.want, f.Name, tt.file)
	}
}

// TestUnwanted: the time of a line is known without its text.
func TestUnwanted(t *testing.T) {
	for _, name := range parsetest.SampleNames(t) {
		f := parsetest.Format(t, path.Dir(name))
		data := parsetest.Sample(t, name)
		all := parsetest.Read(t, f, data, nil)
		none := parsetest.Read(t, f, data, func([]byte) bool { return false })
		require.Equal(t, all.Stats, none.Stats)
		if len(all.Records) == len(none.Records) {
			for i := range none.Records {
				require.Equal(t, all.Records[i].Time, none.Records[i].Time, "%s:%d", name, all.Records[i].Pos.Line)
				require.Equal(t, all.Records[i].Unit, none.Records[i].Unit)
				require.Equal(t, all.Records[i].Level, none.Records[i].Level)
			}
		}
		require.Len(t, none.Calls, len(all.Calls))
		for i := range none.Calls {
			require.Equal(t, all.Calls[i].Name, none.Calls[i].Name)
			require.Equal(t, all.Calls[i].Errno, none.Calls[i].Errno)
			require.Equal(t, all.Calls[i].Duration, none.Calls[i].Duration)
		}
	}
}

func TestLongLine(t *testing.T) {
	const size = 100 << 20
	for _, f := range parse.Formats {
		_, dump := f.Reader.(parse.Dump)
		_, sections := f.Reader.(parse.Transcript)
		if dump || sections || f.Entries {
			continue
		}
		long := &parsetest.Repeated{Text: bytes.Repeat([]byte("x"), 1<<20), N: size >> 20, Err: io.EOF}
		r := io.MultiReader(strings.NewReader("first\n"), long, strings.NewReader("\nlast\n"))
		var stats lines.Stats
		cut := false
		used := 0
		each(f.Reader, lines.Input{Path: "f", R: r, Stats: &stats}, func(n int, text string, err error) bool {
			skip, ok := errors.AsType[*event.Skip](err)
			require.True(t, ok || err == nil)
			if ok {
				cut = cut || strings.Contains(skip.Reason, "cut at 16777216")
				n = skip.Lines
			}
			require.LessOrEqual(t, len(text), lines.MaxLine)
			used += n
			return true
		})
		require.Equal(t, 3, stats.Lines, f.Name)
		require.Equal(t, 3, used, f.Name)
		require.True(t, cut, f.Name)
	}
}

// each passes on how many lines each step of a format accounts for, and the text of a record, until
// next returns false.
func each(r parse.Reader, in lines.Input, next func(n int, text string, err error) bool) {
	switch read := r.(type) {
	case parse.Records:
		for rec, err := range read(in) {
			if !next(rec.Lines, rec.Text, err) {
				return
			}
		}
	case parse.Syscalls:
		for s, err := range read(traces.Input{Input: in}) {
			if !next(s.Lines, "", err) {
				return
			}
		}
	case parse.Samples:
		for s, err := range read(in) {
			if !next(s.Lines, "", err) {
				return
			}
		}
	case parse.Data:
		for d, err := range read(in) {
			if !next(d.Lines, "", err) {
				return
			}
		}
	}
}

func TestReadErrorIsLast(t *testing.T) {
	for _, f := range parse.Formats {
		read, isLog := f.Reader.(parse.Records)
		if !isLog {
			continue
		}
		r := &parsetest.Repeated{Text: []byte("Nov 20 18:25:56 n x[1]: text\n"), N: 3, Err: io.ErrUnexpectedEOF}
		var errs []error
		for _, err := range read(lines.Input{R: r}) {
			if err != nil && !parsetest.IsSkip(err) {
				errs = append(errs, err)
			}
		}
		require.Equal(t, []error{io.ErrUnexpectedEOF}, errs, f.Name)
	}
}

func TestEarlyStop(t *testing.T) {
	for _, name := range parsetest.SampleNames(t) {
		f := parsetest.Format(t, path.Dir(name))
		data := parsetest.Sample(t, name)
		for n := range 12 {
			seen := 0
			each(f.Reader, lines.Input{R: bytes.NewReader(data)}, func(_ int, _ string, err error) bool {
				seen++
				return seen <= n && (err == nil || parsetest.IsSkip(err))
			})
			require.LessOrEqual(t, seen, n+1)
		}
	}
}

// TestUnwantedLinesDoNotAllocate compares a short file with a long one: what a file costs is paid
// once.
func TestUnwantedLinesDoNotAllocate(t *testing.T) {
	reject := func([]byte) bool { return false }
	for name, line := range parsetest.Hot {
		f := parsetest.Format(t, name)
		allocs := func(n int) float64 {
			return testing.AllocsPerRun(5, func() {
				parsetest.Drain(t, f, lines.Input{Path: "f", R: &parsetest.Repeated{Text: []byte(line), N: n, Err: io.EOF}, Want: reject})
			})
		}
		require.Equal(t, allocs(10), allocs(5000), name)
	}
}

func BenchmarkParse(b *testing.B) {
	lits := lines.NewLiterals(parsetest.Literals)
	for _, f := range parse.Formats {
		line, ok := parsetest.Hot[f.Name]
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
					parsetest.Drain(b, f, lines.Input{Path: "f", R: &parsetest.Repeated{Text: []byte(line), N: n, Err: io.EOF}, Want: want.want})
				}
			})
		}
	}
}

func beside(f func()) { go f() }

// TestLogAhead: a log whose lines are looked at ahead of their use, for the same literals, tells
// the same; some are longer than what is read at once.
func TestLogAhead(t *testing.T) {
	literals := lines.NewLiterals([]string{"container", "goroutine ", "rror"})
	for _, name := range parsetest.SampleNames(t) {
		data := parsetest.Sample(t, name)
		f, _ := parse.Detect(data[:min(len(data), lines.HeadSize)], name)
		if _, ok := f.Reader.(parse.Records); !ok || len(data) == 0 || data[len(data)-1] != '\n' {
			continue
		}
		data = bytes.Repeat(data, min(300<<10/len(data)+1, 500))
		one := parsetest.ReadInput(t, f, data, traces.Input{Input: lines.Input{Want: literals.Match}})
		ahead := parsetest.ReadInput(t, f, data, traces.Input{Input: lines.Input{Literals: literals, Go: beside}})
		require.Equal(t, one.Text.Len(), ahead.Text.Len(), name)
		require.True(t, one.Text.String() == ahead.Text.String(), name)

		r := &parsetest.Repeated{Text: data, N: 3, Err: io.EOF}
		for _, err := range f.Reader.(parse.Records)(lines.Input{Path: "f", R: r, Go: beside}) {
			_ = err // whatever comes first
			break
		}
		n := r.N
		runtime.Gosched()
		require.Equal(t, n, r.N, "nobody reads any more")
	}
}

// FuzzParse holds the laws of account.check for any bytes and any format.
func FuzzParse(f *testing.F) {
	for _, name := range parsetest.SampleNames(f) {
		b := parsetest.Sample(f, name)
		f.Add(b[:min(len(b), 4096)], true)
	}
	f.Add([]byte("{\n\t\"E\" : \n}"), true)
	f.Add([]byte("{}"), false)
	f.Add([]byte("● kubelet.service - kubelet\n   Loaded: loaded (/lib/kubelet.service)\n\x1b[0m\n"), true)
	f.Add([]byte("2025-11-08T01:30:11Z\thost.kubelet\taaaaaaaaa {"), true)
	f.Add([]byte("A(0\n00:00:00 A() = \n0,0--- "), false)
	f.Add([]byte("2025-11-08T09:30:00.123456789+08:00 stderr P cut\n{"), false)
	f.Add([]byte("TS,PID,TID,USERNAME,ST,COMMAND,SYSCALL,WCHAN,EXE,NSPID,KSTACK\n2026-11-01 01:59:59.000,7092,7092,root,\xfbR,(true),[running],0,true,402,\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, all bool) {
		var want func([]byte) bool
		if !all {
			want = func(line []byte) bool { return len(line)%2 == 0 }
		}
		for _, g := range parse.Formats {
			score := g.Sniff(lines.NewHead(data))
			require.True(t, score >= 0 && score <= 1, "%s sniffs %v", g.Name, score)
			first := parsetest.Read(t, g, data, want)
			again := parsetest.ReadInput(t, g, data, traces.Input{Input: lines.Input{Want: want, Go: beside}})
			require.Equal(t, first.Text.String(), again.Text.String(), "deterministic, also with a goroutine ahead")
		}
	})
}
