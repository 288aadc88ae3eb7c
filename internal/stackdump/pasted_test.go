package stackdump

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// pasted is a holder and a waiter as a program prints them.
const pasted = `goroutine 5 [semacquire, 3 minutes]:
sync.runtime_SemacquireMutex(0xc000130f84, 0x0, 0x1)
	/usr/local/go/src/runtime/sema.go:71 +0x47
sync.(*Mutex).lockSlow(0xc000130f80)
	/usr/local/go/src/sync/mutex.go:138 +0x105
github.com/docker/docker/daemon.(*Daemon).ContainerInspectCurrent(0xc00000c1e0, 0xc012072016, 0x40)
	/src/daemon/inspect.go:40 +0xa30
created by net/http.(*Server).Serve
	/usr/local/go/src/net/http/server.go:2969 +0x36c

goroutine 7 [select, 4 minutes]:
github.com/containerd/ttrpc.(*Client).dispatch(0xc000600000, 0x1)
	/src/ttrpc/client.go:300 +0x1
created by net/http.(*Server).Serve
	/usr/local/go/src/net/http/server.go:2969 +0x36c
`

// stacksOf is what a damage must not change: states, functions and lines, without ids.
func stacksOf(d *Dump) (all []string) {
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		var s strings.Builder
		s.WriteString(g.State + " " + g.Wait.String())
		for _, f := range g.Frames {
			s.WriteString(" " + f.Func + ":" + baseOf(f.File))
		}
		all = append(all, s.String()+" by "+g.CreatedBy.Func)
	}
	return all
}

func baseOf(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }

// TestPasted damages a dump as people and editors do: it stays the same dump, and what is quoted
// stands there.
func TestPasted(t *testing.T) {
	want := stacksOf(Parse(Source{File: "f", Line: 1, Text: pasted}))
	replace := func(pattern, by string) func(string) string {
		return func(s string) string { return regexp.MustCompile(pattern).ReplaceAllString(s, by) }
	}
	escape := strings.NewReplacer("_", `\_`, "*", `\*`)
	for name, damage := range map[string]func(string) string{
		"ids elided":          replace(`goroutine \d+`, "goroutine …"),
		"ids as dots":         replace(`goroutine \d+`, "goroutine ..."),
		"ids lost":            replace(`goroutine \d+ `, "goroutine "),
		"colons lost":         replace(`(?m)\]:$`, "]"),
		"arguments elided":    replace(`\(0x[^)]*\)`, "(...)"),
		"paths elided":        replace(`\t/[^ ]*/([a-z_]+\.go)`, "\t.../x/$1"),
		"offsets lost":        replace(` \+0x[0-9a-f]+`, ""),
		"indentation lost":    replace(`\t`, ""),
		"indented by blanks":  replace(`\t`, "        "),
		"quoted":              replace(`(?m)^`, "> "),
		"a list":              replace(`(?m)^(.)`, "- $1"),
		"in a fence":          func(s string) string { return "```\n" + s + "```\n" },
		"in HTML":             func(s string) string { return "<pre>\n" + html.EscapeString(s) + "</pre>\n" },
		"breaks of HTML":      replace(`(?m)(.)$`, "$1<br>"),
		"escaped by Markdown": escape.Replace,
		"escaped in a quote":  func(s string) string { return replace(`(?m)^`, "> ")(escape.Replace(s)) },
		"titles of blocks":    replace(`(?m)^(goroutine .*\])(:)$`, "$1\n\n```\n$1$2"),
		"breaks escaped, too": replace(`\)\n\t(/.*)(\n)`, `)\n\t$1\n$2`),
		"bold heads":          replace(`(?m)^(goroutine .*:)$`, "**$1**"),
		"lines with capitals": replace(`(?m)^goroutine`, "Goroutine"),
		"links of Markdown":   replace(`(github\.com/[a-z]+/[a-z]+)`, "[$1](http://$1)"),
	} {
		t.Run(name, func(t *testing.T) {
			text := damage(pasted)
			d := Parse(Source{File: "f", Line: 1, Text: text})
			require.Empty(t, d.Skips)
			checkLaws(t, d, strings.Split(text, "\n"))
			require.Equal(t, want, stacksOf(d))
		})
	}
}

