package stackdump

import (
	"cmp"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite golden files")

func readGzip(t testing.TB, path string) string {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}

// describe is the text form of a dump: its account, skips, groups and locks.
func describe(d *Dump) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d goroutines, %d headers, %d lost; lines %d = used %d + blank %d + skipped %d; fingerprint %s\n",
		len(d.Goroutines), d.Headers, d.Lost, d.Lines, d.Used, d.Blank, d.Skipped, d.Fingerprint())
	for _, s := range d.Skips {
		fmt.Fprintf(&b, "skip %v (%d lines)\n", s, s.Lines)
	}
	for _, l := range d.Locks(testCatalogue) {
		fmt.Fprintf(&b, "lock %s sure=%t %s of %q\n", l.Addr, l.AddrSure, l.Type, l.Owner)
		for _, w := range l.Waiters {
			f := d.Goroutines[w.Goroutine].Frames[w.Caller]
			fmt.Fprintf(&b, "  %s: goroutine %d at %s\n    %s\n", w.Mode, d.Goroutines[w.Goroutine].ID, f.Pos, f.Raw)
		}
		for _, h := range l.Holders {
			f := d.Goroutines[h.Goroutine].Frames[h.Frame]
			fmt.Fprintf(&b, "  holder %s by %s: goroutine %d at %s\n    %s\n", h.Certainty, h.Rule, d.Goroutines[h.Goroutine].ID, f.Pos, f.Raw)
		}
		for _, p := range l.Pending {
			fmt.Fprintf(&b, "  pending: goroutine %d\n", d.Goroutines[p].ID)
		}
	}
	g := d.Graph(testCatalogue)
	for _, q := range g.Queues {
		fmt.Fprintf(&b, "queue %s %s of %q: %d waiting, %d working\n", q.Type, q.Addr, q.Owner, len(q.Waiters), len(q.Workers))
	}
	for i, c := range g.Chains {
		fmt.Fprintf(&b, "chain of %s:", g.Locks[i].Addr)
		for _, n := range c.Goroutines {
			fmt.Fprintf(&b, " %d", d.Goroutines[n].ID)
		}
		fmt.Fprintf(&b, ", cyclic=%t inferred=%t, ends in %q %q\n", c.Cyclic, c.Inferred, c.End.Kind, c.End.What)
	}
	for _, c := range g.Cycles {
		fmt.Fprintf(&b, "cycle %s of %d\n", c.Certainty, len(c.Goroutines))
	}
	for _, g := range d.Groups() {
		top := ""
		if len(g.Frames) > 0 {
			top = g.Frames[0].Name()
		}
		first := "unnumbered"
		if len(g.IDs) > 0 {
			first = fmt.Sprintf("first %d", g.IDs[0])
		}
		idle := ""
		if g.Idle {
			idle = ", idle"
		}
		fmt.Fprintf(&b, "group %d [%s, %v] %d frames, %s, %s%s\n", g.Count, g.State, g.MaxWait, len(g.Frames), top, first, idle)
	}
	return b.String()
}

var testCatalogue = NewCatalogue(
	Hold{Func: "daemon.(*Daemon).containerStart", While: ".(*tasksClient).", Lock: "daemon.(*Daemon)."},
	Hold{Func: "daemon.(*Daemon).containerStart", While: ".(*tasksClient).", Lock: "container.(*State)."},
)

func golden(t *testing.T, path, got string) {
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run with -update to accept")
}

// TestGolden reads the dumps of real programs and the synthetic ones.
func TestGolden(t *testing.T) {
	real, err := filepath.Glob(filepath.Join("testdata", "*.log.gz"))
	require.NoError(t, err)
	synthetic, err := filepath.Glob(filepath.Join("testdata", "synthetic_*.log"))
	require.NoError(t, err)
	require.NotEmpty(t, real)
	require.NotEmpty(t, synthetic)
	for _, file := range slices.Concat(real, synthetic) {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".gz"), ".log")
		t.Run(name, func(t *testing.T) {
			var text string
			if strings.HasSuffix(file, ".gz") {
				text = readGzip(t, file)
			} else {
				raw, err := os.ReadFile(file)
				require.NoError(t, err)
				text = string(raw)
			}
			src := Source{File: name, Line: 1, Text: text}
			var lines []string
			if msg, ok := logMessage(text); ok {
				src.Text, src.Pieces = msg, []event.Piece{{Pos: event.Pos{File: name, Line: 1}}}
				lines = []string{text}
			} else {
				lines = strings.Split(text, "\n")
			}
			d := Parse(src)
			checkLaws(t, d, lines)
			got := describe(d)
			if strings.HasPrefix(name, "synthetic_") {
				got = describeAll(d) + got
			}
			golden(t, filepath.Join("testdata", name+".golden"), got)
		})
	}
}

