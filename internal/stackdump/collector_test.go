package stackdump

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// collect hands lines to a Collector as a parser would, a record each.
func collect(recs []event.Record) (found []Found) {
	var c Collector
	for i := range recs {
		recs[i].Wanted = c.Want([]byte(recs[i].Text))
		if !recs[i].Wanted {
			recs[i].Text = ""
		}
		found = append(found, c.Add(&recs[i])...)
	}
	return append(found, c.Close()...)
}

func rec(line int, unit string, pid int, text string) event.Record {
	at := event.At(time.Date(2026, 11, 20, 19, 0, line, 0, time.UTC))
	return event.Record{Pos: event.Pos{File: "j", Line: line}, Lines: 1, Unit: unit, PID: pid, Text: text, Time: at}
}

// A raw dump in a journal, an entry for each line, is the dump: journald drops
// its blank lines, others write in between, and so does the program itself.
func TestCollectorRaw(t *testing.T) {
	for _, name := range []string{"terwayd-1.0.10-go1.12.sigabrt", "containerd-1.6.20-umount2"} {
		t.Run(name, func(t *testing.T) {
			text := readGzip(t, filepath.Join("testdata", name+".log.gz"))
			want := Parse(Source{File: "j", Line: 1, Text: text})
			lines := []string{}
			recs := []event.Record{rec(1, "containerd", 7, "Starting")}
			lines = append(lines, "Starting")
			add := func(unit string, pid int, text string) {
				lines = append(lines, text)
				recs = append(recs, rec(len(lines), unit, pid, text))
			}
			for i, line := range strings.Split(text, "\n") {
				if line == "" {
					continue
				}
				add("containerd", 7, line)
				if i%5 == 0 {
					add("kubelet", 9, "goroutine pools are no goroutine 7 of a dump")
				}
				if i%97 == 0 {
					add("containerd", 7, `time="2026-11-20T19:00:00Z" level=info msg="still here"`)
				}
			}
			found := collect(recs)
			require.Len(t, found, 1)
			require.Equal(t, "containerd", found[0].Unit)
			got := Parse(found[0].Source)
			require.Empty(t, got.Skips)
			require.Equal(t, want.Fingerprint(), got.Fingerprint())
			checkLaws(t, got, lines)
			require.Equal(t, got.Goroutines[0].Pos.Line, found[0].At.T.Second()+60*found[0].At.T.Minute())
		})
	}
}

// Two dumps of one program are two, and so are those of two programs at once.
func TestCollectorSeveral(t *testing.T) {
	var recs []event.Record
	n := 0
	add := func(unit string, text ...string) {
		for _, s := range text {
			n++
			recs = append(recs, rec(n, unit, 1, s))
		}
	}
	dump := []string{"goroutine 1 [select]:", "main.f()", "\t/x.go:1 +0x1", "goroutine 2 [IO wait, 3 minutes]:", "main.g(0x1)", "        /x.go:2 +0x1"}
	add("a", dump...)
	add("b", dump[:3]...)
	add("a", dump...)
	add("b", dump[3:]...)
	add("a", "=== BEGIN goroutine stack dump ===\ngoroutine 5 [select]:\nmain.f()\n\t/x.go:1 +0x1\n")
	found := collect(recs)
	require.Len(t, found, 4)
	var ids []string
	for _, f := range found {
		d := Parse(f.Source)
		require.Empty(t, d.Skips)
		var s strings.Builder
		s.WriteString(f.Unit)
		for _, g := range d.Goroutines {
			require.NotEmpty(t, g.Frames)
			s.WriteString(fmt.Sprint(" ", g.ID))
		}
		ids = append(ids, s.String())
	}
	require.ElementsMatch(t, []string{"a 1 2", "a 1 2", "a 5", "b 1 2"}, ids)
}

// Lines that only mention goroutines are no dumps, and a dump does not swallow what comes after it.
func TestCollectorEnds(t *testing.T) {
	var recs []event.Record
	recs = append(recs, rec(1, "a", 1, "goroutine profile"), rec(1, "a", 1, "panic in goroutine 7 [running]: no dump"), rec(2, "a", 1, "goroutine 1 [select]:"), rec(3, "a", 1, "main.f()"))
	for i := range 3 * maxStray {
		recs = append(recs, rec(4+i, "a", 1, "an ordinary line"))
	}
	recs = append(recs, rec(100, "a", 1, "main.late()"))
	found := collect(recs)
	require.Len(t, found, 1)
	require.Equal(t, "goroutine 1 [select]:\nmain.f()\n", found[0].Source.Text)

	recs = []event.Record{rec(1, "a", 1, "goroutine 1 [select]:")}
	for i := range maxQuiet + 2 {
		recs = append(recs, rec(2+i, "b", 1, "an ordinary line"))
	}
	recs = append(recs, rec(maxQuiet+10, "a", 1, "main.late()"))
	require.Len(t, collect(recs), 1)
}

