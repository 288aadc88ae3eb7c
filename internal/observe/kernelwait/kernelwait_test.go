package kernelwait

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// TestKernelWait: stacks as published reports show them, and where a function of a later row stands
// beside that of an earlier one.
func TestKernelWait(t *testing.T) {
	for _, tc := range []struct{ name, stack, wchan, want string }{
		{"moby#22289", "SyS_clone do_fork copy_process.part.25 copy_namespaces create_new_namespaces copy_net_ns mutex_lock __mutex_lock_slowpath", "", "network-lock"},
		{"netlink request", "__x64_sys_sendto netlink_sendmsg netlink_unicast rtnetlink_rcv rtnl_lock", "", "network-lock"},
		{"Flatcar#847", "__mark_inode_dirty ext4_dirty_inode __ext4_journal_start_sb jbd2__journal_start", "", "journal"},
		{"bottlerocket#4075", "kthread kjournald2 jbd2_journal_commit_transaction jbd2_journal_wait_updates", "", "journal"},
		{"containerd#5325: takes a mount down", "cleanup_mnt deactivate_locked_super generic_shutdown_super sync_filesystem ovl_sync_fs jbd2_log_wait_commit", "", "sync"},
		{"runc#2039: memory under an unmount", "put_mnt_ns namespace_unlock xfs_inactive xfs_trans_alloc kmem_zone_alloc congestion_wait", "", "memory"},
		{"a page of an NFS file", "do_fsync nfs_file_fsync folio_wait_bit_common io_schedule", "", "file-server"},
		{"a program read back", "handle_mm_fault __do_fault filemap_fault folio_wait_bit_common io_schedule", "", "page-fault"},
		{"xfs log", "do_fsync xfs_file_fsync xfs_log_force_seq xlog_wait_on_iclog", "", "disk"},
		{"frozen", "do_signal get_signal __refrigerator", "", "freezer"},
		{"fuse", "vfs_statx fuse_do_getattr __fuse_request_send request_wait_answer", "", "file-server"},
		{"nothing but a name that begins alike", "do_epoll_wait ep_poll nfsd rpciod setup_network", "", ""},
		{"no stack", "", "jbd2_log_wait_commit", "journal"},
		{"the stack outweighs", "do_futex futex_wait", "io_schedule", ""},
		{"nothing", "", "", ""},
	} {
		waits, by := Of(tc.stack, tc.wchan)
		require.Equal(t, tc.want, waits, tc.name)
		require.Equal(t, waits != "", by != "", tc.name)
	}
}

// The closed set that package event declares is the one of the table, whole.
func TestWaitsAreDeclared(t *testing.T) {
	waits := map[string]bool{}
	for _, row := range kernelWaits {
		waits[row.waits] = true
	}
	require.ElementsMatch(t, event.KindNamed(event.KindThreadSample).Field(event.FieldWaits).Values, slices.Collect(maps.Keys(waits)))
}
