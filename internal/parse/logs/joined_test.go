package logs_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
)

// TestJoinedDump puts the dump that journald cut into four entries together again:
// it is the file that containerd wrote of the same dump, byte for byte.
func TestJoinedDump(t *testing.T) {
	truth := strings.TrimRight(string(parsetest.Sample(t, "goroutines/umount2.log.gz")), "\n")
	for _, name := range []string{"journal-short/umount2_all.log.gz", "journal-short/umount2_precise.log.gz", "journal-export/umount2.log.gz"} {
		t.Run(name, func(t *testing.T) {
			a := parsetest.Read(t, parsetest.Format(t, path.Dir(name)), parsetest.Sample(t, name), nil)
			var dump *event.Record
			for i := range a.Records {
				if strings.Contains(a.Records[i].Text, "=== BEGIN goroutine stack dump ===") {
					require.Nil(t, dump)
					dump = &a.Records[i]
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
	a := parsetest.Read(t, parsetest.Format(t, "journal-json"), parsetest.Sample(t, "journal-json/umount2.log.gz"), nil)
	require.Len(t, a.Skips, 12)
	require.ErrorContains(t, a.Skips[0], "collect it again with journalctl -o export")
}

// TestJoinCuts cuts a message at every place, also between a backslash and its letter, with other
// writers in between.
func TestJoinCuts(t *testing.T) {
	const msg = `time="2026-11-20T18:25:56Z" level=info msg="=== BEGIN\n\tgoroutine \"1\" \\ \u4e2d [running]:\nmain.main()\n=== END"`
	const text = "=== BEGIN\n\tgoroutine \"1\" \\ 中 [running]:\nmain.main()\n=== END"
	for cut := strings.Index(msg, "BEGIN"); cut < len(msg); cut++ {
		log := "Nov 20 18:25:56 n containerd[43]: " + msg[:cut] + "\n" +
			"Nov 20 18:25:56 n containerd[44]: " + `time="2026-11-20T18:25:56Z" level=info msg=other` + "\n" +
			"Nov 20 18:25:56 n systemd[1]: other\n" +
			"Nov 20 18:25:56 n containerd[43]: " + msg[cut:] + "\n"
		a := parsetest.Read(t, parsetest.Format(t, "journal-short"), []byte(log), nil)
		require.Len(t, a.Records, 3)
		require.Equal(t, "other", a.Records[0].Text)
		require.Equal(t, text, a.Records[2].Text)
		require.Equal(t, 2, a.Records[2].Lines)
		require.Equal(t, 4, a.Records[2].Pieces[1].Pos.Line)
	}
}

// TestNumbersAreNoTimes: inodes of a listing, counters of a cgroup.
func TestNumbersAreNoTimes(t *testing.T) {
	const text = "4026531843      0 lrwxrwxrwx   1 root root 8 Nov 22 02:57 /proc/net -> self/net\n9681488754 9522051915 \n1653322986\n"
	for _, rec := range parsetest.Read(t, parsetest.Format(t, "text"), []byte(text), nil).Records {
		require.False(t, rec.Time.Known, rec.Text)
	}
}

// TestBlanksBehindEveryLine: a terminal broke the lines, and somebody's tool put blanks, or a blank
// line, behind each.
func TestBlanksBehindEveryLine(t *testing.T) {
	const broken = "Nov 08 09:33:14 node-1 kubelet[2917]: E1108 09:33:14.540000    2917 kubelet.go:2\n" +
		"412] \"Skipping pod synchronization\" err=\"PLEG is not healthy: pleg was last seen\n" +
		" active 3m0.5s ago; threshold is 3m0s\"\n"
	for _, text := range []string{broken, strings.ReplaceAll(broken, "\n", "   \n"), strings.ReplaceAll(broken, "\n", "\n\n")} {
		a := parsetest.Read(t, parsetest.Format(t, "journal-short"), []byte(text), nil)
		require.Len(t, a.Records, 1, text)
		require.Contains(t, a.Records[0].Value("err"), "pleg was last seen active 3m0.5s ago")
		for _, piece := range a.Records[0].Pieces {
			require.NotEmpty(t, strings.TrimSpace(strings.Split(text, "\n")[piece.Pos.Line-1]), "a piece stands where a line is")
		}
	}
}

// TestBrokenAtAWidth: a mailer breaks each line at the last blank before a width. The messages are
// the same, but for how many blanks stood where it was broken.
func TestBrokenAtAWidth(t *testing.T) {
	for _, name := range []string{
		"journal-short/umount2_precise.log.gz", "journal-short/docker_precise.log.gz", "klog/synthetic_structured.log",
		"logrus/ticket_seed.log", "dmesg/iso.log",
	} {
		f := parsetest.Format(t, path.Dir(name))
		var whole strings.Builder
		for line := range strings.Lines(string(parsetest.Sample(t, name))) {
			if len(line) > 20 && len(line) < 2000 && !strings.HasPrefix(line, "-") && len(whole.String()) < 200_000 {
				whole.WriteString(line)
			}
		}
		want := messages(parsetest.Read(t, f, []byte(whole.String()), nil))
		require.NotEmpty(t, want)
		for _, width := range []int{66, 72, 76, 78} {
			var broken strings.Builder
			for line := range strings.Lines(whole.String()) {
				broken.WriteString(breakLine(line, width))
			}
			a := parsetest.Read(t, f, []byte(broken.String()), nil)
			requireQuoted(t, a, strings.Split(broken.String(), "\n"))
			got := messages(a)
			for i := range min(len(want), len(got)) {
				require.Equal(t, want[i], got[i], "%s at %d", name, width)
			}
			require.Len(t, got, len(want), "%s at %d", name, width)
		}
	}
}

// requireQuoted wants the lines of a message that was broken quoted as they are. A value that goes
// on in the next line by itself has no quotes.
func requireQuoted(t *testing.T, a *parsetest.Account, written []string) {
	t.Helper()
	quoted := 0
	for i := range a.Records {
		for _, p := range a.Records[i].Pieces {
			if p.Raw != "" {
				quoted++
				require.Equal(t, strings.TrimRight(written[p.Pos.Line-1], " "), p.Raw)
			}
		}
	}
	require.NotZero(t, quoted)
}

// messages is what the records of a file say.
func messages(a *parsetest.Account) (all []string) {
	for _, r := range a.Records {
		all = append(all, r.Unit+": "+strings.Join(strings.Fields(r.Text), " "))
	}
	return all
}

// breakLine breaks a line at the last blank before a width, again and again.
func breakLine(line string, width int) string {
	var out strings.Builder
	for len(line) > width+1 {
		at := strings.LastIndexByte(line[:width+1], ' ')
		if at <= 0 {
			if at = strings.IndexByte(line, ' '); at <= 0 {
				break
			}
		}
		out.WriteString(strings.TrimRight(line[:at], " ") + "\n")
		line = strings.TrimLeft(line[at:], " ")
	}
	return out.String() + line
}