// Whatever lines come in, a dump that is found can be read, and what it quotes stands where it
// says.
func FuzzCollector(f *testing.F) {
	f.Add("goroutine 1 [select]:\nmain.f()\n\t/x.go:1 +0x1\n\nhello\ngoroutine 1 [running]:\nmain.g(0x1)", byte(3))
	f.Add("a\ngoroutine 2 [select]:\n[originating from goroutine 1]:\ncreated by x\nrax 0x1", byte(0))
	f.Fuzz(func(t *testing.T, log string, writers byte) {
		lines := strings.Split(log, "\n")
		var recs []event.Record
		for i, line := range lines {
			recs = append(recs, rec(i+1, "u", i%(int(writers)%4+1), line))
		}
		for _, found := range collect(recs) {
			d := Parse(found.Source)
			require.Positive(t, d.Headers)
			if !holdsTwoInALine(d) {
				require.Len(t, d.Split(), 1, "dumps of one writer are told apart")
			}
			checkLaws(t, d, lines)
		}
	})
}

// holdsTwoInALine says whether two goroutines begin in one line. The collector follows lines, so it
// leaves it to Split to tell the dumps of such a text apart.
func holdsTwoInALine(d *Dump) bool {
	for i := range d.Goroutines {
		if i > 0 && d.Goroutines[i].Pos == d.Goroutines[i-1].Pos {
			return true
		}
	}
	return false
}

// Lines that journald suppressed cost the goroutines that they belong to: what
// comes behind the gap is never taken for the rest of what stands before it.
func TestCollectorGap(t *testing.T) {
	text := readGzip(t, filepath.Join("testdata", "containerd-1.6.20-umount2.log.gz"))
	whole := map[uint64]Goroutine{}
	for _, g := range Parse(Source{File: "j", Text: text}).Goroutines {
		whole[g.ID] = g
	}
	lines := strings.Split(text, "\n")
	for from := 1; from+60 < len(lines); from += 41 {
		missing := 1 + from%59
		recs := []event.Record{}
		for i, line := range lines {
			switch {
			case i == from:
				recs = append(recs, rec(len(recs)+1, "systemd-journald", 2, fmt.Sprintf("Suppressed %d messages from containerd.service", missing)))
			case i > from && i <= from+missing, line == "":
			default:
				recs = append(recs, rec(len(recs)+1, "containerd", 7, line))
			}
		}
		found := collect(recs)
		require.Len(t, found, 1)
		require.Equal(t, 7, found[0].PID)
		d := Parse(found[0].Source)
		require.Equal(t, 1, d.Gaps)
		require.Equal(t, missing, d.Suppressed)
		require.Equal(t, d.Lines, d.Used+d.Blank+d.Skipped)
		require.Equal(t, d.Headers, len(d.Goroutines)+d.Lost)
		for _, g := range d.Goroutines {
			was := whole[g.ID]
			require.LessOrEqual(t, len(g.Frames), len(was.Frames))
			for i, f := range g.Frames {
				require.Equal(t, was.Frames[i].Raw, f.Raw, "goroutine %d with %d lines missing from %d on", g.ID, missing, from)
			}
			if len(g.Frames) < len(was.Frames) {
				require.Positive(t, g.Elided)
			}
		}
	}
	// What another unit lost is nothing to this one.
	recs := []event.Record{rec(1, "containerd", 7, "goroutine 1 [select]:"), rec(2, "systemd-journald", 2, "Suppressed 9 messages from kubelet.service"), rec(3, "containerd", 7, "main.f()"), rec(4, "kubelet", 8, "goroutine 5 [select]:")}
	require.Equal(t, 1, Parse(collect(recs)[0].Source).Gaps, "nobody's: it may be this one's")
	recs[1], recs[3] = recs[3], rec(4, "systemd-journald", 2, "Suppressed 9 messages from kubelet.service")
	recs[1].Pos.Line = 2
	found := collect(recs)
	require.Len(t, found, 2)
	require.Zero(t, Parse(found[0].Source).Gaps)
	require.Equal(t, 1, Parse(found[1].Source).Gaps)
}

// A shim's dump stands in containerd's log, and names the shim.
func TestCollectorPID(t *testing.T) {
	r := rec(1, "containerd", 43, "=== BEGIN goroutine stack dump ===\ngoroutine 5 [select]:\nmain.f()\n")
	r.Fields = []event.Pair{{Key: "namespace", Value: "k8s.io"}, {Key: "pid", Value: "4711"}}
	require.Equal(t, 4711, collect([]event.Record{r})[0].PID)
	r.Fields = nil
	require.Equal(t, 43, collect([]event.Record{r})[0].PID)
}

