package logs_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
)

// readAll reads every record of a log, each line wanted.
func readAll(t *testing.T, log string) (recs []event.Record) {
	t.Helper()
	for rec, err := range logs.ReadLines(lines.Input{Path: "f", R: strings.NewReader(log)}) {
		var skip *event.Skip
		require.False(t, err != nil && !errors.As(err, &skip), "%v", err)
		if err == nil {
			recs = append(recs, rec)
		}
	}
	return recs
}

// cutLine cuts a line into pieces of 16 KiB, as containerd's CRI logger and dockerd do.
func cutLine(line string) (pieces []string) {
	const size = 16 << 10
	for len(line) > size {
		pieces, line = append(pieces, line[:size]), line[size:]
	}
	return append(pieces, line)
}

// A logrus message that was cut on its way into a container's log is whole again.
func TestContainerPieces(t *testing.T) {
	const stamp = "2026-11-20T18:54:12.000000001Z"
	msg := "dump stacks: goroutine 9 [running]:\n" + strings.Repeat("main.f(0x1, {\"a\": \\})\n\t/x/y.go:7 +0x1d\n\n", 2000)
	line := fmt.Sprintf("time=%q level=info msg=%q pid=7", "2026-11-20T18:54:11Z", msg)
	var cri, docker strings.Builder
	pieces := cutLine(line)
	require.Greater(t, len(pieces), 3)
	for i, piece := range pieces {
		tag, end := "P", ""
		if i == len(pieces)-1 {
			tag, end = "F", "\n"
		}
		fmt.Fprintf(&cri, "%s stderr %s %s\n", stamp, tag, piece)
		row, err := json.Marshal(map[string]string{"log": piece + end, "stream": "stderr", "time": stamp})
		require.NoError(t, err)
		fmt.Fprintf(&docker, "%s\n", row)
	}
	cri.WriteString(stamp + " stderr F after\n")
	docker.WriteString(`{"log":"after\n","stream":"stderr","time":"` + stamp + `"}` + "\n")
	for name, log := range map[string]string{"cri": cri.String(), "docker": docker.String()} {
		t.Run(name, func(t *testing.T) {
			recs := readAll(t, log)
			require.Len(t, recs, 2)
			require.Equal(t, msg, recs[0].Text)
			require.Equal(t, []event.Pair{{Key: "pid", Value: "7"}}, recs[0].Fields)
			require.Len(t, recs[0].Pieces, len(pieces))
			require.Equal(t, len(pieces), recs[0].Lines)
			require.Equal(t, "after", recs[1].Text)
			text := strings.Split(log, "\n")
			require.Equal(t, "2026-11-20T18:54:11Z", recs[0].Time.T.UTC().Format("2006-01-02T15:04:05Z"))
			for _, p := range recs[0].Pieces {
				require.NotEmpty(t, text[p.Pos.Line-1])
			}
		})
	}
}

// rsyslog writes a message of several lines as one, control characters as #ooo.
func TestSyslogOctal(t *testing.T) {
	recs := readAll(t, "Nov 20 18:54:12 node-1 app[7]: goroutine 1 [running]:#012main.f(0x1)#012#011/x.go:7 +0x1\n"+
		"Nov 20 18:54:12 node-1 app[7]: issue #011 of many\n")
	require.Len(t, recs, 2)
	require.Equal(t, "goroutine 1 [running]:\nmain.f(0x1)\n\t/x.go:7 +0x1", recs[0].Text)
	require.Equal(t, "issue #011 of many", recs[1].Text)
}

// logrus before 1.0.3 wrote line breaks inside of a quoted message as they are; journald makes an
// entry of each line.
func TestUnescapedLogrus(t *testing.T) {
	const head = "Nov 28 02:02:14 node-1 containerd[1156]: "
	recs := readAll(t, head+"time=\"2017-11-28T02:02:14Z\" level=info msg=\"=== BEGIN goroutine stack dump ===\n"+
		head+"goroutine 1 [running]:\n"+head+"main.main()\n"+head+"        /go/src/main.go:63 +0x35\n"+
		head+"=== END goroutine stack dump ===\" pid=2222\n"+head+"after\n")
	require.Len(t, recs, 2)
	require.Equal(t, "=== BEGIN goroutine stack dump ===\ngoroutine 1 [running]:\nmain.main()\n        /go/src/main.go:63 +0x35\n=== END goroutine stack dump ===", recs[0].Text)
	require.Equal(t, []event.Pair{{Key: "pid", Value: "2222"}}, recs[0].Fields)
	require.Len(t, recs[0].Pieces, 5)
	require.Equal(t, "after", recs[1].Text)
}

// What journald did not keep of a message cut into pieces stands in it as a line of its own.
func TestPiecesSuppressed(t *testing.T) {
	const head = "Nov 20 18:54:12 node-1 "
	log := head + "containerd[43]: time=\"2026-11-20T18:54:11Z\" level=info msg=\"dump: goroutine 9 [running]:\\nmain.f(0x1)\\\n" +
		head + "systemd-journald[2]: Suppressed 7 messages from kubelet.service\n" +
		head + "systemd-journald[2]: Suppressed 3 messages from containerd.service\n" +
		head + "containerd[43]: n\\ngoroutine 12 [select]:\\nmain.g()\\n\"\n"
	recs := readAll(t, log)
	require.Len(t, recs, 3, "the dump is whole last")
	dump := recs[2]
	require.Equal(t, "dump: goroutine 9 [running]:\nmain.f(0x1)\nSuppressed 3 messages from containerd.service\nn\ngoroutine 12 [select]:\nmain.g()\n", dump.Text)
	require.Equal(t, 2, dump.Lines)
	var places []int
	for _, p := range dump.Pieces {
		places = append(places, p.Pos.Line)
	}
	require.Equal(t, []int{1, 3, 4}, places)
}
