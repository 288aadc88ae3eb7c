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

func TestPodUID(t *testing.T) {
	require.Equal(t, "0a1b2c3d-1111-2222-3333-444455556666", PodUID("/sys/fs/cgroup/kubepods.slice/kubepods-pod0a1b2c3d_1111_2222_3333_444455556666.slice/x"))
	require.Equal(t, "0a1b2c3d-1111-2222-3333-444455556666", PodUID("/kubepods/burstable/pod0a1b2c3d-1111-2222-3333-444455556666"))
	require.Empty(t, PodUID("/sys/fs/cgroup/kubepods.slice"))
}
