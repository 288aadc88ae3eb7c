package held

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// opened is a directory dumps below a root, held open.
func opened(t *testing.T) (d *Dir, path string) {
	t.Helper()
	root := t.TempDir()
	path = filepath.Join(root, "run", "dumps")
	require.NoError(t, os.MkdirAll(path, 0o755))
	d, err := Open(root, "/run/dumps", uint32(os.Getuid()))
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d, path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestFind(t *testing.T) {
	d, path := opened(t)
	write(t, filepath.Join(path, "stacks-1.log"), "one")
	write(t, filepath.Join(path, "other.log"), "two")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(path, "stacks-2.log")))
	require.NoError(t, os.Mkdir(filepath.Join(path, "stacks-3.log"), 0o700))
	all := d.Find("stacks-*.log", "")
	require.Len(t, all, 1, "links and directories are no dumps")
	require.Equal(t, "/run/dumps/stacks-1.log", all[0].Path)
	require.Equal(t, int64(3), all[0].Size)
	require.Len(t, d.Find("stacks-*.log"), 1, "it can be asked again")
}

func TestRemove(t *testing.T) {
	d, path := opened(t)
	name := filepath.Join(path, "stacks.log")
	found := func() *File {
		all := d.Find("stacks.log")
		require.Len(t, all, 1)
		return &all[0]
	}
	write(t, name, "one")
	f := found()
	require.NoError(t, d.Remove(f))
	require.NoFileExists(t, name)
	require.ErrorIs(t, d.Remove(f), os.ErrNotExist)

	write(t, name, "one")
	f = found()
	write(t, name, "one and more")
	require.ErrorContains(t, d.Remove(f), "it has changed since it was copied")
	require.FileExists(t, name)

	f = found()
	victim := filepath.Join(t.TempDir(), "victim")
	write(t, victim, "a")
	require.NoError(t, os.Remove(name))
	require.NoError(t, os.Symlink(victim, name))
	require.Error(t, d.Remove(f))
	require.FileExists(t, victim)

	require.NoError(t, os.Remove(name))
	require.NoError(t, os.Link(victim, name))
	require.ErrorContains(t, d.Remove(found()), "it has a second name")
	require.FileExists(t, victim)

	require.NoError(t, os.Remove(name))
	write(t, name, "mine")
	d.user++
	require.ErrorContains(t, d.Remove(found()), "it belongs to user")
	require.FileExists(t, name)
}

// The directory that was opened counts, not what has its name later; and no link leads to one.
func TestDirectoryIsHeld(t *testing.T) {
	d, path := opened(t)
	write(t, filepath.Join(path, "stacks.log"), "one")
	f := &d.Find("*")[0]
	victim := t.TempDir()
	write(t, filepath.Join(victim, "stacks.log"), "victim")
	require.NoError(t, os.Rename(path, path+"-moved"))
	require.NoError(t, os.Symlink(victim, path))
	require.NoError(t, d.Remove(f))
	require.FileExists(t, filepath.Join(victim, "stacks.log"))
	require.NoFileExists(t, filepath.Join(path+"-moved", "stacks.log"))

	_, err := Open(filepath.Dir(filepath.Dir(path)), "/run/dumps", 0)
	require.ErrorContains(t, err, "/run/dumps")
	_, err = Open(filepath.Dir(filepath.Dir(path)), "/run/nothing", 0)
	require.ErrorIs(t, err, os.ErrNotExist)
}