// TestBackwards reads a dump whose last line stands first.
func TestBackwards(t *testing.T) {
	all := strings.Split(pasted, "\n")
	slices.Reverse(all)
	d := Parse(Source{File: "f", Line: 1, Text: strings.Join(all, "\n")})
	require.Empty(t, d.Skips)
	require.Equal(t, stacksOf(Parse(Source{File: "f", Text: pasted})), stacksOf(d))
	for _, g := range d.Goroutines {
		require.Equal(t, g.Header, all[g.Pos.Line-1])
		require.Contains(t, all[g.Frames[0].Pos.Line-1], g.Frames[0].Raw)
	}
	recs := make([]event.Record, len(all))
	for i, line := range all {
		recs[i] = rec(i+1, "u", 1, line)
	}
	found := collect(recs)
	require.Len(t, found, 1)
	d = Parse(found[0].Source)
	require.True(t, d.Incomplete, "a log's lines before the first header are not kept")
	require.Len(t, d.Goroutines, 2)
	require.Len(t, d.Goroutines[0].Frames, 3)
	require.Equal(t, 16, d.Goroutines[0].Pos.Line)
}

// TestPastedLines: a log has a pasted dump line by line.
func TestPastedLines(t *testing.T) {
	for _, text := range []string{
		regexp.MustCompile(`goroutine \d+`).ReplaceAllString(strings.ReplaceAll(pasted, "_", `\_`), "goroutine …"),
		strings.ReplaceAll(pasted, "goroutine", "Goroutine"),
	} {
		var recs []event.Record
		for i, line := range strings.Split("it hangs:\n"+text, "\n") {
			recs = append(recs, rec(i+1, "u", 1, line))
		}
		found := collect(recs)
		require.Len(t, found, 1)
		require.Equal(t, stacksOf(Parse(Source{File: "f", Text: pasted})), stacksOf(Parse(found[0].Source)))
	}
}

// TestCallsOnOneLine: somebody left out the files and wrote a stack on one line.
func TestCallsOnOneLine(t *testing.T) {
	for _, between := range []string{" ", " <- ", " ← "} {
		text := "goroutine 98 [semacquire, 12 minutes]: " + strings.Join([]string{
			"sync.runtime_SemacquireMutex(...)", "sync.(*Mutex).Lock(...)", "k8s.io/kubernetes/x.(*PluginManager).GetPodNetworkStatus(0x1, 0x2)", "main.main()",
		}, between)
		d := Parse(Source{File: "f", Line: 1, Text: text})
		require.Empty(t, d.Skips)
		checkLaws(t, d, []string{text})
		require.Len(t, d.Goroutines, 1)
		require.Len(t, d.Goroutines[0].Frames, 4)
		require.Equal(t, "0x1, 0x2", d.Goroutines[0].Frames[2].Args)
		require.Len(t, d.Locks(nil), 1)
	}
}

// TestProse: sentences about goroutines are no goroutines.
func TestProse(t *testing.T) {
	for _, text := range []string{
		"goroutine … is stuck", "goroutine [1] waits", "the goroutine 7 [see below] hangs", "goroutine N [of many] waits",
		"Goroutine 5 - see above: it hangs", "1 @ home", "7 @ 0x12", "# 0x10 is the address", "3  0x1f in the log", "# see the address",
		"Goroutine leak [bug]:", "Goroutine 7 (running) created at:",
	} {
		require.Empty(t, Parse(Source{File: "f", Line: 1, Text: text}).Goroutines, text)
	}
}

