package messages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIsApplication tells lines of Java's and Python's loggers from those of daemons.
func TestIsApplication(t *testing.T) {
	for _, line := range []string{
		"14:54:39,154 ERROR [raft-38] etcdserver: request timed out, tenant 43492",
		"2026-03-28T14:54:39.154203708Z stdout F 14:54:39,154 WARN  [kiosk-3] Did not receive a reply",
		"2026-03-28 14:54:39,154 - root - WARNING - PLEG is not healthy",
		"[2026-03-28 14:54:39,154] INFO Shutdown completed (kafka.server.KafkaServer)",
		"2026-03-28T14:54:39.154Z ERROR 1 --- [kiosk-2] c.e.Bus : Did not receive a reply",
	} {
		require.True(t, isApplication(line), line)
	}
	for _, line := range []string{
		"", ",", ",14:54:39,154", "14:54:39,154", "14:54:39,15",
		"Mar 28 14:54:39 node-1 kubelet[812]: E0328 14:54:39.154203 812 kubelet.go:1871] PLEG is not healthy",
		"2026-03-28T14:54:39,154203+00:00 INFO: task umount:77 blocked for more than 120 seconds.", // dmesg --time-format iso
		`time="2026-03-28T14:54:39.154Z" level=error msg="one, two" error="a --- [b]"`,
		"14:54:39,154 umount2(\"/run\", MNT_DETACH) = 0",
	} {
		require.False(t, isApplication(line), line)
	}
}
