package logs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
)

// TestQuotedInALine holds that a line of klog keeps its time and text where somebody quotes it
// inside of a line.
func TestQuotedInALine(t *testing.T) {
	const said = `E0317 04:12:09.250417    2210 kubelet.go:1823] skipping pod synchronization - container runtime is down`
	for _, line := range []string{
		"`" + said + "`", `"` + said + `"`, "'" + said + "'.", "- the node says: " + said, "we see (`" + said + "`) all the time",
	} {
		a := parsetest.Read(t, parsetest.Format(t, "text"), []byte("what we see\n"+line+"\n"), nil)
		require.Len(t, a.Records, 2, line)
		r := &a.Records[1]
		require.True(t, r.Time.Known, line)
		require.Equal(t, 4*time.Hour+12*time.Minute+9*time.Second+250417*time.Microsecond, r.Time.T.Sub(r.Time.T.Truncate(24*time.Hour)), line)
		require.Equal(t, "skipping pod synchronization - container runtime is down", r.Text, line)
		require.Equal(t, line, r.Raw)
	}
	a := parsetest.Read(t, parsetest.Format(t, "text"), []byte("prices fell: E0317 04 of them] went\nI think E0317 is a code\n"), nil)
	for i := range a.Records {
		require.False(t, a.Records[i].Time.Known)
	}
}

// TestQuotedLineByLine holds that a line is read where somebody quotes it alone among sentences,
// as answers to mails do.
func TestQuotedLineByLine(t *testing.T) {
	const said = `time="2025-03-17T04:12:09.250417Z" level=info msg="failed to synchronize plugin: context deadline exceeded"`
	for _, mark := range []string{"> ", ">", ">> ", "> > ", " > "} {
		a := parsetest.Read(t, parsetest.Format(t, "text"), []byte("the runtime says\n"+mark+said+"\nand the plugin nothing\n"), nil)
		require.True(t, a.Records[1].Time.Known, mark)
		require.Equal(t, "failed to synchronize plugin: context deadline exceeded", a.Records[1].Text, mark)
		require.Equal(t, mark+said, a.Records[1].Raw)
	}
	a := parsetest.Read(t, parsetest.Format(t, "text"), []byte("it says\n> INFO: task runc:71 blocked for more than 120 seconds.\n"), nil)
	require.Equal(t, "INFO: task runc:71 blocked for more than 120 seconds.", a.Records[1].Text)
}

// TestUnitWithoutTag holds that a line that begins with the name of a unit is systemd's, at the
// time of the line before.
func TestUnitWithoutTag(t *testing.T) {
	const text = "Jun 09 14:37:00 node-1 containerd[10720]: loading plugin\n" +
		"containerd.service: start operation timed out. Terminating.\n" +
		"var-lib-data.mount: Mount process exited, code=exited, status=32/n/a\n" +
		"goroutine.go: no unit\n"
	a := parsetest.Read(t, parsetest.Format(t, "journal-short"), []byte(text), nil)
	require.Equal(t, []string{"containerd", "systemd", "systemd", "systemd"}, units(a.Records))
	require.Equal(t, a.Records[0].Time, a.Records[1].Time)
	require.Equal(t, "containerd.service: start operation timed out. Terminating.", a.Records[1].Text)
}

// TestCodeInASentence holds that a line of a journal is read where somebody sets it as code inside
// of a sentence, in a log and in prose, and that other code is not.
func TestCodeInASentence(t *testing.T) {
	const said = `Nov 03 07:41:26 node-1 crio[2210]: fatal error: concurrent map iteration and map write`
	for name, format := range map[string]parse.Format{
		"a log": parsetest.Format(t, "text"), "prose": {Name: parse.Prose, Reader: parse.Records(logs.ReadStamped)},
	} {
		a := parsetest.Read(t, format, []byte("what we see of `crio` is this:\nits log showed `"+said+"`, and no more\n"), nil)
		require.Len(t, a.Records, 2, name)
		require.False(t, a.Records[0].Time.Known, name)
		r := &a.Records[1]
		require.True(t, r.Time.Known, name)
		require.Equal(t, "node-1 crio", r.Host+" "+r.Unit, name)
		require.Equal(t, "fatal error: concurrent map iteration and map write", r.Text, name)
	}
}

