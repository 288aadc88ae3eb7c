package traces_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

func trace(t *testing.T, name string) *parsetest.Account {
	t.Helper()
	return parsetest.Read(t, parsetest.Format(t, "strace"), parsetest.Sample(t, "strace/"+name+".log.gz"), nil)
}

// TestStraceTruth holds what the makers of the traces measured (testdata/README.md).
func TestStraceTruth(t *testing.T) {
	t.Run("umount2 of the shim", func(t *testing.T) {
		var calls []traces.Syscall
		for _, s := range trace(t, "shim_delayed").Calls {
			if s.Name == "umount2" {
				calls = append(calls, s)
			}
		}
		require.Len(t, calls, 2)
		s := calls[0]
		require.Equal(t, 9100, s.PID)
		require.Equal(t, 60392363*time.Microsecond, s.Duration)
		require.Equal(t, "18:25:36.238768", s.Start.T.Format("15:04:05.000000"), "the resumed line's stamp is the end")
		require.Equal(t, []int{37, 39, 2}, []int{s.Pos.Line, s.EndPos.Line, s.Lines})
		require.True(t, s.Delayed)
		require.False(t, s.Injected || s.Unfinished || s.AtLeast)
		require.Equal(t, "0", s.Result)
		require.Equal(t, "EINVAL", calls[1].Errno)
		require.Equal(t, "-1 EINVAL (Invalid argument)", calls[1].Result)
	})
	t.Run("netlink", func(t *testing.T) {
		for _, name := range []string{
			"netlink-recvfrom-hang.attach.stderr.f.tt.T", "netlink-recvfrom-hang.attach.o.f.ttt.T.yy",
			"v7_netlink-hang.attach.always-show-pid.stderr.f.tt.T.yy.Y", "netlink-recvfrom-hang.attach.Y.y.stderr",
		} {
			a := trace(t, name)
			require.Zero(t, a.Skipped, name)
			var open []string
			for _, s := range a.Calls {
				if s.Unfinished {
					open = append(open, s.Name)
					require.True(t, s.AtLeast)
				}
				if s.Unfinished && s.Name == "recvfrom" {
					require.True(t, strings.HasPrefix(s.Args, "5"), s.Args)
					require.Equal(t, s.Start.Known, s.HasDuration)
				}
			}
			require.Len(t, open, 10, name)
			require.Contains(t, open, "recvfrom")
		}
	})
	t.Run("runc attached", func(t *testing.T) {
		a := trace(t, "runc_attached")
		require.Len(t, a.Calls, 10)
		for _, s := range a.Calls {
			require.True(t, s.Unfinished && s.AtLeast)
		}
	})
	t.Run("injected", func(t *testing.T) {
		injected := 0
		for _, s := range trace(t, "umount2-inject-EBUSY.f.tt.T").Calls {
			if s.Injected {
				injected++
				require.Equal(t, "EBUSY", s.Errno)
				require.Equal(t, "-1 EBUSY (Device or resource busy)", s.Result)
			}
		}
		require.Equal(t, 1, injected)
	})
}

// TestStraceCounts: per call, what came back and what failed are what strace -C counted in the same
// run.
func TestStraceCounts(t *testing.T) {
	a := trace(t, "w.o.f.C.tt.T")
	calls, errs := map[string]int{}, map[string]int{}
	for _, s := range a.Calls {
		if s.Name != "" && s.Result != "?" {
			calls[s.Name]++
			if s.Errno != "" {
				errs[s.Name]++
			}
		}
	}
	rows := 0
	for _, s := range a.Calls {
		if s.Count == nil {
			continue
		}
		if s.Count.Name == "total" {
			require.Equal(t, []int{239, 19}, []int{s.Count.Calls, s.Count.Errors})
			continue
		}
		rows++
		require.Equal(t, s.Count.Calls, calls[s.Count.Name], s.Count.Name)
		require.Equal(t, s.Count.Errors, errs[s.Count.Name], s.Count.Name)
	}
	require.Equal(t, 38, rows)
}

// TestStraceSameRun: the same program's calls are read alike, however the lines are decorated.
func TestStraceSameRun(t *testing.T) {
	for _, name := range []string{"w.stderr.f", "w.o.f.r", "w.o.f.r.tt.T", "w.o.f.unix-s.T-s", "w.o.f.tt.i.n", "v7_w.o.f.tt.T.color", "v7_w.o.f.tt.T.N-argnames"} {
		a := trace(t, name)
		require.Zero(t, a.Skipped, name)
		calls := map[string]int{}
		for _, s := range a.Calls {
			if s.Name == "" {
				require.True(t, strings.ContainsAny(s.Raw, "+-"), "%s: %q", name, s.Raw)
				continue
			}
			calls[s.Name]++
			require.NotEmpty(t, s.Result)
			require.NotContains(t, s.Args, "\x1b")
		}
		for call, n := range map[string]int{"execve": 4, "vfork": 3, "clone": 1, "kill": 1, "clock_nanosleep": 1, "exit_group": 4, "openat": 13} {
			require.Equal(t, n, calls[call], "%s in %s", call, name)
		}
	}
}

