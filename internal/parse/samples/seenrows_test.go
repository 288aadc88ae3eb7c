package samples

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// TestSeenRows: what a row says does not depend on the rows before it that were like it, also where
// another header has come between.
func TestSeenRows(t *testing.T) {
	const (
		withExe    = "TS,PID,TID,USERNAME,ST,COMMAND,SYSCALL,WCHAN,EXE,CMDLINE,KSTACK"
		withoutExe = "TS,PID,TID,USERNAME,ST,COMMAND,SYSCALL,WCHAN,CMDLINE,NSPID,KSTACK"
	)
	rows := []string{
		",900,901,root,D,(etcd),fdatasync,folio_wait_bit,etcd,1,->do_fsync()->folio_wait_bit()",
		",900,902,root,S,(etcd, main),futex,futex_wait_queue,etcd,1,->futex_wait()",
		",900,903,root,R,(etcd),[running],0,etcd,1,-",
		",x,904,root,R,(etcd),[running],0,etcd,1,-",
		" 900 905 root D (etcd) fdatasync folio_wait_bit etcd etcd",
	}
	var all []string
	for i, header := range []string{withExe, withoutExe, withExe} {
		all = append(all, header)
		for scan := range 3 {
			for _, row := range rows {
				all = append(all, fmt.Sprintf("2026-11-20 18:2%d:%02d.602%s", i, scan, row))
			}
			all = append(all, "2026-11-20 18:99:00.602"+rows[0]) // no time
		}
	}
	read := func(text ...string) (read []Sample, reasons []string) {
		for s, err := range ReadXCapture(lines.Input{Path: "f", R: strings.NewReader(strings.Join(text, "\n"))}) {
			if err != nil {
				reasons = append(reasons, err.Error())
				continue
			}
			if s.TID != 0 {
				require.Positive(t, s.Row)
				read = append(read, s.Clone())
			}
		}
		return read, reasons
	}
	together, reasons := read(all...)
	require.Len(t, together, 3*3*4)
	require.Len(t, reasons, 3*3*2)
	header, n, numbered := "", 0, map[int]string{}
	for _, line := range all {
		if strings.HasPrefix(line, "TS,") {
			header = line
			continue
		}
		alone, _ := read(header, line)
		if len(alone) == 0 {
			continue
		}
		got := together[n]
		if row, known := numbered[got.Row]; known {
			require.Equal(t, row, header+line[stampWidth:], "rows of one number differ in their time alone")
		}
		numbered[got.Row] = header + line[stampWidth:]
		got.Pos, got.Row, alone[0].Row = alone[0].Pos, 0, 0
		require.Equal(t, alone[0], got)
		n++
	}
	require.Len(t, numbered, 3*4, "a number for each row below each header")
}