// TestWholeLineIsCode holds that a line without a header is read where it is code as a whole, in a
// text and in prose, and that no other line of prose is.
func TestWholeLineIsCode(t *testing.T) {
	const said = "Warning ContainerGCFailed <invalid> (x1266 over 21h) kubelet failed to read it"
	for name, format := range map[string]parse.Format{
		"a log": parsetest.Format(t, "text"), "prose": {Name: parse.Prose, Reader: parse.Records(logs.ReadStamped)},
	} {
		a := parsetest.Read(t, format, []byte("we saw this on the node:\n- `"+said+"`\n"), nil)
		require.Len(t, a.Records, 2, name)
		require.Equal(t, said, a.Records[1].Text, name)
		require.Equal(t, said, a.Records[1].Raw, name)
		require.Equal(t, name == "a log", a.Records[0].Wanted, name)
	}
}

// TestGinkgoStamp holds that what a test of Kubernetes notes has its time.
func TestGinkgoStamp(t *testing.T) {
	const said = "Condition Ready of node worker-7 is false instead of true. Reason: KubeletNotReady, message: container runtime is down"
	a := parsetest.Read(t, parsetest.Format(t, "text"), []byte("Mar  9 17:20:41.083: INFO: "+said+"\n"), nil)
	require.Len(t, a.Records, 1)
	require.True(t, a.Records[0].Time.Known)
	require.Equal(t, said, a.Records[0].Text)
	require.Empty(t, a.Records[0].Host+a.Records[0].Unit)
}

// TestSections holds that a line between two logs ends what is known of the writer of the first:
// its time, its process and its host are not those of the lines below.
func TestSections(t *testing.T) {
	const text = "==> kubelet <==\n" +
		"Sep 05 07:00:54 minikube kubelet[2868]: E0905 07:00:54.420562    2868 pod_workers.go:1301] text\n" +
		"goes on\n" +
		"==> storage-provisioner [fe3b3c9de004] <==\n" +
		"goroutine 4410 [sync.Mutex.Lock, 12 minutes]:\n" +
		"I0905 07:00:55.000000       1 leaderelection.go:243] text\n" +
		"==> /var/log/kern.log <==\n" +
		"-- No entries --\n" +
		"INFO: task a:1 blocked for more than 120 seconds.\n"
	a := parsetest.Read(t, parsetest.Format(t, "journal-short"), []byte(text), nil)
	var got []string
	for i := range a.Records {
		r := &a.Records[i]
		got = append(got, fmt.Sprintf("%d %s %s %d %t", r.Pos.Line, r.Host, r.Unit, r.PID, r.Time.Known))
	}
	require.Equal(t, []string{
		"1   0 false", "2 minikube kubelet 2868 true", "3 minikube kubelet 2868 true", "4   0 false", "5  container 0 false",
		"6  container 1 true", "7   0 false", "8   0 false", "9  kernel 0 false",
	}, got)
}

// TestBootLog holds that lines of a boot without stamps are the kernel's, and that nothing else of
// the text is taken for its.
func TestBootLog(t *testing.T) {
	const text = "Freeing unused kernel memory: 1260k freed\nata3: SATA link down (SStatus 0 SControl 300)\nsome words\nSELinux: initialized (dev cgroup, type cgroup), uses genfs_contexts\n"
	a := parsetest.Read(t, parsetest.Format(t, "text"), []byte(text), nil)
	require.Equal(t, []string{"kernel", "kernel", "", "kernel"}, units(a.Records))
	a = parsetest.Read(t, parsetest.Format(t, "text"), []byte("Freeing unused kernel memory: 1260k freed\nsome words\n"), nil)
	require.Equal(t, []string{"", ""}, units(a.Records))
}

func units(records []event.Record) (all []string) {
	for i := range records {
		all = append(all, records[i].Unit)
	}
	return all
}