// describeAll writes every goroutine of a small dump.
func describeAll(d *Dump) string {
	var b strings.Builder
	for _, g := range d.Goroutines {
		fmt.Fprintf(&b, "%s goroutine %d [%s] wait=%v locked=%t leaked=%t labels=%q elided=%d creator=%d by=%q %s:%d\n  header %q\n",
			g.Pos, g.ID, g.State, g.Wait, g.Locked, g.Leaked, g.Labels, g.Elided, g.CreatorID, g.CreatedBy.Func, g.CreatedBy.File, g.CreatedBy.Line, g.Header)
		for _, f := range g.Frames {
			fmt.Fprintf(&b, "  %s %s | %s | %s:%d inlined=%t | %s\n", f.Pos, f.Func, f.Args, f.File, f.Line, f.Inlined, f.Raw)
		}
	}
	return b.String()
}

// logMessage takes the message out of a logrus text line.
func logMessage(line string) (string, bool) {
	_, rest, ok := strings.Cut(line, ` msg="`)
	if !ok || !strings.HasPrefix(line, "time=") {
		return "", false
	}
	q, err := strconv.QuotedPrefix(`"` + rest)
	if err != nil {
		return "", false
	}
	msg, err := strconv.Unquote(q)
	return msg, err == nil
}

// checkLaws holds what is true of every dump. Lines are the physical lines of the file.
func checkLaws(t *testing.T, d *Dump, lines []string) {
	require.Equal(t, d.Headers, len(d.Goroutines)+d.Lost)
	require.Equal(t, d.Lines, d.Used+d.Blank+d.Skipped)
	skipped := 0
	for _, s := range d.Skips {
		skipped += s.Lines
	}
	require.Equal(t, d.Skipped, skipped)
	stands := func(pos event.Pos, text string) {
		if text == "" && pos.Line == 0 && d.Profile && d.Lines == 1 {
			return // nothing can be quoted of a binary profile
		}
		require.GreaterOrEqual(t, pos.Line, 1)
		require.LessOrEqual(t, pos.Line, len(lines))
		require.Contains(t, lines[pos.Line-1], text)
	}
	byLine := func(a, b Goroutine) int { return cmp.Compare(a.Pos.Line, b.Pos.Line) }
	backwards := func(a, b Goroutine) int { return byLine(b, a) } // a dump whose last line stands first
	require.True(t, slices.IsSortedFunc(d.Goroutines, byLine) || slices.IsSortedFunc(d.Goroutines, backwards))
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		stands(g.Pos, g.Header)
		for _, f := range g.Frames {
			stands(f.Pos, f.Raw)
		}
		if g.CreatedBy.Func != "" {
			stands(g.CreatedBy.Pos, g.CreatedBy.Raw)
		}
	}
	members := 0
	for _, group := range d.Groups() {
		members += group.Count
		if !d.Profile {
			require.Len(t, group.IDs, group.Count)
		}
		require.True(t, sameStack(&group, &d.Goroutines[group.First]))
	}
	require.Equal(t, d.Count(), members)
	parts, headers := 0, 0
	for _, part := range d.Split() {
		parts += len(part.Goroutines)
		headers += part.Headers
	}
	require.Equal(t, len(d.Goroutines), parts)
	require.Equal(t, d.Headers, headers)
	checkGraphLaws(t, d)
	for _, l := range d.Locks(NewCatalogue(Hold{Func: "main.(*T).hold", Lock: "main."})) {
		for _, w := range l.Waiters {
			require.Less(t, w.Caller, len(d.Goroutines[w.Goroutine].Frames))
		}
		for _, h := range l.Holders {
			require.Less(t, h.Frame, len(d.Goroutines[h.Goroutine].Frames))
			require.NotContains(t, l.Pending, h.Goroutine)
		}
	}
}