// TestDelve reads the debugger's list, the stack of one goroutine, and a list with stacks.
func TestDelve(t *testing.T) {
	const list = `(dlv) goroutines
  Goroutine 1 - User: /src/cmd/main.go:237 github.com/containerd/containerd/cmd/containerd/command.App.func1 (0x16b2f1e) [chan receive 9223372036]
  Goroutine 2 - User: /usr/local/go/src/runtime/proc.go:307 runtime.gopark (0x43d2f6) [force gc (idle)]
  Goroutine 523 - User: /src/ttrpc/client.go:385 github.com/containerd/ttrpc.(*Client).dispatch (0xa1b2c3) [select]
* Goroutine 17 - User: /src/x.go:3 main.work (0x4a1b2c) (thread 4242)
[4 goroutines]
`
	d := Parse(Source{File: "f", Line: 1, Text: list})
	require.Empty(t, d.Skips)
	checkLaws(t, d, strings.Split(list, "\n"))
	var got []string
	for _, g := range d.Goroutines {
		require.Len(t, g.Frames, 1)
		got = append(got, g.State+" "+g.Frames[0].Func)
	}
	require.Equal(t, []string{
		"chan receive github.com/containerd/containerd/cmd/containerd/command.App.func1", "force gc (idle) runtime.gopark",
		"select github.com/containerd/ttrpc.(*Client).dispatch", "running main.work",
	}, got)
	require.False(t, d.Goroutines[2].Idle(), "of a list only one frame is known")
	const stack = `(dlv) goroutine 523 bt
 0  0x000000000043d2f6 in runtime.gopark
    at /usr/local/go/src/runtime/proc.go:307
 1  0x0000000000a1b2c3 in github.com/containerd/ttrpc.(*Client).dispatch
    at /src/ttrpc/client.go:385
 2  0x0000000000a1b2c3 in github.com/containerd/containerd/runtime/v2/task.(*taskClient).Update
    at /src/task.go:12
(dlv)
`
	d = Parse(Source{File: "f", Line: 1, Text: stack})
	require.Empty(t, d.Skips)
	checkLaws(t, d, strings.Split(stack, "\n"))
	require.Len(t, d.Goroutines, 1)
	require.Equal(t, uint64(523), d.Goroutines[0].ID)
	require.Len(t, d.Goroutines[0].Frames, 3)
	require.Equal(t, 385, d.Goroutines[0].Frames[1].Line)
	require.Equal(t, RPC, d.Goroutines[0].End().Kind)
	d = Parse(Source{File: "f", Line: 1, Text: strings.Replace(list, "\n  Goroutine 2", stack[strings.Index(stack, "\n"):strings.LastIndex(stack, "\n(dlv)")]+"\n  Goroutine 2", 1)})
	require.Len(t, d.Goroutines, 4)
	require.Len(t, d.Goroutines[0].Frames, 3, "the stack in the place of the list's one frame")
}

// TestDelveLocks: a list shows in which function of sync a goroutine waits, or that the function
// which it shows wants a lock.
func TestDelveLocks(t *testing.T) {
	const sema = " - User: /usr/local/go/src/runtime/sema.go:71 sync.runtime_Semacquire"
	d := Parse(Source{File: "f", Line: 1, Text: "(dlv) goroutines\n  Goroutine 1" + sema + "Mutex (0x46d3a6) [semacquire 922]\n" +
		"  Goroutine 2" + sema + "Mutex (0x46d3a6) [semacquire 922]\n  Goroutine 3" + sema + "RWMutexR (0x46d3a6) [semacquire 922]\n" +
		"  Goroutine 4" + sema + "RWMutex (0x46d3a6) [semacquire 922]\n  Goroutine 5" + sema + " (0x46d3a6) [semacquire 922]\n" +
		"  Goroutine 6 - User: /src/db.go:600 go.etcd.io/bbolt.(*DB).beginRWTx (0x55) [sync.Mutex.Lock]\n"})
	got := map[string]int{}
	for _, lock := range d.Locks(nil) {
		require.Empty(t, lock.Holders)
		for _, w := range lock.Waiters {
			got[lock.Type+" "+lock.Owner+" "+w.Mode]++
		}
	}
	require.Equal(t, map[string]int{"sync.Mutex  lock": 2, "sync.RWMutex  read": 1, "sync.RWMutex  write": 1, "sync.Mutex bbolt.(*DB) lock": 1}, got)
}

// TestProfileWithoutHeader: the counts of a profile, or only its stacks, without the first line.
func TestProfileWithoutHeader(t *testing.T) {
	const stack = "#\t0x46d3a6\tsync.runtime_SemacquireMutex+0x46\t/usr/local/go/src/runtime/sema.go:71\n" +
		"#\t0x47da44\tsync.(*Mutex).lockSlow+0x104\t/usr/local/go/src/sync/mutex.go:138\n" +
		"#\t0x32d1120\tk8s.io/kubernetes/x.(*PluginManager).GetPodNetworkStatus+0x130\t\t/src/plugins.go:389\n"
	for text, count := range map[string]int{"3 @ 0x43b945 0x44c1c5 0x44c1ae\n" + stack: 3, stack: 1} {
		d := Parse(Source{File: "f", Line: 1, Text: text})
		require.Empty(t, d.Skips)
		checkLaws(t, d, strings.Split(text, "\n"))
		require.True(t, d.Profile)
		require.Equal(t, count, d.Count())
		require.Len(t, d.Goroutines[0].Frames, 3)
		require.Len(t, d.Locks(nil), 1)
	}
}

