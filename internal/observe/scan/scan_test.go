package scan

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestContainerID(t *testing.T) {
	full := strings.Repeat("0123456789abcdef", 4)
	for in, want := range map[string]string{
		full:             full,
		`"` + full + `"`: full,
		"40585f73...":    "40585f73",
		"40585f73":       "40585f73",
		full + "0":       "",
		"facade":         "",
		"12345":          "",
		"40585f73xyz":    "",
		"":               "",
	} {
		require.Equal(t, want, ContainerID(in), in)
	}
}