// Behind the go statement nothing can follow but another goroutine, whose header is missing.
func TestFramesAdrift(t *testing.T) {
	d := Parse(Source{File: "f", Text: "goroutine 1 [select]:\nmain.f()\n\t/x.go:1\ncreated by main.g\n\t/x.go:2\nmain.h()\n\t/x.go:3\ngoroutine 2 [select]:\nmain.f()\n"})
	require.Len(t, d.Goroutines, 2)
	require.Len(t, d.Goroutines[0].Frames, 1)
	require.Equal(t, 2, d.Goroutines[0].CreatedBy.Line)
	require.Equal(t, 2, d.Skipped)
	require.ErrorContains(t, d.Skips[0], `f:6: "main.h()" belongs to no goroutine: lines before it are missing`)
}

// Tools put words before every line of a dump. What is only spoken of is no dump.
func TestCollectorLead(t *testing.T) {
	text := readGzip(t, filepath.Join("testdata", "containerd-1.6.20-umount2.log.gz"))
	want := Parse(Source{File: "j", Text: text})
	for name, lead := range map[string]func(n int) string{
		"compose": func(int) string { return "app_1  | " }, "kubectl": func(int) string { return "[pod/a-1/b] " },
		"grep": func(n int) string { return fmt.Sprintf("x.log:%d:", n) }, "less": func(n int) string { return fmt.Sprintf("%7d\t", n) },
		"stamps": func(n int) string { return fmt.Sprintf("19:%02d:%02d.%03d app: ", n/60%60, n%60, n%999) },
	} {
		var recs []event.Record
		var lines []string
		for i, line := range strings.Split(text, "\n") {
			lines = append(lines, lead(i+1)+line)
			recs = append(recs, rec(i+1, "", 0, lines[i]))
		}
		found := collect(recs)
		require.Len(t, found, 1, name)
		got := Parse(found[0].Source)
		checkLaws(t, got, lines)
		require.Equal(t, want.Fingerprint(), got.Fingerprint(), name)
		require.Zero(t, got.Skipped, name)
	}
	for _, talk := range [][]string{
		{"it hung in goroutine 7 [select]:", "and never came back"},
		{"panic in goroutine 7 [running]: no dump", "main.f()"},
	} {
		recs := []event.Record{rec(1, "a", 1, talk[0]), rec(2, "a", 1, talk[1])}
		require.Empty(t, collect(recs), talk[0])
	}
	// Two containers write at once; their numbers tell them apart.
	require.Len(t, collect([]event.Record{
		rec(1, "", 0, "app_1 | goroutine 1 [select]:"), rec(2, "", 0, "app_1 | main.f()"), rec(3, "", 0, "app_2 | main.g()"), rec(4, "", 0, "app_1 | main.h()"),
	}), 1)
}

// A logger may write the stack beside the message.
func TestCollectorField(t *testing.T) {
	r := rec(3, "app", 1, "stuck")
	r.Fields = []event.Pair{{Key: "stack", Value: "goroutine 5 [select]:\nmain.f()\n"}, {Key: "note", Value: "goroutine 5 [select]:"}}
	found := collect([]event.Record{r})
	require.Len(t, found, 1)
	require.Len(t, Parse(found[0].Source).Goroutines, 1)
}

// A profile in text stands in logs too: in one message, or a line of its own for each line.
func TestCollectorProfile(t *testing.T) {
	text := readGzip(t, filepath.Join("testdata", "containerd-1.6.20-frozen-shim.debug1.log.gz"))
	var recs []event.Record
	var lines []string
	for i, line := range strings.Split(text, "\n") {
		recs, lines = append(recs, rec(len(recs)+1, "app", 7, line)), append(lines, line)
		if i%20 == 5 {
			recs, lines = append(recs, rec(len(recs)+1, "kubelet", 9, "hello")), append(lines, "hello")
		}
	}
	recs, lines = append(recs, rec(len(recs)+1, "app", 7, "goroutine 1 [running]:")), append(lines, "goroutine 1 [running]:")
	recs = append(recs, rec(len(recs)+1, "app", 7, "goroutine profile: total 1\n1 @ 0x43\n#\t0x43\tmain.f+0x1\t/x.go:1\n"))
	lines = append(lines, "goroutine profile: total 1 1 @ 0x43 main.f")
	found := collect(recs)
	require.Len(t, found, 3)
	var counts []int
	for _, f := range found {
		d := Parse(f.Source)
		checkLaws(t, d, lines)
		counts = append(counts, d.Count())
	}
	require.Equal(t, []int{111, 1, 1}, counts)
}
