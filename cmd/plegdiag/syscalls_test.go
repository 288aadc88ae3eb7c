package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/cli"
)

// realTraces are samples of other packages, with what is known of them (the README.md beside them).
var realTraces = []string{
	"../../internal/observe/testdata/strace/runc-systemd-cgroup-dbus-stall.f.tt.T.yy.s256.strace.gz",
	"../../internal/observe/testdata/strace/dbus-write-blocked.attach.f.tt.T.yy.s64.strace.gz",
	"../../internal/observe/testdata/strace/dbus-serial-wrap.f.tt.T.default-s32.strace.gz",
	"../../internal/observe/testdata/strace/netlink-recvfrom-timeout.f.tt.T.yy.strace.gz",
	"../../internal/parse/testdata/strace/netlink-recvfrom-hang.attach.stderr.f.tt.T.log.gz",
	"../../internal/parse/testdata/strace/netlink-recvfrom-hang.attach.main-thread-only.log.gz",
	"../../internal/parse/testdata/strace/shim_delayed.log.gz",
	"../../internal/parse/testdata/strace/w.o.f.C.tt.T.log.gz",
	"../../internal/parse/testdata/strace/w.o.f.r.log.gz",
	"../../internal/parse/testdata/strace/w.o.f.c.w.U-all.log.gz",
	"../../internal/parse/testdata/strace/netlink-recvfrom-hang.attach.c.log.gz",
	"testdata/ff",
	"../../internal/parse/testdata/strace/synthetic_hostile.log",
}

func runSyscalls(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, cli.StatusDone, run(append([]string{"syscalls"}, args...), nil, &out, &errs), errs.String())
	return out.String()
}

func TestSyscallsGolden(t *testing.T) {
	for _, file := range realTraces {
		name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".gz"), ".log")
		t.Run(name, func(t *testing.T) {
			for ending, args := range map[string][]string{".txt": {file}, ".json": {file, "-o", "json"}} {
				got := runSyscalls(t, args...)
				require.Equal(t, got, runSyscalls(t, args...), "the same input, the same bytes")
				golden := filepath.Join("testdata/syscalls", name+ending)
				if *update {
					require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
				}
				want, err := os.ReadFile(golden)
				require.NoError(t, err, "accept with -update")
				require.Equal(t, string(want), got, "accept with -update")
			}
		})
	}
}

// TestSyscallsCounts: the table is the one that strace -C printed at the end of the same run.
func TestSyscallsCounts(t *testing.T) {
	var doc struct {
		Traces []struct {
			Calls map[string]struct {
				Count  int `json:"count"`
				Errors int `json:"errors"`
			} `json:"calls"`
		} `json:"traces"`
	}
	require.NoError(t, json.Unmarshal([]byte(runSyscalls(t, "../../internal/parse/testdata/strace/w.o.f.C.tt.T.log.gz", "-o", "json")), &doc))
	// execve, openat and wait4 of its table; the parser's tests compare all 38 rows
	calls := doc.Traces[0].Calls
	require.Len(t, calls, 38)
	require.Equal(t, 4, calls["execve"].Count)
	require.Equal(t, 13, calls["openat"].Count)
	require.NotContains(t, calls, "exit_group")
}
