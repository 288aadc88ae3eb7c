package collect

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestSlowConsole(t *testing.T) {
	serial := written(t, "consoles", "tty0                 -WU (EC  p  )    4:1\nttyS0                -W- (EC  p a)    4:64\n")
	screen := written(t, "consoles", "tty0                 -WU (EC  p  )    4:1\n")
	loud, quiet := written(t, "printk", "7\t4\t1\t7\n"), written(t, "printk", "4\t4\t1\t7\n")
	require.Contains(t, findSlowConsole(serial, loud), "the console ttyS0")
	require.Empty(t, findSlowConsole(serial, quiet))
	require.Empty(t, findSlowConsole(screen, loud))
	require.Empty(t, findSlowConsole(filepath.Join(t.TempDir(), "none"), loud))
}

// The trigger gets w and nothing else, and only what the kernel writes afterwards is taken.
func TestPressSysrq(t *testing.T) {
	trigger := written(t, "sysrq-trigger", "")
	log := written(t, "kmsg", "6,1,1000000,-;old\n")
	var out bytes.Buffer
	tasks["sysrq"](&task{Bound: fileBound, Names: []string{log}, Items: []want{{Name: "kernel/sysrq-w", Source: trigger}}}, newFrames(&out))
	if findSlowConsole("/proc/consoles", "/proc/sys/kernel/printk") != "" {
		require.Contains(t, out.String(), `"outcome":"skipped"`)
		return
	}
	text, err := os.ReadFile(trigger)
	require.NoError(t, err)
	require.Equal(t, "w", string(text))
	require.NotContains(t, out.String(), "old")
	require.Contains(t, out.String(), `{"end":"kernel/sysrq-w"`)
}

// A process that is not the one of the walk is not traced.
func TestUntraceable(t *testing.T) {
	stat, err := os.ReadFile("/proc/self/stat")
	require.NoError(t, err)
	started := statFields(string(stat))[19]
	is, was := process{PID: os.Getpid(), Started: started}, process{PID: os.Getpid(), Started: started + "1"}
	require.Contains(t, was.whyUntraceable(), "ended")
	require.NotContains(t, is.whyUntraceable(), "ended")
}