// TestStraceCutLines: every place where strace's own message may cut a line.
func TestStraceCutLines(t *testing.T) {
	const line = `[pid    12] 18:37:01.000000 clone(child_stack=NULL, flags=SIGCHLD, child_tidptr=0x7fab) = 17 <0.000126>`
	whole := parsetest.Read(t, parsetest.Format(t, "strace"), []byte(line+"\n"), nil).Calls[0]
	for cut := strings.Index(line, "child_stack"); cut <= strings.Index(line, " ="); cut++ {
		a := parsetest.Read(t, parsetest.Format(t, "strace"), []byte(line[:cut]+"strace: Process 17 attached\n"+line[cut:]+"\n"), nil)
		require.Zero(t, a.Skipped, "%d", cut)
		require.Len(t, a.Calls, 1)
		s := a.Calls[0]
		require.Equal(t, 2, s.Lines)
		require.Equal(t, []any{whole.Name, whole.Args, whole.Result, whole.Duration, whole.PID}, []any{s.Name, s.Args, s.Result, s.Duration, s.PID})
	}
}

func beside(f func()) { go f() }

// TestTraceAhead: a trace whose lines are taken apart ahead of their use tells the same, and
// whoever stops early has its reader back.
func TestTraceAhead(t *testing.T) {
	f := parsetest.Format(t, "strace")
	for _, name := range parsetest.SampleNames(t) {
		if !strings.HasPrefix(name, "strace/") {
			continue
		}
		data := parsetest.Sample(t, name)
		require.Equal(t, parsetest.Read(t, f, data, nil).Text.String(), parsetest.ReadInput(t, f, data, traces.Input{Input: lines.Input{Go: beside}}).Text.String(), name)

		r := &parsetest.Repeated{Text: data, N: 3, Err: io.EOF}
		for _, err := range traces.Read(traces.Input{Input: lines.Input{Path: "f", R: r, Go: beside}}) {
			_ = err // whatever comes first
			break
		}
		n := r.N
		runtime.Gosched()
		require.Equal(t, n, r.N) // with the race detector: nobody reads any more
	}
}

// traceSum is what a trace amounts to, whatever of it is passed on one by one.
type traceSum struct {
	lines    int
	calls    map[string]traces.CallTotal
	from, to time.Time // not how fine: a call that is left out has the precision of its neighbours
	dated    bool
}

func sumTrace(t *testing.T, data []byte, calls *traces.CallFilter) (s traceSum) {
	t.Helper()
	s.calls = map[string]traces.CallTotal{}
	add := func(c traces.CallTotal) {
		n := s.calls[c.Name]
		s.calls[c.Name] = traces.CallTotal{Name: c.Name, Calls: n.Calls + c.Calls, Errors: n.Errors + c.Errors, Total: n.Total + c.Total, Max: max(n.Max, c.Max)}
	}
	for c, err := range traces.Read(traces.Input{Input: lines.Input{Path: "f", R: bytes.NewReader(data)}, Calls: calls}) {
		if err != nil {
			require.True(t, parsetest.IsSkip(err))
			continue
		}
		s.lines += c.Lines
		if from, to := c.Span(); from.Known {
			if !s.dated || from.T.Before(s.from) {
				s.from = from.T
			}
			if !s.dated || to.T.After(s.to) {
				s.to = to.T
			}
			s.dated = true
		}
		for _, n := range c.Rest {
			add(n)
		}
		if c.Returned {
			n := traces.CallTotal{Name: c.Name, Calls: 1, Total: c.Duration, Max: c.Duration}
			if c.Errno != "" {
				n.Errors = 1
			}
			add(n)
		}
	}
	return s
}

// TestStraceRest: what a filter leaves out is counted, line for line, call for call, and nothing of
// its time is lost.
func TestStraceRest(t *testing.T) {
	for _, name := range parsetest.SampleNames(t) {
		if strings.HasPrefix(name, "strace/") {
			data := parsetest.Sample(t, name)
			whole := sumTrace(t, data, nil)
			require.Equal(t, whole, sumTrace(t, data, &traces.CallFilter{}), name)
			require.Equal(t, whole, sumTrace(t, data, &traces.CallFilter{Least: map[string]time.Duration{"": time.Millisecond, "read": 0}}), name)
		}
	}
}

// FuzzFilter: of any bytes, what a filter leaves out is counted.
func FuzzFilter(f *testing.F) {
	for _, name := range parsetest.SampleNames(f) {
		if strings.HasPrefix(name, "strace/") {
			b := parsetest.Sample(f, name)
			f.Add(b[:min(len(b), 4096)])
		}
	}
	f.Add([]byte("A(0\n00:00:00 A() = \n0,0--- "))
	f.Fuzz(func(t *testing.T, data []byte) {
		require.Equal(t, sumTrace(t, data, nil), sumTrace(t, data, &traces.CallFilter{Least: map[string]time.Duration{"read": 0}}))
	})
}

// More threads in a call than are followed cost a reason for each line, and not a look at all the
// others: 100 000 lines took a minute.
func TestThreadsBeyondBound(t *testing.T) {
	const threads, followed = 100_000, 1 << 16
	var text bytes.Buffer
	for i := range threads {
		fmt.Fprintf(&text, "%d 09:00:00.%06d read(3,  <unfinished ...>\n", 1000+i, i)
	}
	var stats lines.Stats
	open, skipped := 0, 0
	for c, err := range traces.Read(traces.Input{Input: lines.Input{Path: "f", R: &text, Stats: &stats}}) {
		switch {
		case err != nil:
			require.ErrorContains(t, err, "more than 65536 threads are in a call")
			skipped++
		case c.Unfinished:
			open++
		}
	}
	require.Equal(t, followed, open)
	require.Equal(t, threads-followed, skipped)
}