// checkGraphLaws holds what is true of every graph: its indexes are goroutines,
// its chains follow the holders, its cycles close.
func checkGraphLaws(t *testing.T, d *Dump) {
	g := d.Graph(nil)
	require.Len(t, g.Chains, len(g.Locks))
	waits := map[int]*Lock{}
	for i := range g.Locks {
		for _, w := range g.Locks[i].Waiters {
			waits[w.Goroutine] = &g.Locks[i]
		}
	}
	holds := func(l *Lock, goroutine int) bool {
		return slices.ContainsFunc(l.Holders, func(h Holder) bool { return h.Goroutine == goroutine })
	}
	for i, c := range g.Chains {
		require.Equal(t, len(g.Locks[i].Holders) > 0, len(c.Goroutines) > 0)
		if len(c.Goroutines) > 0 {
			require.True(t, holds(&g.Locks[i], c.Goroutines[0]))
			require.Less(t, c.End.Frame, len(d.Goroutines[c.Goroutines[len(c.Goroutines)-1]].Frames))
		}
	}
	for _, c := range g.Cycles {
		for i, goroutine := range c.Goroutines {
			require.NotNil(t, waits[goroutine])
			require.True(t, holds(waits[goroutine], c.Goroutines[(i+1)%len(c.Goroutines)]))
		}
	}
	for _, q := range g.Queues {
		require.NotEmpty(t, q.Waiters)
		for _, w := range q.Waiters {
			require.Nil(t, waits[w.Goroutine], "in a queue and at a lock")
			require.Less(t, w.Caller, len(d.Goroutines[w.Goroutine].Frames))
		}
	}
	for i := range d.Goroutines {
		e := d.Goroutines[i].End()
		require.Less(t, e.Frame, max(1, len(d.Goroutines[i].Frames)))
	}
}

// inPieces cuts a dump into log messages of n bytes, each quoted on a line of its own.
func inPieces(file, text string, n int) (src Source, lines []string) {
	src = Source{File: file, Text: text}
	for off := 0; off < len(text); off += n {
		src.Pieces = append(src.Pieces, event.Piece{Off: off, Pos: event.Pos{File: file, Line: len(lines) + 1}})
		lines = append(lines, strconv.Quote(text[off:min(off+n, len(text))]))
	}
	return src, lines
}

// TestPieces reads one dump whole and cut into pieces: only the positions may differ.
func TestPieces(t *testing.T) {
	text := readGzip(t, filepath.Join("testdata", "containerd-1.6.20-umount2.log.gz"))
	want := Parse(Source{File: "f", Line: 1, Text: text})
	for _, n := range []int{49152, 1000, 37} {
		src, lines := inPieces("f", text, n)
		got := Parse(src)
		checkLaws(t, got, lines)
		require.Equal(t, want.Fingerprint(), got.Fingerprint())
		require.Equal(t, len(want.Goroutines), len(got.Goroutines))
		for i := range want.Goroutines {
			require.Equal(t, len(want.Goroutines[i].Frames), len(got.Goroutines[i].Frames))
			for j, f := range got.Goroutines[i].Frames {
				require.Equal(t, want.Goroutines[i].Frames[j].Func, f.Func)
				require.NotEmpty(t, f.Raw)
			}
		}
	}
}

// TestTerwaySigusr1 holds the one-line form against the truth of its README.
func TestTerwaySigusr1(t *testing.T) {
	line := readGzip(t, filepath.Join("testdata", "terwayd-1.0.10-go1.12.sigusr1-logfmt.log.gz"))
	msg, ok := logMessage(line)
	require.True(t, ok)
	require.True(t, Contains(msg))
	d := Parse(Source{File: "f", Text: msg, Pieces: []event.Piece{{Pos: event.Pos{File: "f", Line: 7}}}})
	locks := d.Locks(nil)
	require.Len(t, locks, 1)
	require.Equal(t, "0xc0001342e8", locks[0].Addr)
	var held []uint64
	for _, h := range locks[0].Holders {
		held = append(held, d.Goroutines[h.Goroutine].ID)
	}
	require.ElementsMatch(t, []uint64{38, 55, 66, 93, 114, 125, 128}, held)
	require.Len(t, locks[0].Pending, 1)
	require.Equal(t, uint64(8), d.Goroutines[locks[0].Pending[0]].ID)
	require.Equal(t, event.Pos{File: "f", Line: 7}, d.Goroutines[10].Pos)
}