// TestCrash keeps why a program ended.
func TestCrash(t *testing.T) {
	for _, reason := range []string{
		"fatal error: all goroutines are asleep - deadlock!", "fatal error: concurrent map writes", "panic: send on closed channel", "SIGABRT: abort",
	} {
		d := Parse(Source{File: "f", Line: 1, Text: reason + "\n\n" + pasted})
		require.Equal(t, event.Quote{Pos: event.Pos{File: "f", Line: 1}, Text: reason}, d.Crash)
		require.Empty(t, d.Skips)
	}
}

// TestCutCall: the arguments of the last call of a text that was cut are lost, its name is not.
func TestCutCall(t *testing.T) {
	head := "goroutine 7 [syscall, 9 minutes]:\nos.Stat(0xc0, 0x5e)\n\t/go/src/os/stat.go:13 +0x4d\n"
	d := Parse(Source{Text: head + "k8s.io/mount-utils.(*Mounter).IsLikelyNotMountPoint(0xc000be, 0xc0013\n"})
	require.Len(t, d.Goroutines, 1)
	frames := d.Goroutines[0].Frames
	require.Len(t, frames, 2)
	require.Equal(t, "k8s.io/mount-utils.(*Mounter).IsLikelyNotMountPoint", frames[1].Func)
	require.True(t, frames[1].Inlined, "a part of an address would be another one")
	require.True(t, d.Incomplete)
	require.Zero(t, d.Skipped)
	for _, text := range []string{
		head + "see work(0xc0 below\n",                             // prose
		head + "main.work(0xc0\nanother line\n",                    // not the end
		head + "main.work(0xc0\n" + head,                           // of the first of two
		"main.work(0xc0\n",                                         // of no goroutine
		head + "created by main.main\n\t/x.go:1\nmain.work(0xc0\n", // behind the last frame
	} {
		d := Parse(Source{Text: text})
		require.NotZero(t, d.Skipped, text)
	}
}

// TestTitled reads stacks without headers below the titles that somebody gave them, with the number
// that a script counted.
func TestTitled(t *testing.T) {
	stack := "main.wait(0xc000012340)\n\t/src/x.go:12 +0x7c\ncreated by main.main in goroutine 1\n\t/src/x.go:7 +0x1d\n"
	d := Parse(Source{File: "f", Text: "164 unique stacks\n138 occurrences. Sample stack trace:\n" + stack + "\nand one hangs here:\n\n" + stack})
	require.Len(t, d.Goroutines, 2)
	require.Equal(t, 139, d.Count())
	require.Equal(t, 3, d.Goroutines[0].Pos.Line)
	require.Equal(t, 10, d.Goroutines[1].Pos.Line)
	require.True(t, d.Incomplete)
	inside := "goroutine 7 [select]:\nmain.f(0x1)\n\t/src/x.go:3 +0x1\nhere it waits:\n" + stack
	require.Len(t, Parse(Source{Text: inside}).Goroutines, 1, "the stack goes on below the remark")
}

// TestHeadless reads a stack whose header somebody left out; prose and stacks of other languages
// are none.
func TestHeadless(t *testing.T) {
	d := Parse(Source{File: "f", Text: "\nmain.wait(0xc000012340)\n\t/src/x.go:12 +0x7c\nmain.main()\n\t/src/x.go:7 +0x1d\n"})
	require.Len(t, d.Goroutines, 1)
	require.Zero(t, d.Goroutines[0].ID)
	require.Equal(t, 2, d.Goroutines[0].Pos.Line)
	require.Equal(t, "main.wait", d.Goroutines[0].Frames[0].Func)
	require.Len(t, d.Goroutines[0].Frames, 2)
	require.True(t, d.IsExcerpt())
	d = Parse(Source{Text: "goroutine 84 gp=0x391de3d5a5a0 m=0 mp=0x5c4880 [syscall]:\nmain.main()\n\t/src/x.go:7 +0x1d\n"})
	require.False(t, d.IsExcerpt(), "the signal that ended the process came on its thread")
	for _, text := range []string{
		"see main.wait (it hangs)\n\t/src/x.go:12 +0x7c\n", "main.wait\n\t/src/x.go:12 +0x7c\n", "main.wait()\n\t/src/x.go:12\n", "main.wait()\n",
	} {
		require.Empty(t, Parse(Source{File: "f", Text: text}).Goroutines, text)
	}
}
