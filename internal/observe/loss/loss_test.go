package loss_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/loss"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

func TestLoss(t *testing.T) {
	noon := event.At(time.Date(2025, 11, 8, 12, 0, 0, 0, time.UTC))
	for _, tc := range []struct {
		unit, text string
		of, reach  string
		messages   string
		back       time.Duration // how far it reaches back from its line
		edge       event.Edge
		said       string
		not        bool
	}{
		{unit: "systemd-journald", text: "Suppressed 4523 messages from kubelet.service", of: "kubelet", reach: "node", messages: "4523", back: 30 * time.Second, said: "journald suppressed 4523 messages of kubelet.service"},
		{unit: "systemd-journal", text: "Suppressed 1245 messages from /system.slice/docker.service", of: "dockerd", reach: "node", messages: "1245", back: 30 * time.Second, said: "journald suppressed 1245 messages of /system.slice/docker.service"},
		{unit: "journal", text: "Suppressed 917 messages from /", reach: "node", messages: "917", back: 30 * time.Second, said: "journald suppressed 917 messages of /"},
		{unit: "systemd-journald", text: "Suppressed 3 messages from sshd.service", of: "sshd", reach: "node", messages: "3", back: 30 * time.Second, said: "journald suppressed 3 messages of sshd.service"},
		{unit: "systemd-journald", text: "Missed 81 kernel messages", of: "kernel", reach: "node", messages: "81", said: "journald missed 81 messages of the kernel"},
		{unit: "systemd-journald", text: "/dev/kmsg buffer overrun, some messages lost.", of: "kernel", reach: "node", said: "journald missed messages of the kernel"},
		{unit: "systemd-journald", text: "File /var/log/journal/a1b2/system.journal corrupted or uncleanly shut down, renaming and replacing.", reach: "node", back: 5 * time.Minute, said: "the journal was not closed: its last minutes may be missing"},
		{unit: "systemd-journald", text: "File /var/log/journal/a1b2/user-1000.journal corrupted or uncleanly shut down, renaming and replacing.", not: true},
		{unit: "systemd-journald", text: "Forwarding to syslog missed 138 messages.", reach: "node", messages: "138", back: 30 * time.Second, said: "syslog did not get 138 messages of the journal"},
		{unit: "rsyslogd-2177", text: "imjournal: begin to drop messages due to rate-limiting", reach: "file", edge: event.Begin, said: "rsyslog drops what imjournal reads"},
		{unit: "rsyslogd", text: "imjournal from <node-1:kubelet>: begin to drop messages due to rate-limiting", reach: "file", edge: event.Begin, said: "rsyslog drops what imjournal reads"},
		{unit: "rsyslogd", text: "imjournal: 84667 messages lost due to rate-limiting (20000 allowed within 600 seconds)", reach: "file", messages: "84667", edge: event.End, said: "rsyslog has dropped 84667 messages that imjournal read"},
		{unit: "rsyslogd-2177", text: "imuxsock[pid 22830]: begin to drop messages due to rate-limiting", reach: "file", edge: event.Begin, said: "rsyslog drops what imuxsock reads"},
		{unit: "rsyslogd", text: "action 'action-0-builtin:omfile' suspended (module 'builtin:omfile'), retry 0. There should be messages before this one giving the reason for suspension. [v8.2312.0 try https://www.rsyslog.com/e/2007 ]", reach: "file", edge: event.Begin, said: "rsyslog cannot write a file"},
		{unit: "rsyslogd", text: "action 'action-0-builtin:omfile' resumed (module 'builtin:omfile') [v8.2312.0 try https://www.rsyslog.com/e/2359 ]", reach: "file", edge: event.End, said: "rsyslog cannot write a file"},
		{unit: "kernel", text: "net_ratelimit: 23807 callbacks suppressed", of: "kernel", reach: "node", messages: "23807", back: 5 * time.Second, said: "the kernel did not print 23807 messages of net_ratelimit"},
		{unit: "kernel", text: "printk: 12 messages suppressed.", of: "kernel", reach: "node", messages: "12", back: 5 * time.Second, said: "the kernel did not print 12 messages of printk"},
		{unit: "", text: "Journal file /var/log/journal/a1/system.journal has been rotated since journalctl was started, output may be incomplete.", reach: "file", said: "the journal was rotated while it was read"},
		{unit: "fluentd", text: "Suppressed 4523 messages from kubelet.service", not: true},
		{unit: "kubelet", text: "imjournal: 84667 messages lost due to rate-limiting", not: true},
		{unit: "systemd-journald", text: "Suppressed by policy", not: true},
		{unit: "rsyslogd", text: "action 'action-0-builtin:omfile' is slow", not: true},
	} {
		rec := &event.Record{Pos: event.Pos{File: "messages", Line: 7}, Time: noon, Unit: tc.unit, Text: tc.text, Raw: "Nov 08 12:00:00 node-1 " + tc.unit + ": " + tc.text}
		e, ok := loss.NewEvent(rec)
		require.Equal(t, !tc.not, ok, tc.text)
		if tc.not {
			continue
		}
		require.Equal(t, event.KindLoss, e.Kind)
		require.Equal(t, tc.said, e.Text)
		require.Equal(t, tc.edge, e.Span.Edge, tc.text)
		require.Equal(t, noon.T.Add(-tc.back), e.Start.T, tc.text)
		for key, want := range map[event.Key]string{"of": tc.of, "reach": tc.reach, "messages": tc.messages} {
			v, _ := e.Get(key)
			require.Equal(t, want, v.Text(), "%s of %s", key, tc.text)
		}
		require.Equal(t, rec.Raw, e.Evidence[0].Text)
		require.True(t, scan.ContainsAny(rec.Raw, loss.Literals()), "the prefilter lets it through")
	}
}

func TestLossOfAMessage(t *testing.T) {
	e, ok := loss.NewEvent(&event.Record{Pos: event.Pos{File: "j.json", Line: 3}, Unit: "containerd", Lost: true, Raw: `{"MESSAGE":null}`})
	require.True(t, ok)
	of, _ := e.Get("of")
	require.Equal(t, "containerd", of.Text())
}
