package threads

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Who has no memory is shown by the frames that are nearest to the kill.
func TestShortageScope(t *testing.T) {
	for _, c := range []struct {
		want  string
		lines []string
	}{
		{"node", []string{" oom_kill_process+0xe6/0x120", " out_of_memory+0x109/0x510", " __alloc_pages_slowpath+0xad1/0xe10", " mem_cgroup_charge+0x34/0x70"}},
		{"cgroup", []string{" out_of_memory+0x109/0x510", " mem_cgroup_out_of_memory+0x4d/0x110", " try_charge+0x34/0x70", " __alloc_pages_nodemask+0x2cd/0x320"}},
		{"cgroup", []string{"[<ffffffff811f4d91>] mem_cgroup_oom_synchronize+0x551/0x580", "[<ffffffff81186844>] pagefault_out_of_memory+0x14/0x90"}},
		{"", []string{" out_of_memory+0x109/0x510", " ? __alloc_pages_slowpath+0xad1/0xe10", " moom_callback+0x7f/0xa0"}},
	} {
		var s shortage
		scope := s.scopeOf(" __alloc_pages_slowpath+0xad1/0xe10") // of nobody: no report has begun
		require.Empty(t, scope)
		first := "dockerd invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=-500"
		s.takeLine(first, &event.Record{}, event.Quote{Pos: event.Pos{Line: 1}, Text: first})
		for _, line := range c.lines {
			if found := s.scopeOf(line); found != "" {
				require.Empty(t, scope)
				scope = found
			}
		}
		require.Equal(t, c.want, scope, c.lines)
	}
}

// The cgroup that reached its limit is that of the line before what it uses, and of this report.
func TestShortageOfPod(t *testing.T) {
	const uid, id = "0a1b2c3d-1111-2222-3333-444455556666", "c8edefa905171b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4"
	const pod = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice"
	var s shortage
	report := func(limit string) event.IDs {
		lines := []string{
			"java invoked oom-killer: gfp_mask=0xd0, order=0, oom_score_adj=980",
			"Task in " + pod + "/docker-" + id + ".scope killed as a result of limit of " + limit,
			"memory: usage 1048576kB, limit 1048576kB, failcnt 884211", "kmem: usage 986112kB, limit 9007199254740988kB, failcnt 0",
		}
		if limit == "" {
			lines[1] = "memory+swap: usage 1048576kB, limit 9007199254740988kB, failcnt 0"
		}
		var last event.Event
		for _, line := range lines {
			last, _ = s.takeLine(line, &event.Record{}, event.Quote{Text: line})
		}
		return last.IDs
	}
	require.Equal(t, event.IDs{PodUID: uid}, report(pod))
	require.Equal(t, event.IDs{PodUID: uid, Container: id}, report(pod+"/docker-"+id+".scope"))
	require.Equal(t, event.IDs{}, report(""))
}
