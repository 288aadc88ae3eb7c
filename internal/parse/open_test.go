package parse

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

const tracedCall = "1234 10:00:00.000001 umount2(\"/run/x/rootfs\", 0) = 0 <12.000000>\n"

func TestOpen(t *testing.T) {
	broken := errors.New("broken")
	for _, tc := range []struct {
		name, in, format, out string
	}{
		{"plain", tracedCall, "strace", tracedCall},
		{"quoted", strings.Repeat("> "+tracedCall, 3), "strace", strings.Repeat(tracedCall, 3)},
		{"quoted text stays as it is", "> a word\n> another\n", Text, "> a word\n> another\n"},
		{"binary", "\x01\x02\x03\x04\x05\x06", "", "\x01\x02\x03\x04\x05\x06"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, err := Open(io.MultiReader(strings.NewReader(tc.in), iotest.ErrReader(broken)), "file")
			require.NoError(t, err)
			require.Equal(t, tc.format, in.Name)
			out, err := io.ReadAll(in.R)
			require.ErrorIs(t, err, broken, "an error of the reader is not lost")
			require.Equal(t, tc.out, string(out))
			require.True(t, strings.HasPrefix(tc.out, string(in.Head)))
		})
	}
	_, err := Open(strings.NewReader(""), "file")
	require.ErrorIs(t, err, ErrEmpty)
	_, err = Open(iotest.ErrReader(broken), "file")
	require.ErrorIs(t, err, broken)
}
