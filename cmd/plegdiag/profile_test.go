//go:build profile

package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/cli"
)

// TestProfile writes to the file that its first argument names where the time of analyze is spent
// on the bundles that the others name, for make profile. The profile names no path of this machine.
func TestProfile(t *testing.T) {
	require.Greater(t, flag.NArg(), 1)
	var raw bytes.Buffer
	require.NoError(t, pprof.StartCPUProfile(&raw))
	for _, bundle := range flag.Args()[1:] {
		for range 3 {
			require.Equal(t, cli.StatusDone, run([]string{"analyze", "-o", "json", bundle}, strings.NewReader(""), io.Discard, io.Discard), bundle)
		}
	}
	pprof.StopCPUProfile()
	p, err := profile.Parse(&raw)
	require.NoError(t, err)
	for _, m := range p.Mapping {
		m.File, m.BuildID = "plegdiag", ""
	}
	out, err := os.Create(flag.Arg(0))
	require.NoError(t, err)
	require.NoError(t, p.Write(out))
	require.NoError(t, out.Close())
}
