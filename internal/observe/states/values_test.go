package states_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/observetest"
)

// TestCgroupLimits: what a cgroup may use, of both versions, and that no limit is none.
func TestCgroupLimits(t *testing.T) {
	const group = "/sys/fs/cgroup/system.slice/containerd.service/"
	const periods = group + "cpu.stat:nr_periods 400\n" + group + "cpu.stat:nr_throttled 390\n"
	for _, test := range []struct {
		text         string
		percent      float64
		hasIO, hasNo bool
	}{
		{text: group + "cpu.max:1000 100000\n" + periods, percent: 1},
		{text: group + "cpu.max:max 100000\n" + periods, hasNo: true},
		{text: group + "cpu.cfs_period_us:100000\n" + group + "cpu.cfs_quota_us:12500\n" + periods, percent: 12.5},
		{text: group + "cpu.cfs_period_us:100000\n" + group + "cpu.cfs_quota_us:-1\n" + periods, hasNo: true},
		{text: group + "io.max:254:32 rbps=max wbps=300000 riops=max wiops=max\n" + group + "io.max:8:0 rbps=1 wbps=max riops=max wiops=max\n", hasNo: true, hasIO: true},
	} {
		var e *event.Event
		events, _ := observetest.ObserveFile(t, "values.txt", []byte(test.text))
		for i := range events {
			if events[i].Kind == event.KindCgroup {
				require.Nil(t, e, test.text)
				e = &events[i]
			}
		}
		require.NotNil(t, e, test.text)
		percent, limited := e.Get(event.FieldCPUMax)
		require.Equal(t, !test.hasNo, limited, test.text)
		if limited {
			got, _ := percent.Number()
			require.InDelta(t, test.percent, got, 0.01, test.text)
		}
		limit, limited := e.Get(event.FieldIOMax)
		require.Equal(t, test.hasIO, limited, test.text)
		if limited {
			require.Equal(t, "254:32 rbps=max wbps=300000 riops=max wiops=max", limit.Text())
		}
	}
}