func TestContains(t *testing.T) {
	for text, want := range map[string]bool{
		"goroutine 1 [running]:\nmain.main()":              true,
		"dump stacks: goroutine 9 [running]:":              true,
		"x\n\tgoroutine 7 gp=0xc000002380 m=nil [select]:": true,
		"=== BEGIN goroutine stack dump ===":               false,
		"created by main.f in goroutine 7":                 false,
		"goroutine profile: total 9":                       false,
		"":                                                 false,
	} {
		require.Equal(t, want, Contains(text), text)
	}
}

func TestName(t *testing.T) {
	for in, want := range map[string]string{
		"main.main": "main.main",
		"k8s.io/kubernetes/vendor/google.golang.org/grpc.(*Server).Serve":  "google.golang.org/grpc.(*Server).Serve",
		"github.com/godbus/dbus/v5.(*Conn).Close":                          "github.com/godbus/dbus.(*Conn).Close",
		"github.com/containerd/containerd/v2/internal/cri/server.(*c).Run": "github.com/containerd/containerd/internal/cri/server.(*c).Run",
		"a/runtime/v2/runc/v2.(*service).Create":                           "a/runtime/runc.(*service).Create",
		"a/vnet/v.f":                                                       "a/vnet/v.f",
		"vendor/golang.org/x/net/http2.f":                                  "golang.org/x/net/http2.f",
		"a/v1alpha2.(*T).M":                                                "a/v1alpha2.(*T).M",
		"gopkg.in/yaml%2ev3.(*decoder).unmarsh":                            "gopkg.in/yaml%2ev3.(*decoder).unmarsh",
	} {
		f := Frame{Func: in}
		require.Equal(t, want, f.Name())
	}
}

// TestOneLine: a ticket's form has turned the line breaks into spaces.
func TestOneLine(t *testing.T) {
	text := `goroutine 1 [running]: main.f(0x1) /src/x.go:7 +0x1d main.main() /src/x.go:9 +0x2 ` +
		`goroutine 5 [select, 3 minutes, labels:{"k": "goroutine 8 [x"}]: main.g(...) /src/y.go:3 created by main.init in goroutine 1 /src/x.go:4 +0x5 goroutine 6 [chan receive]:`
	d := Parse(Source{File: "f", Text: text})
	checkLaws(t, d, []string{text})
	require.Len(t, d.Goroutines, 3)
	funcs := func(g *Goroutine) (all []string) {
		for _, f := range g.Frames {
			all = append(all, f.Func+" "+f.File+":"+strconv.Itoa(f.Line))
		}
		return append(all, g.CreatedBy.Func)
	}
	require.Equal(t, []string{"main.f /src/x.go:7", "main.main /src/x.go:9", ""}, funcs(&d.Goroutines[0]))
	require.Equal(t, []string{"main.g /src/y.go:3", "main.init"}, funcs(&d.Goroutines[1]))
	require.EqualValues(t, 6, d.Goroutines[2].ID)
	require.Equal(t, 1, d.Used)

	// A file line that lost its line break costs neither the frame nor the goroutine behind it.
	d = Parse(Source{File: "f", Text: "goroutine 1 [running]:\nmain.f(0x1)\n\t/src/x.go:7 +0x1d goroutine 2 [select]:\nmain.g(0x1)\n"})
	require.Equal(t, []string{"main.f /src/x.go:7", ""}, funcs(&d.Goroutines[0]))
	require.Equal(t, []string{"main.g :0", ""}, funcs(&d.Goroutines[1]))
}

func TestReceiver(t *testing.T) {
	for _, c := range []struct {
		f, args string
		want    Arg
		ok      bool
	}{
		{"p.(*T).M", "0xc000130f80, 0x1", Arg{Value: 0xc000130f80, Sure: true, Known: true}, true},
		{"p.(*T).M", "0xc000130f80?", Arg{Value: 0xc000130f80, Sure: false, Known: true}, true},
		{"p.(*T).M", "_, {0x1, 0x2}", Arg{}, false},
		{"p.(*T).M", "...", Arg{}, false},
		{"p.(*T).M", "", Arg{}, false},
		{"p.(*T).M.func1", "0xc000130f80", Arg{}, false},
		{"p.(*T).M-fm", "0xc000130f80", Arg{}, false},
		{"p.(*T[...]).M", "0x4f4520", Arg{}, false},
		{"p.f", "0xc000130f80", Arg{}, false},
		{"p.T.M", "{0xc000130f80, 0x1}", Arg{}, false},
	} {
		f := Frame{Func: c.f, Args: c.args}
		got, ok := f.Receiver()
		require.Equal(t, c.ok, ok, "%s(%s)", c.f, c.args)
		require.Equal(t, c.want, got, "%s(%s)", c.f, c.args)
	}
	f := Frame{Args: "{0x2529fa0?, 0xc000a26540}, {{_, 0xc000816360?}, ...}, 0x18e9d4195babd23d, 0x17"}
	require.True(t, f.HasPointer())
}

