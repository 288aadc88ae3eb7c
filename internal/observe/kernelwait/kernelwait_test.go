package kernelwait

import (
	"maps"
	"slices"
	"strings"
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
		{"openzfs#7598", "zfs_umount zfsvfs_teardown zil_close txg_wait_synced __cv_wait cv_wait_common schedule", "", "journal"},
		{"the pool's own thread", "txg_sync_thread spa_sync dsl_pool_sync zio_wait __cv_wait_io io_schedule", "", "disk"},
		{"bottlerocket#4075", "kthread kjournald2 jbd2_journal_commit_transaction jbd2_journal_wait_updates", "", "journal"},
		{"containerd#5325: takes a mount down", "cleanup_mnt deactivate_locked_super generic_shutdown_super sync_filesystem ovl_sync_fs jbd2_log_wait_commit", "", "sync"},
		{"runc#2039: memory under an unmount", "put_mnt_ns namespace_unlock xfs_inactive xfs_trans_alloc kmem_zone_alloc congestion_wait", "", "memory"},
		{"a page of an NFS file", "do_fsync nfs_file_fsync folio_wait_bit_common io_schedule", "", "file-server"},
		{"a program read back", "handle_mm_fault __do_fault filemap_fault folio_wait_bit_common io_schedule", "", "page-fault"},
		{"open-gpu-kernel-modules#1333", "do_syscall_64 __x64_sys_ioctl nvidia_unlocked_ioctl nvidia_ioctl rm_ioctl RmIoctl os_acquire_rwlock_read down_read", "", "gpu"},
		{"k8s-device-plugin#77", "SyS_ioctl uvm_va_space_register_gpu uvm_gpu_retain_by_uuid mutex_lock __mutex_lock_slowpath", "", "gpu"},
		{"the driver of a GPU looks for memory", "nvidia_unlocked_ioctl nvidia_ioctl __alloc_pages_slowpath try_to_free_pages shrink_node", "", "memory"},
		{"a page of a GPU", "handle_mm_fault __do_fault uvm_vm_fault uvm_va_space_down_read", "", "gpu"},
		{"a name that another thread looks up", "do_sys_open path_openat walk_component lookup_slow d_alloc_parallel schedule", "", "path-lookup"},
		{"a name on a file server", "walk_component lookup_slow nfs_lookup rpc_wait_bit_killable", "", "file-server"},
		{"xfs log", "do_fsync xfs_file_fsync xfs_log_force_seq xlog_wait_on_iclog", "", "disk"},
		{"btrfs: another thread commits", "btrfs_ioctl create_subvol btrfs_commit_transaction wait_for_commit schedule", "", "journal"},
		{"btrfs: commits, and waits for its writes", "btrfs_commit_transaction btrfs_write_and_wait_transaction folio_wait_bit_common io_schedule", "", "disk"},
		{"btrfs: the data of a file", "do_fsync btrfs_sync_file btrfs_wait_ordered_range btrfs_start_ordered_extent schedule", "", "disk"},
		{"frozen", "do_signal get_signal __refrigerator", "", "freezer"},
		{"fuse", "vfs_statx fuse_do_getattr __fuse_request_send request_wait_answer", "", "fuse"},
		{"the program behind a FUSE mount", "ksys_read new_sync_read fuse_dev_read fuse_dev_do_read", "", ""},
		{"umount of an ext4", "cleanup_mnt deactivate_locked_super kill_block_super generic_shutdown_super sync_filesystem sync_inodes_sb wb_wait_for_completion", "", "sync"},
		{"syncfs", "__x64_sys_syncfs sync_filesystem sync_inodes_sb wb_wait_for_completion", "", "disk"},
		{"umount that syncs nothing", "cleanup_mnt deactivate_super deactivate_locked_super", "", ""},
		{"its log is forced out", "cleanup_mnt deactivate_locked_super kill_block_super generic_shutdown_super xfs_fs_put_super xfs_log_unmount", "", "disk"},
		{"masked paths, start", "__x64_sys_mount vfs_get_super sget_fc register_shrinker_prepared rwsem_down_write_slowpath", "", "shrinker"},
		{"masked paths, exit", "cleanup_mnt deactivate_locked_super unregister_shrinker rwsem_down_write_slowpath", "", "shrinker"},
		{"the same since 6.7", "cleanup_mnt deactivate_locked_super shrinker_free mutex_lock", "", "shrinker"},
		{"umount waits for readers", "cleanup_mnt deactivate_super deactivate_locked_super synchronize_rcu wait_for_completion", "", "rcu"},
		{"dm's table", "dm_ctl_ioctl dev_suspend dm_suspend __dm_suspend __synchronize_srcu wait_for_completion", "", "disk"},
		{"moby#33012, cut", "__synchronize_srcu wait_for_completion schedule_timeout", "", "rcu"},
		{"marks of inotify", "fsnotify_destroy_group fsnotify_wait_marks_destroyed __synchronize_srcu", "", "rcu"},
		{"hotsos#594", "do_sys_open do_filp_open vfs_open do_dentry_open security_file_open fsnotify fanotify_handle_event schedule", "", "fanotify"},
		{"PID 1, 6.19", "vfs_rmdir kernfs_iop_rmdir cgroup_rmdir cgroup_drain_dying", "", "cgroup"},
		{"cgroup v1 root", "cgroup_mkdir cgroup_kn_lock_live cgroup_lock_and_drain_offline", "", "cgroup"},
		{"a limit of a cgroup is set", "vfs_write kernfs_fop_write cgroup_file_write mem_cgroup_write mutex_lock __mutex_lock_slowpath", "", "cgroup"},
		{"that reclaims", "vfs_write kernfs_fop_write cgroup_file_write memory_max_write try_to_free_mem_cgroup_pages", "", "memory"},
		{"openzfs#2125: reclaim writes an inode", "kthread kswapd shrink_node shrink_slab.part.51 super_cache_scan xfs_reclaim_inodes_nr xfs_reclaim_inodes_ag xfs_reclaim_inode xfs_bwrite xfs_buf_submit_wait wait_for_completion", "", "disk"},
		{"moosefs#566: reclaim waits for a page that is written", "kswapd balance_pgdat shrink_node_memcg shrink_inactive_list shrink_page_list wait_on_page_writeback wait_on_page_bit io_schedule", "", "disk"},
		{"openzfs#2628: reclaim waits for a lock of a file system", "kswapd balance_pgdat shrink_slab shrink_icache_memory dispose_list evict zfs_inactive zfs_zinactive mutex_lock __mutex_lock_common.isra.5", "", ""},
		{"reclaim that is throttled", "try_to_free_pages do_try_to_free_pages shrink_node shrink_inactive_list reclaim_throttle schedule_timeout", "", "memory"},
		{"reclaim that waits for others who reclaim", "try_to_free_pages shrink_slab super_cache_scan xfs_reclaim_inodes_ag mutex_lock", "", "memory"},
		{"exit of a pod's init", "do_exit exit_notify zap_pid_ns_processes", "", "pid-namespace"},
		{"mount table", "__x64_sys_umount path_umount namespace_lock rwsem_down_write_slowpath", "", "mount-table"},
		{"sysfs", "walk_component lookup_slow kernfs_iop_lookup down_read", "", "kernfs"},
		{"upper directory", "do_mkdirat ovl_create_object ovl_want_write", "", "overlay"},
		{"automount of systemd", "vfs_statx follow_managed autofs_mount_wait autofs_wait", "", "automount"},
		{"frozen file system", "mnt_want_write __sb_start_write percpu_rwsem_wait", "", "frozen-fs"},
		{"frozen, 6.18: a file is created", "__x64_sys_openat do_filp_open path_openat mnt_want_write percpu_rwsem_wait", "", "frozen-fs"},
		{"frozen, 5.15: written", "ksys_pwrite64 vfs_write __percpu_down_read percpu_rwsem_wait schedule", "", "frozen-fs"},
		{"frozen: a page of a mapped file", "handle_mm_fault do_wp_page do_page_mkwrite ext4_page_mkwrite percpu_rwsem_wait", "", "frozen-fs"},
		{"frozen, 3.10", "vfs_write __sb_start_write schedule", "", "frozen-fs"},
		{"another lock of that kind: a fork", "__do_sys_clone kernel_clone copy_process cgroup_can_fork percpu_rwsem_wait", "", ""},
		{"a write to a cgroup takes it as a writer", "vfs_write kernfs_fop_write_iter cgroup_procs_write percpu_down_write percpu_rwsem_wait", "", "cgroup"},
		{"no stack below it", "", "percpu_rwsem_wait", ""},
		{"who freezes syncs first", "__x64_sys_ioctl do_vfs_ioctl freeze_super percpu_down_write percpu_rwsem_wait", "", "disk"},
		{"nobody reads a socket of the node", "ksys_write vfs_write sock_write_iter unix_stream_sendmsg sock_alloc_send_pskb schedule_timeout", "", "socket"},
		{"a datagram for it", "__sys_sendto unix_dgram_sendmsg unix_wait_for_peer schedule_timeout", "", "socket"},
		{"a socket of another family", "__sys_sendto packet_sendmsg sock_alloc_send_pskb schedule_timeout", "", ""},
		{"reclaim", "__alloc_pages_nodemask try_to_free_pages do_try_to_free_pages shrink_node shrink_slab xfs_reclaim_inodes_ag", "", "memory"},
		{"ceph", "ceph_open ceph_mdsc_do_request wait_for_completion_killable", "", "file-server"},
		{"rbd", "rbd_dev_refresh rbd_obj_method_sync wait_for_completion", "", "disk"},
		{"exec.fifo", "do_sys_open fifo_open wait_for_partner", "", "pipe"},
		{"ps cuts", "", "refrig", "freezer"},
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
// The index has every row, and a set of rows has room for them.
func TestRowIndex(t *testing.T) {
	require.LessOrEqual(t, len(kernelWaits), 64)
	for i, row := range kernelWaits {
		for _, f := range row.functions {
			name := strings.ReplaceAll(f, "*", "_of_a_kind.part.7")
			require.NotZero(t, functionRows().rowsWith(name)&(1<<i), f)
		}
	}
	require.Zero(t, functionRows().rowsWith(""))
	require.Zero(t, functionRows().rowsWith(".part.7"))
	require.Zero(t, functionRows().rowsWith("refrigerators"), "a name without a star is a whole name")
}

func TestWaitsAreDeclared(t *testing.T) {
	waits := map[string]bool{}
	for _, row := range kernelWaits {
		if c, ok := conditional[row.waits]; ok {
			waits[c.waits] = true
		} else if row.waits != "" {
			waits[row.waits] = true
		}
	}
	require.ElementsMatch(t, event.KindNamed(event.KindThreadSample).Field(event.FieldWaits).Values, slices.Collect(maps.Keys(waits)))
}

// TestOfCut: ps takes underscores off a name and keeps six letters of it; what may be cut from
// functions that wait for different things tells nothing.
func TestOfCut(t *testing.T) {
	for wchan, waits := range map[string]string{
		"refrig": "freezer", "__refrigerator": "freezer", "refrigerator": "freezer",
		"ovl_sync_fs": "sync", "ovl_sy": "sync", "copy_n": NetworkLock, "rpc_wait_bit_killable": "file-server",
		"rpc_wa": "file-server", "io_sch": "disk", "do_epo": "", "-": "", "": "", "wait_o": "disk",
		"sb_sta": "frozen-fs", "percpu": "", "percpu_rwsem_wait": "", "sock_a": "",
	} {
		require.Equal(t, waits, OfCut(wchan), wchan)
	}
}
