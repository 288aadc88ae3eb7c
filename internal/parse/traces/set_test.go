package traces

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// parts makes a set of texts, one for each thread from 101 on.
func parts(t *testing.T, texts ...string) (all []*Part) {
	t.Helper()
	for i, text := range texts {
		path := fmt.Sprintf("dir/w.strace.%d", 101+i)
		p, ok := NewPart(path, []byte(text))
		require.True(t, ok, "%q", text)
		p.Open = func() (io.Reader, io.Closer, error) { return strings.NewReader(text), io.NopCloser(nil), nil }
		all = append(all, p)
	}
	return all
}

// merged is what Merge gives, one call a line: thread, name, and how long it took.
func merged(t *testing.T, all []*Part) (lines []string) {
	t.Helper()
	for c, err := range Merge(all, nil) {
		require.NoError(t, err)
		if c.Name == "" {
			continue
		}
		line := fmt.Sprintf("%d %s %v", c.PID, c.Name, c.Duration)
		if c.Unfinished {
			line += " open"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestMerge(t *testing.T) {
	t.Run("in the order of returns; an open call lasts to the end of the set", func(t *testing.T) {
		require.Equal(t, []string{"102 write 10µs", "101 recvmsg 2s", "102 close 10µs", "103 umount2 7.5s open"}, merged(t, parts(t,
			"10:00:00.000000 recvmsg(3, {msg_namelen=0}, 0) = 16 <2.000000>\n",
			"10:00:01.000000 write(3, \"l\", 1) = 1 <0.000010>\n10:00:09.000000 close(3) = 0 <0.000010>\n",
			"10:00:01.500010 umount2(\"/run/rootfs\", 0",
		)))
	})
	t.Run("over midnight", func(t *testing.T) {
		require.Equal(t, []string{"102 close 1µs", "101 open 1µs", "103 dup 1µs", "101 read 1m0s open"}, merged(t, parts(t,
			"23:59:59.900000 open(\"/a\", 0) = 3 <0.000001>\n00:00:10.000001 read(0,",
			"23:59:58.000000 close(3) = 0 <0.000001>\n",
			"00:01:10.000000 dup(3) = 4 <0.000001>\n",
		)))
	})
	t.Run("without times one after the other", func(t *testing.T) {
		require.Equal(t, []string{"101 open 0s", "101 close 0s", "102 dup 0s", "102 read 0s open"}, merged(t, parts(t,
			"open(\"/a\", 0) = 3\nclose(3) = 0\n",
			"dup(3) = 4\nread(0,",
		)))
	})
}

// TestMergeFailures: what one part cannot give costs the others nothing.
func TestMergeFailures(t *testing.T) {
	all := parts(t, "10:00:00.000000 close(3) = 0 <0.000010>\n", "10:00:01.000000 dup(3) = 4 <0.000010>\n", "10:00:02.000000 dup(5) = 6 <0.000010>\nnoise\n")
	gone, broken := errors.New("gone"), errors.New("broken")
	all[0].Open = func() (io.Reader, io.Closer, error) { return nil, nil, gone }
	all[1].Open = func() (io.Reader, io.Closer, error) {
		return io.MultiReader(strings.NewReader("10:00:01.000000 dup(3) = 4 <0.000010>\n"), failing{broken}), io.NopCloser(nil), nil
	}
	var names []string
	skips := 0
	for c, err := range Merge(all, nil) {
		if skip, ok := errors.AsType[*event.Skip](err); ok {
			skips++
			require.Equal(t, event.Pos{File: "dir/w.strace.103", Line: 2}, skip.Pos)
			continue
		}
		require.NoError(t, err)
		names = append(names, c.Name)
	}
	require.Equal(t, []string{"dup", "dup"}, names)
	require.Equal(t, 1, skips)
	require.Equal(t, []error{gone, broken, nil}, []error{all[0].Err, all[1].Err, all[2].Err})
	for _, err := range Merge(parts(t, "10:00:00.000000 close(3) = 0\n", "10:00:01.000000 dup(3) = 4\n"), nil) {
		require.NoError(t, err)
		break // leaves nothing behind
	}
}

func TestPart(t *testing.T) {
	const line = "10:00:00.000000 close(3) = 0\n"
	for path, want := range map[string]int{
		"a/w.strace.114": 114, "w.strace.114.gz": 114, "w.4194304": 4194304,
		"w.strace": 0, "w.strace.20261121": 0, "w.strace.+5": 0, "w.strace.-5": 0, "w.": 0, "w.0": 0,
	} {
		p, ok := NewPart(path, []byte(line))
		require.Equal(t, want != 0, ok, path)
		if ok {
			require.Equal(t, want, p.Thread, path)
		}
	}
	_, ok := NewPart("w.114", []byte("7     "+line))
	require.False(t, ok, "its lines name their threads")
	p, _ := NewPart("w.114", []byte(line))
	room := int64(100)
	rest, ok := p.Hold(strings.NewReader(strings.Repeat(line, 100)), &room)
	require.False(t, ok)
	all, err := io.ReadAll(rest)
	require.NoError(t, err)
	require.Len(t, all, 100*len(line), "nothing of it is lost")
	require.Equal(t, time.Duration(0), p.shift)
}

// FuzzMerge: whatever the parts hold, every line of each is accounted for, and the merged calls are
// those of the parts.
func FuzzMerge(f *testing.F) {
	f.Add("10:00:00.000000 close(3) = 0 <0.000010>\n", "23:59:00 read(0,", "1795199297.1 dup(3) = 4\n +++ exited with 0 +++\n")
	f.Add("0", "\u0085", "\xfe\xff")
	f.Add("     0.000100 fsync(3) = 0\n", "x\n", "[pid 7] close(3) = 0\n% time     seconds  usecs/call     calls    errors syscall\n")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var all []*Part
		for i, text := range []string{a, b, c} {
			p := &Part{Path: fmt.Sprintf("w.%d", i+1), Set: "w", Thread: i + 1, first: firstStamp([]byte(text[:min(len(text), lines.HeadSize)]))}
			if text == "" {
				continue
			}
			p.Open = func() (io.Reader, io.Closer, error) { return strings.NewReader(text), io.NopCloser(nil), nil }
			all = append(all, p)
		}
		used := map[string]int{}
		for call, err := range Merge(all, nil) {
			if skip, ok := errors.AsType[*event.Skip](err); ok {
				used[skip.Pos.File] += skip.Lines
				continue
			}
			require.NoError(t, err)
			used[call.Pos.File] += call.Lines
			require.GreaterOrEqual(t, call.Duration, time.Duration(0))
		}
		for _, p := range all {
			require.NoError(t, p.Err)
			require.Equal(t, p.Stats.Lines-p.Stats.Blank, used[p.Path], p.Path)
		}
	})
}