// FuzzParse: whatever comes in, the laws hold, whole and in pieces.
func FuzzParse(f *testing.F) {
	seeds, _ := filepath.Glob(filepath.Join("testdata", "synthetic_*.log"))
	for _, file := range seeds {
		raw, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(raw), uint16(50))
	}
	f.Add("goroutine 1 [running]:\nmain.main()\n\t/x.go:1 +0x1", uint16(7))
	f.Add("goroutine profile: total 3\n2 @ 0x1 0x2\n# labels: {\"k\":\"v\"}\n#\t0x1\tmain.f+0x1\t/x.go:1\n\n1 @\n", uint16(9))
	f.Add("0 goroutine 0 [:0", uint16(12))                                                        // a header that looks like a file line
	f.Add("goroutine 1 [running]:\nmain.main()\n\t/x.go:1 +0x1 goroutine 2 [select]:", uint16(7)) // a header behind a frame
	f.Add("goroutine 1 [running]:\nmain.f(goroutine 0 [)\ncreated by main.g goroutine 3 [x", uint16(7))
	f.Add("\\tgoroutine 1 [running]:", uint16(7))
	f.Add("main.main()\ngoroutine 1 [running]:\n\t/x.go:1 +0x1\nmain.f(0x1)", uint16(11)) // the last line first, and lines in pieces
	f.Add("0(0\n0:00 +0x", uint16(14))                                                    // a call and a file line of no Go program
	f.Add("main.f(0x1)\n\t/x.go:7 +0x1d\n", uint16(14))
	f.Add(readGzip(f, filepath.Join("testdata", "containerd-1.6.20-frozen-shim.debug0.pb.gz"))[:600], uint16(9))
	f.Fuzz(func(t *testing.T, text string, n uint16) {
		d := Parse(Source{File: "f", Line: 1, Text: text})
		checkLaws(t, d, strings.Split(text, "\n"))
		if !d.Profile {
			// People paste headers without their numbers, and with marks of Markdown.
			require.True(t, d.Headers > 0 || !Contains(text))
			// Without any header, only a call above its Go file begins a goroutine.
			headless := strings.Contains(text, ".go:") || strings.Contains(text, ".s:")
			require.True(t, d.Headers == 0 || headless || strings.Contains(strings.ToLower(text), "goroutine"))
		}
		src, lines := inPieces("f", text, int(n)+1)
		checkLaws(t, Parse(src), append(lines, ""))
	})
}

// generated is a dump of n goroutines with the stacks of a real one.
func generated(tb testing.TB, size int) string {
	text := readGzip(tb, filepath.Join("testdata", "containerd-1.6.20-umount2.log.gz"))
	var b strings.Builder
	id := 1
	for b.Len() < size {
		for _, block := range strings.SplitAfter(text, "\n\n") {
			_, rest, ok := strings.Cut(strings.TrimPrefix(block, headerWord), " ")
			if ok {
				fmt.Fprintf(&b, "goroutine %d %s", id, rest)
				id++
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	text := generated(b, 10<<20)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(Source{File: "f", Line: 1, Text: text})
	}
}

func BenchmarkLocks(b *testing.B) {
	text := generated(b, 10<<20)
	d := Parse(Source{File: "f", Line: 1, Text: text})
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		d.Locks(testCatalogue)
	}
}

func BenchmarkGroups(b *testing.B) {
	text := generated(b, 10<<20)
	d := Parse(Source{File: "f", Line: 1, Text: text})
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		d.Groups()
	}
}

