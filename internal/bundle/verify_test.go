package bundle

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var written = time.Date(2026, 11, 20, 18, 30, 0, 0, time.UTC)

// writeBundle is a bundle of three files and one thing that was not there.
func writeBundle(t *testing.T, name string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, name, "plegdiag-node-1")
	require.NoError(t, err)
	m := Manifest{Schema: ManifestSchema, Node: "node-1", Start: written, End: written}
	for _, item := range []Item{{Name: "proc/loadavg"}, {Name: "journal/kubelet.export.gz"}, {Name: "threads.jsonl"}} {
		item.Outcome, item.End = OK, written
		require.NoError(t, w.Add(&item, []byte(strings.Repeat(item.Name+"\n", 500))))
		m.Items = append(m.Items, item)
	}
	m.Items = append(m.Items, Item{Name: "dumps/kubelet.log", Outcome: Stuck, Why: "no answer in 10s", WChan: "nfs_wait_bit_killable"})
	require.NoError(t, w.Close(&m))
	return out.Bytes()
}

func TestVerify(t *testing.T) {
	for _, name := range []string{"b.tgz", "b.tar.zst"} {
		text := writeBundle(t, name)
		v, err := Verify(bytes.NewReader(text))
		require.NoError(t, err)
		require.Empty(t, v.Problems)
		require.Equal(t, 3, v.Files)
		require.Equal(t, "plegdiag-node-1", v.Root)
		require.Equal(t, Stuck, v.Manifest.Items[3].Outcome)
		require.Equal(t, text, writeBundle(t, name), "the same files give the same bytes")
	}
}

// Every change of the archive is found, and a cut at any byte leaves what comes before it good.
func TestVerifyFindsChanges(t *testing.T) {
	var plain bytes.Buffer
	head := newHead(bytes.NewReader(writeBundle(t, "b.tgz")))
	_, err := io.Copy(&plain, head.content(Limits{}.orDefault()))
	require.NoError(t, err)
	text := plain.Bytes()
	at := bytes.Index(text, []byte("proc/loadavg\nproc/loadavg"))
	text[at]++
	v, err := Verify(bytes.NewReader(text))
	require.NoError(t, err)
	require.Len(t, v.Problems, 2, "header and manifest say so: %v", v.Problems)
	text[at]--
	at = bytes.Index(text, []byte(`"outcome":"stuck"`))
	text[at+len(`"outcome":"`)]++ // of the manifest itself; SHA256SUMS is for sha256sum -c
	v, err = Verify(bytes.NewReader(text))
	require.NoError(t, err)
	require.Empty(t, v.Problems)

	packed := writeBundle(t, "b.tgz")
	for cut := range packed {
		v, err := Verify(bytes.NewReader(packed[:cut]))
		if err != nil {
			continue // not one member is whole
		}
		for _, p := range v.Problems {
			require.NotContains(t, p, "has changed")
		}
		if v.Manifest == nil {
			require.NotEmpty(t, v.Problems)
		}
	}
}

// The files of a bundle are those that Files yields, inflated or not.
func TestWrittenBundleIsRead(t *testing.T) {
	var names []string
	for f, err := range Files(context.Background(), Options{Inputs: []string{"-"}, Stdin: bytes.NewReader(writeBundle(t, "b.tgz"))}) {
		require.NoError(t, err)
		require.Equal(t, written, f.ModTime)
		names = append(names, strings.TrimPrefix(f.Path, "plegdiag-node-1/"))
	}
	require.Equal(t, []string{"proc/loadavg", "journal/kubelet.export.gz", "threads.jsonl", ManifestName, "SHA256SUMS"}, names)
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte("not a bundle"))
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Verify(bytes.NewReader(text))
		require.True(t, err != nil || v != nil)
	})
}
