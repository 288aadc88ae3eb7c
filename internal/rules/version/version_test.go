package version

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionRange(t *testing.T) {
	for _, c := range []struct {
		version, affected string
		in, known         bool
	}{
		{"v1.13.12", "<1.14.0", true, true},
		{"v1.14.0", "<1.14.0", false, true},
		{"v1.14.0-alpha.1", "<1.14.0", true, true},
		{"v1.18.8-aliyun.1", ">=1.18.8", true, true}, // a vendor's build is no pre-release
		{"1.6.20~ds1", "1.6.20", true, true},
		{"17.06.0-ce", "<=17.06", true, true},
		{"1.7.17", ">=1.7.0 <1.7.17", false, true},
		{"1.7.16", ">=1.7.0, <1.7.17", true, true},
		{"2.0.1", "<1.6 || >=2.0.0", true, true},
		{"1.0.0-rc93", ">1.0.0-rc9 <1.0.0-rc100", true, true},
		{"1.0.0-rc93", "<1.0.0", true, true},
		{"252 (252.39-1~deb12u1)", ">=242", true, true},
		{"go1.26", "<1.27", true, true},
		{"", "<1.14.0", false, false},
		{"unknown", "<1.14.0", false, false},
		{"1.2.3.4.5", "<2", true, true},
	} {
		r, err := ParseRange(c.affected)
		require.NoError(t, err, c.affected)
		in, known := r.Contains(c.version)
		require.Equal(t, c.known, known, "%s %s", c.version, c.affected)
		require.Equal(t, c.in, in, "%s %s", c.version, c.affected)
	}
	for _, bad := range []string{"", "<", "|| 1.0", "1.0 ||", "<x"} {
		_, err := ParseRange(bad)
		require.Error(t, err, "%q", bad)
	}
}