// A dump cut at any byte, in front or behind, costs what is cut and nothing else.
func TestCutAnywhere(t *testing.T) {
	text := readGzip(t, filepath.Join("testdata", "lab-runs", "go1.25.3.abort.txt.gz"))
	_, text = splitTruth(t, text)
	text = text[:12_000] + "goroutine 900 [select (scan) (leaked), locked to thread labels:{\"k\\\"]:\": \"v}]:\\ngoroutine 1 [x]:\"}]:\nmain.f({0x1?, _}, ...)\n\t/x y/z.go:7 +0x1\n...12 frames elided...\ncreated by main.g in goroutine 1\n\t/x.go:9 +0x2\n"
	lines := strings.Split(text, "\n")
	whole := map[uint64]Goroutine{}
	for _, g := range Parse(Source{File: "f", Text: text}).Goroutines {
		whole[g.ID] = g
	}
	require.Equal(t, 12, whole[900].Elided)
	last := len(whole)
	for cut := len(text); cut >= 0; cut -= 1 + cut%3 {
		d := Parse(Source{File: "f", Text: text[:cut]})
		require.Equal(t, d.Headers, len(d.Goroutines)+d.Lost)
		require.Equal(t, d.Lines, d.Used+d.Blank+d.Skipped)
		require.LessOrEqual(t, len(d.Goroutines), last)
		last = len(d.Goroutines)
		for i, g := range d.Goroutines {
			if i+1 < len(d.Goroutines) {
				require.Equal(t, len(whole[g.ID].Frames), len(g.Frames), "goroutine %d, cut at %d", g.ID, cut)
			}
			for j := range min(len(g.Frames), len(whole[g.ID].Frames)) - 1 {
				require.Equal(t, whole[g.ID].Frames[j].Raw, g.Frames[j].Raw)
			}
		}
		tail := Parse(Source{File: "f", Text: text[cut:]})
		for _, g := range tail.Goroutines {
			_, known := whole[g.ID]
			require.True(t, known || len(tail.Goroutines) == 1, "goroutine %d, cut at %d", g.ID, cut)
		}
	}
	checkLaws(t, Parse(Source{File: "f", Line: 1, Text: text}), lines)
}

// Lines of a megabyte, halves of characters and control bytes lose nothing around them.
func TestOddBytes(t *testing.T) {
	for name, odd := range map[string]string{
		"long line": strings.Repeat("x", 1<<20), "long call": "main." + strings.Repeat("x", 1<<20) + "(0x1)", "half a character": "\xe2\x82", "zeroes": strings.Repeat("\x00", 100),
		"long state": "goroutine 7 [" + strings.Repeat("select ", 1<<17), "colours": "\x1b[31mred\x1b[0m", "many digits": "goroutine " + strings.Repeat("9", 1<<16) + " [select]:",
		"long label": "goroutine 7 [select labels:{\"k\": \"" + strings.Repeat("\\\"]:", 1<<17),
	} {
		text := "goroutine 1 [select]:\nmain.f()\n\t/x.go:1\ncreated by main.g\n\t/x.go:2\n\n" + odd + "\n\ngoroutine 2 [select]:\nmain.f()\n\t/x.go:1\n"
		d := Parse(Source{File: "f", Line: 1, Text: text})
		checkLaws(t, d, strings.Split(text, "\n"))
		require.Len(t, d.Goroutines, 2, name)
		require.Len(t, d.Goroutines[0].Frames, 1, name)
		require.Len(t, d.Goroutines[1].Frames, 1, name)
		require.NotZero(t, d.Skipped, name)
		for _, s := range d.Skips {
			require.Less(t, len(s.Reason), 500, name)
		}
	}
}

// TestCutDumpNamesNoReceiver: where a dump is cut and does not show how its Go prints arguments, a
// receiver may be what a dead slot held, and is no address of a lock.
func TestCutDumpNamesNoReceiver(t *testing.T) {
	const waiter = `goroutine 7 [semacquire, 5 minutes]:
sync.runtime_SemacquireMutex(...)
	/usr/local/go/src/runtime/sema.go:71
sync.(*Mutex).Lock(...)
	/usr/local/go/src/sync/mutex.go:81
main.(*store).Get(0xc000130f80, 0x1)
	/src/store.go:12 +0x3d
created by main.main
	/src/main.go:30 +0x1c
`
	for text, want := range map[string]string{waiter: "0xc000130f80", waiter + "\ngoroutine 8 [select": ""} {
		locks := Parse(Source{File: "f", Text: text}).Locks(nil)
		require.Len(t, locks, 1)
		require.Equal(t, want, locks[0].Addr)
		require.Equal(t, "main.(*store)", locks[0].Owner)
	}
}
