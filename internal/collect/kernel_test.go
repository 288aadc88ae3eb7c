package collect

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// A part is rounded up, as df does: what has one block left of a million is full.
func TestShareOf(t *testing.T) {
	for _, c := range [][3]uint64{{0, 100, 0}, {1, 100, 1}, {9901, 10000, 100}, {9900, 10000, 99}, {100, 100, 100}, {0, 0, 0}} {
		require.Equal(t, c[2], shareOf(c[0], c[1]), "%v", c)
	}
}

// Where two programs hang in the kernel, no other is started.
func TestNoProgramAfterTwoThatHang(t *testing.T) {
	c := collector{}
	c.manifest.Items = []bundle.Item{{Outcome: bundle.Stuck}, {Outcome: bundle.Stuck}, {Outcome: bundle.OK}, {Outcome: bundle.Stuck}}
	require.Empty(t, c.whyNoProgram(2), "those before are of another step")
	c.manifest.Items = append(c.manifest.Items, bundle.Item{Outcome: bundle.Stuck})
	require.NotEmpty(t, c.whyNoProgram(2))
}

// A file system is asked where it is mounted at a directory: what is mounted at a file is often of
// the machine that this node runs on, and nobody writes to an image.
func TestStatMountsAtDirectories(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "os-release")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	mounts := filepath.Join(dir, "mountinfo")
	var text strings.Builder
	for i, m := range [][3]string{
		{"8:1", file, "ext4"}, {"8:1", dir, "ext4"}, {"8:1", os.TempDir(), "ext4"}, {"8:2", file, "ext4"}, {"7:0", dir, "squashfs"},
	} {
		fmt.Fprintf(&text, "%d 1 %s / %s rw shared:1 - %s /dev/%d rw\n", i+30, m[0], m[1], m[2], i)
	}
	require.NoError(t, os.WriteFile(mounts, []byte(text.String()), 0o600))
	var out bytes.Buffer
	r := statMounts(&task{Bound: 5 * time.Second, Items: []want{{Name: "mounts/df.txt", Source: mounts}}}, itemWriter{newFrames(&out), "mounts/df.txt"})
	require.Empty(t, r.outcome)
	written := out.String()
	for _, not := range []string{file, "/dev/0", "/dev/2", "/dev/3", "/dev/4"} {
		require.NotContains(t, written, not)
	}
	require.Contains(t, written, "/dev/1 ")
	require.Contains(t, written, " "+dir+"\n")
}
