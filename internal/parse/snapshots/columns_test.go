package snapshots

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListedColumns(t *testing.T) {
	for command, want := range map[string]string{
		"ps -eLo stat,wchan:24,comm | grep ^D":                                      "STAT WCHAN COMM",
		"ps -eLo stat,comm,wchan:28 | awk '$1 ~ /^D/' | sort | uniq -c | sort -rn":  "COUNT STAT COMM WCHAN",
		"ps axo pid,ppid,state,lstart,cmd | grep -v kworker | head -20":             "PID PPID S STARTED ARGS",
		"ps -eo pid= -o stat=,args=":                                                "PID STAT ARGS",
		"for s in $(pgrep shim); do timeout 10 ps --ppid $s -o pid,stat,comm; done": "PID STAT COMM",
		"timeout 5 ps --no-headers --format pid,stat,comm":                          "PID STAT COMM",
		"ps -eo stat,comm | awk '{print $2}' | sort | uniq -c":                      "",
		"ps -eo comm,args":                                       "",
		"ps -ef | grep pod":                                      "",
		"ps -eo pid,stat,comm | grep -c D":                       "",
		"ps -eo pid,stat,comm | wc -l":                           "",
		"ps -eo pid,stat,comm | sort | uniq -c | sort | uniq -c": "",
		"ps -eLo stat | cut -c1 | sort | uniq -c":                "",
		"ps -eo pid,stat,args | cut -c1-120":                     "PID STAT ARGS",
		"ps -eo pid,stat,comm | grep -E 'D|Z' | head":            "PID STAT COMM",
		"docker ps -o pid,stat":                                  "",
	} {
		require.Equal(t, want, ListedColumns(command), command)
	}
}
