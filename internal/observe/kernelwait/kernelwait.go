// Package kernelwait says what a thread in the kernel waits for, and which system calls are telling
// when they are slow.
package kernelwait

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// kernelWaits say what a thread in the kernel waits for, by the functions on its stack. The first
// row that fits counts, so a row stands before those of what lies below it: whoever reads a page of
// an NFS file waits for the server, not for a disk. A * stands for any rest. Linux 3.10 to 7.0. The
// comment of a group of names is the file of the kernel's source that has them.
var kernelWaits = []struct {
	waits     string // empty: a thread that serves others and waits for work
	functions []string
}{
	{"freezer", []string{
		"__refrigerator", "refrigerator", "refrig", // kernel/freezer.c; as ps writes it, and cuts it at 6 letters
		"do_freezer_trap", "cgroup_freeze", // kernel/signal.c, kernel/cgroup/freezer.c
	}},
	// A file system that is frozen, or about to be. Linux 5.11 took the function into its callers, and
	// the second row has what they sleep in: include/linux/fs.h, fs/super.c before.
	{FrozenFS, []string{"__sb_start_write", "__sb_start_pagefault"}},
	{frozenPair, readerLockFrames},
	// who reads a socket of this node does not read it: net/core/sock.c, net/unix/af_unix.c
	{socketPair, []string{"sock_alloc_send_pskb", "sock_wait_for_wmem", "unix_wait_for_peer"}},
	// a program that scans files does not say whether one may be opened: fs/notify/fanotify/fanotify.c
	{"fanotify", []string{"fanotify_handle_event", "fanotify_get_response*"}},
	// mm/vmscan.c to 6.6, mm/shrinker.c after
	{"shrinker", []string{
		"register_shrinker*", "unregister_shrinker*", "prealloc_shrinker*", "prealloc_memcg_shrinker",
		"free_prealloced_shrinker", "shrinker_register", "shrinker_free", "shrinker_alloc", "shrinker_memcg_alloc",
	}},
	{"cgroup", []string{
		"cgroup_drain_dying", "cgroup_lock_and_drain_offline", "cgroup_kn_lock_live", // kernel/cgroup/cgroup.c
		"cgroup_procs_write_start", "cgroup_attach_lock", "css_killed_work_fn", "css_release_work_fn",
		"cgroup_destroy_root", "proc_cgroup_show",
		"proc_cgroupstats_show", "cgroup1_get_tree", "cgroup1_mount", // kernel/cgroup/cgroup-v1.c
	}},
	{"pid-namespace", []string{"zap_pid_ns_processes"}}, // kernel/pid_namespace.c
	{"", []string{"fuse_dev_*"}},                        // fs/fuse/dev.c: the program behind the mount
	{"fuse", []string{
		"request_wait_answer", "__fuse_request_send", "__fuse_simple_request", "__fuse_get_req", // fs/fuse/dev.c
		"fuse_*", // fs/fuse/
	}},
	{"automount", []string{"autofs_wait", "autofs4_wait"}}, // fs/autofs/waitq.c, fs/autofs4/ to 4.17
	{"file-server", []string{
		"rpc_wait_bit_killable", "__rpc_execute", "rpc_*", // net/sunrpc/
		"nfs_*", "nfs3_*", "nfs4_*", "nfs41_*", "nfsiod_*", // fs/nfs/
		"ceph_*",                                                      // fs/ceph/, net/ceph/: ceph_mdsc_do_request
		"cifs_*", "smb2_*", "wait_for_response", "compound_send_recv", // fs/smb/client/
		"v9fs_*", "p9_client_*", // fs/9p/, net/9p/
		"netfs_*", "fscache_*", "afs_*", // fs/netfs/, fs/fscache/, fs/afs/
		"ptlrpc_*", "ldlm_*", "cl_sync_io_wait*", // Lustre
		"cxiWaitEventWait", "kxWaitCondvar", // GPFS (Storage Scale)
		"gfs2_*", "ocfs2_*", // their locks are kept by other nodes
	}},
	// mm/vmscan.c, mm/page_alloc.c, mm/backing-dev.c, mm/memcontrol.c; fs/xfs/kmem.c to 6.8
	{memory, []string{
		"try_to_free_pages", "do_try_to_free_pages", "try_to_free_mem_cgroup_pages", "shrink_node*", "shrink_zone*",
		"shrink_slab*", "shrink_lruvec", "shrink_inactive_list", "throttle_direct_reclaim",
		"reclaim_throttle", "__alloc_pages_direct_*", "__alloc_pages_slowpath*",
		"congestion_wait", "wait_iff_congested",
		"mem_cgroup_oom_synchronize", "mem_cgroup_handle_over_high", "__mem_cgroup_handle_over_high",
		"kmem_alloc*", "kmem_zone_alloc", "kmem_zalloc*", "kmem_realloc",
		"xfs_reclaim_inode*",                               // fs/xfs/xfs_icache.c: a reclaim that waits until XFS has written
		"do_swap_page", "swap_readpage", "swap_read_folio", // mm/memory.c, mm/page_io.c
	}},
	// The driver of a GPU, or the GPU itself: whoever has one of the driver's locks does not go on. Of
	// NVIDIA's kernel-open/nvidia, kernel-open/nvidia-uvm, src/nvidia (up to 610; in the closed driver
	// the names of most functions are _nv and a number) and of drivers/gpu/drm/amd.
	{"gpu", []string{
		"os_acquire_rwlock_*", "os_acquire_semaphore", "os_acquire_mutex", "nvidia_*", "nv_open_device", "nv_close_device",
		"nv_start_device", "nv_stop_device", "nv_drm_*", "nvkms_*", "uvm_*", "_nv0*", "rm_init_adapter", "rm_ioctl", "rm_shutdown_adapter",
		"rm_disable_adapter", "rm_cleanup_file_private", "rm_gpu_ops_*", "rmapiLock*", "RmInitAdapter", "kgsp*", "_kgsp*",
		"amdgpu_*", "kfd_*",
	}},
	// reads a program back: as of a hung disk, so of a node without memory; mm/filemap.c, mm/memory.c
	{"page-fault", []string{"filemap_fault", "handle_mm_fault"}},
	{"sync", []string{"ovl_sync_fs", "iterate_supers"}}, // fs/overlayfs/super.c, fs/super.c
	{umountSync, []string{
		"sync_filesystem", "__sync_filesystem", "sync_inodes_sb", // fs/sync.c, fs/fs-writeback.c
		"writeback_inodes_sb*", "__writeback_inodes_sb_nr", "wait_sb_inodes",
	}},
	{NetworkLock, []string{
		"copy_net_ns", "setup_net", "cleanup_net", "ops_exit_list", "ops_undo_list", // net/core/net_namespace.c
		"register_pernet_*", "unregister_pernet_*", "register_netdevice_notifier*",
		"netdev_run_todo", "netdev_wait_allrefs*", "register_netdev*", "unregister_netdev*", // net/core/dev.c
		"default_device_exit*", "dev_ioctl",
		"rtnl_lock*", "rtnl_net_lock*", "rtnl_nets_lock", "rtnl_dump*", "rtnl_newlink", "rtnetlink_rcv*", // net/core/rtnetlink.c
		"linkwatch_event", "addrconf_*", "devinet_ioctl", // net/core/link_watch.c, net/ipv6/addrconf.c, net/ipv4/devinet.c
	}},
	// A table is replaced, or a target suspended: drivers/md/dm.c, dm-ioctl.c, dm-thin.c.
	{"disk", []string{
		"dm_suspend", "__dm_suspend", "dm_wait_for_completion", "dm_swap_table", "dm_sync_table", "dm_resume",
		"dm_ctl_ioctl", "dm_table_presuspend_targets", "dm_table_postsuspend_targets", "dm_pool_*", "dm_thin_*",
	}},
	{"rcu", []string{
		"__synchronize_srcu", "synchronize_srcu*", "srcu_barrier", // kernel/rcu/srcutree.c
		"synchronize_rcu*", "synchronize_sched*", "rcu_barrier*", "_rcu_barrier*", "synchronize_net", // kernel/rcu/tree.c
		"__wait_rcu_gp", "wait_rcu_gp", "exp_funnel_lock", "rcu_exp_wait_wake", // kernel/rcu/update.c, tree_exp.h
	}},
	// OpenZFS: a thread whose request is in the disk; the next row has those that wait for the thread
	// which writes what all have changed in a pool (txg_sync), whatever keeps that
	{"disk", []string{"zio_wait", "cv_wait_io*"}},
	{"journal", []string{
		"txg_wait_*", "zil_commit*",
		"jbd2_*", "jbd2__journal_start", "wait_transaction_locked", "add_transaction_credits", "start_this_handle", // fs/jbd2/
		"__ext4_journal_start_sb", "ext4_journal_check_start", // fs/ext4/ext4_jbd2.c
		"wait_for_commit", "wait_current_trans*", "btrfs_wait_for_commit", // fs/btrfs/transaction.c
	}},
	{"disk", []string{
		"xfs_log_*", "_xfs_log_*", "xlog_*", "xfs_trans_*", "xfs_buf_*", "_xfs_buf_*", "xfs_ilock*", "xfs_ail_*", "xfs_inodegc_*", // fs/xfs/
		"btrfs_wait_ordered_*", "btrfs_start_ordered_extent*", "btrfs_sync_file", // fs/btrfs/ordered-data.c, file.c
		"ext4_read_bh", "ext4_sync_file", "__bread_gfp", // fs/ext4/super.c, fs/buffer.c
		"io_schedule*", "bit_wait_io*", "wait_on_page_bit*", "folio_wait_*", "__lock_page", "__folio_lock*",
		"wait_on_buffer", "__wait_on_buffer", "wb_wait_for_completion", "wait_on_page_writeback",
		"balance_dirty_pages*",                                                                           // mm/page-writeback.c
		"blk_mq_get_tag", "blk_execute_rq", "submit_bio_wait", "blk_mq_freeze_queue*", "blk_queue_enter", // block/
		"__bio_queue_enter", "blkdev_issue_flush", "get_request",
		"freeze_super",                                            // freezes a file system, and syncs it first: fs/super.c
		"wbt_wait", "rq_qos_wait", "blkcg_maybe_throttle_current", // block/blk-wbt.c, blk-rq-qos.c, blk-cgroup.c
		"rbd_*", "drbd_*", "bch_*", "f2fs_*", // drivers/block/, drivers/md/bcache/, fs/f2fs/
		"scsi_execute*", "scsi_error_handler", "scsi_block_when_processing_errors", // drivers/scsi/
		"iscsi_*", "sd_sync_cache", "nvme_wait_freeze*", "__nvme_submit_sync_cmd", "nvme_submit_sync_cmd",
		"md_write_start", "md_super_wait", "md_flush_request", "raid5_make_request", // drivers/md/
	}},
	// waits for another thread that works on the same btrfs: for a lock of its tree, for room, for
	// what balances or relocates
	{"journal", []string{"btrfs_*"}},
	// Every mount and umount of the node takes it, readers of mountinfo too: fs/namespace.c
	{"mount-table", []string{"namespace_lock", "lock_mount", "do_lock_mount", "m_start"}},
	// Who writes into a file of a cgroup waits for the locks of cgroups: kernel/cgroup/cgroup.c,
	// mm/memcontrol.c
	{"cgroup", []string{
		"cgroup_rmdir", "cgroup_mkdir", "cgroup_procs_write", "__cgroup_procs_write", "__cgroup1_procs_write", "cgroup_lock_live_group",
		"cgroup_file_write", "mem_cgroup_write", "mem_cgroup_reset", "mem_cgroup_force_empty_write", "memory_max_write", "memory_high_write",
	}},
	{"kernfs", []string{"kernfs_*", "__kernfs_*"}}, // fs/kernfs/: sysfs and cgroups
	{"overlay", []string{"ovl_*"}},                 // fs/overlayfs/
	// a name that somebody else looks up in the same directory: fs/dcache.c, fs/namei.c
	{"path-lookup", []string{"d_alloc_parallel", "d_wait_lookup", "lookup_slow", "__lookup_slow"}},
	{"pipe", []string{
		"pipe_wait*", "pipe_read", "pipe_write", "anon_pipe_read", "anon_pipe_write", "wait_for_partner", "fifo_open", // fs/pipe.c
	}},
}

// conditional are rows whose functions tell only beside others on the stack: what they stand for,
// and whether a stack has those others.
var conditional = map[string]struct {
	waits string
	holds func(stack string) bool
}{
	umountSync: {"sync", takesMountDown},
	frozenPair: {FrozenFS, locksForWriting},
	socketPair: {Socket, sendsToSocket},
}

// umountSync stands for sync where the stack takes a mount down, too, and for nothing elsewhere:
// every umount passes umountFrames, whatever it waits for, and syncfs waits for a disk like others.
const umountSync = "sync of a mount"

// umountFrames are in fs/namespace.c and fs/super.c.
var umountFrames = []string{"cleanup_mnt", "deactivate_locked_super"}

// frozenPair is a lock that waits for a frozen file system where a function of writeFrames takes
// it. Forks, cgroups and CPUs have locks of this kind, too.
const frozenPair = "lock of a writer"

// readerLockFrames are in kernel/locking/percpu-rwsem.c.
var readerLockFrames = []string{"percpu_rwsem_wait", "__percpu_down_read", "percpu_down_read"}

// writeFrames are the functions that ask a file system whether it takes writes, and wait where it
// is frozen. A * stands for any rest.
var writeFrames = []string{
	"mnt_want_write*", "__mnt_want_write*", "sb_start_write", "sb_start_pagefault", "sb_start_intwrite", "__sb_start_write", // fs/namespace.c, include/linux/fs.h
	"vfs_write", "vfs_writev", "vfs_iter_write", "vfs_iocb_iter_write", "do_iter_write", "do_writev", "do_pwritev", // fs/read_write.c
	"kernel_write", "do_sendfile", "vfs_copy_file_range", "file_start_write", "kiocb_start_write",
	"vfs_fallocate", "do_sys_ftruncate", "do_ftruncate", "do_sys_truncate", "vfs_truncate", // fs/open.c
	"do_splice*", "splice_*", "iter_file_splice_write", "do_clone_file_range", "vfs_clone_file_range", // fs/splice.c, fs/remap_range.c
	"aio_write", "io_write", "io_kiocb_start_write", "lo_rw_aio", // fs/aio.c, io_uring/rw.c, drivers/block/loop.c
	"*_page_mkwrite", "*_vm_page_mkwrite", "__xfs_filemap_fault", "__xfs_write_fault", "xfs_write_fault", // a page of a mapped file
	"ext4_evict_inode", "f2fs_evict_inode", "xfs_trans_alloc*", "start_transaction", // sb_start_intwrite
}

// socketPair is a sender without room in a socket where the socket is one of this node: who reads
// from it does not. Over a network it may be slow by its nature.
const socketPair = "room in a socket"

// socketFrames are in net/unix/af_unix.c.
var socketFrames = []string{"unix_stream_sendmsg", "unix_dgram_sendmsg", "unix_seqpacket_sendmsg"}

// FrozenFS is a file system that somebody froze: a snapshot, a backup, fsfreeze.
const FrozenFS = "frozen-fs"

// Socket is the reader at the other end of a Unix socket.
const Socket = "socket"

// NetworkLock is one of the locks over all network devices and namespaces: rtnl, net_mutex,
// pernet_ops_rwsem.
const NetworkLock = "network-lock"

// Pipe is the other end of a pipe: most threads that wait there have nothing to do.
const Pipe = "pipe"

// Of is what a thread waits for in the kernel, and the function that tells, out of its stack,
// blanks between, or, where that could not be read, the one it sleeps in. Empty when nothing tells.
func Of(stack, wchan string) (waits, function string) {
	if stack == "" {
		stack = wchan
	}
	waits, function = firstOf(stack)
	if waits == memory {
		if called, ok := calledByReclaim(stack); ok {
			return firstOf(called)
		}
	}
	return waits, function
}

// firstOf is the first row of kernelWaits that has a function of the stack.
func firstOf(stack string) (waits, function string) {
	rows := functionRows()
	first := len(kernelWaits)
	for f := range strings.FieldsSeq(stack) {
		for set := rows.rowsWith(f); set != 0; set &= set - 1 {
			row := bits.TrailingZeros64(set)
			if row >= first {
				break
			}
			if c, ok := conditional[kernelWaits[row].waits]; !ok || c.holds(stack) {
				first, function = row, f
				break
			}
		}
	}
	if first == len(kernelWaits) || kernelWaits[first].waits == "" {
		return "", ""
	}
	if c, ok := conditional[kernelWaits[first].waits]; ok {
		return c.waits, function
	}
	return kernelWaits[first].waits, function
}

// memory is the search for free pages.
const memory = "memory"

// reclaimFrames are the functions that free pages: mm/vmscan.c, mm/shrinker.c, fs/super.c,
// fs/xfs/xfs_icache.c.
var reclaimFrames = []string{
	"shrink_page_list", "shrink_folio_list", "shrink_inactive_list", "shrink_slab*", "do_shrink_slab",
	"super_cache_scan", "prune_icache_sb", "prune_super", "shrink_icache_memory", "xfs_reclaim_inode*",
}

// lockFrames are in kernel/locking: whoever sleeps there waits for another thread.
var lockFrames = []string{
	"mutex_lock*", "__mutex_lock*", "down_write", "down_read", "rwsem_down_*", "call_rwsem_down_*",
}

// calledByReclaim is the part of a stack that the functions which free pages have called, where the
// thread sleeps in that part: a page or an inode is written before it is freed, or a lock of the
// file system is taken to let an inode go. The thread waits for that, however much memory is free.
func calledByReclaim(stack string) (called string, held bool) {
	functions := strings.Fields(stack)
	last := len(functions) - 1
	for last >= 0 && !isOneOf(reclaimFrames, functions[last]) {
		last--
	}
	if last < 0 || last == len(functions)-1 {
		return "", false
	}
	rest := functions[last+1:]
	called = strings.Join(rest, " ")
	if waits, _ := firstOf(called); waits != "" {
		return called, waits != memory
	}
	lock := slices.ContainsFunc(rest, func(f string) bool { return isOneOf(lockFrames, f) })
	return called, lock && slices.Contains(rest, "evict")
}

// isOneOf says that a function has one of the names.
func isOneOf(names []string, function string) bool {
	function = withoutSuffix(function)
	return slices.ContainsFunc(names, func(name string) bool { return fitsName(name, function) })
}

// rowIndex finds the rows of kernelWaits that name a function. A sampler shows millions of stacks.
type rowIndex struct {
	whole    map[string]uint64 // sets of rows, by the name of a function
	prefixes [256][]namePrefix // of names that are open at their end, by their first byte
}

type namePrefix struct {
	text string
	rows uint64
}

var functionRows = sync.OnceValue(func() *rowIndex {
	x := &rowIndex{whole: map[string]uint64{}}
	for i, row := range kernelWaits {
		for _, f := range row.functions {
			if prefix, open := strings.CutSuffix(f, "*"); open {
				x.prefixes[f[0]] = append(x.prefixes[f[0]], namePrefix{prefix, 1 << i})
			} else {
				x.whole[f] |= 1 << i
			}
		}
	}
	return x
})

// rowsWith is the set of rows that name a function.
func (x *rowIndex) rowsWith(function string) uint64 {
	function = withoutSuffix(function)
	if function == "" {
		return 0
	}
	rows := x.whole[function]
	for _, p := range x.prefixes[function[0]] {
		if strings.HasPrefix(function, p.text) {
			rows |= p.rows
		}
	}
	return rows
}

// withoutSuffix is a function without what the compiler made of it: copy_process.part.25.
func withoutSuffix(function string) string {
	function, _, _ = strings.Cut(function, ".")
	return function
}

// takesMountDown says that a stack holds one of umountFrames.
func takesMountDown(stack string) bool { return holdsAny(stack, umountFrames) }

// sendsToSocket says that a stack holds one of socketFrames.
func sendsToSocket(stack string) bool { return holdsAny(stack, socketFrames) }

func holdsAny(stack string, functions []string) bool {
	for function := range strings.FieldsSeq(stack) {
		if slices.Contains(functions, withoutSuffix(function)) {
			return true
		}
	}
	return false
}

// locksForWriting says that one of writeFrames takes the lock that a stack waits for: it stands
// directly before the functions of the lock.
func locksForWriting(stack string) bool {
	caller := ""
	for function := range strings.FieldsSeq(stack) {
		function = withoutSuffix(function)
		if slices.Contains(readerLockFrames, function) {
			return slices.ContainsFunc(writeFrames, func(f string) bool { return fitsName(f, caller) })
		}
		caller = function
	}
	return false
}

// fitsName says that a function has a name in which a * at either end stands for any rest.
func fitsName(name, function string) bool {
	if end, open := strings.CutPrefix(name, "*"); open {
		return strings.HasSuffix(function, end)
	}
	if start, open := strings.CutSuffix(name, "*"); open {
		return strings.HasPrefix(function, start)
	}
	return name == function
}

// notable are waits that a thread can only be in while it waits for one answer, also where it
// sleeps interruptibly (state S): no thread with nothing to do stands there.
var notable = []string{"fanotify", "fuse", "pid-namespace"}

// IsNamed says that the function in which a thread waits is told with every look at it.
func IsNamed(waits string) bool { return waits == "gpu" || IsNotable(waits) }

// IsNotable says that a sleeping thread in such a wait is worth a look.
func IsNotable(waits string) bool { return slices.Contains(notable, waits) }

// shownOfWchan is how many letters ps shows of a wait channel, unless somebody asks for more.
const shownOfWchan = 6

// OfCut is what a thread waits for by its wait channel as ps prints it: without underscores at its
// front, and cut at six letters. A cut name counts where all functions that are known and begin so
// wait for the same; empty when nothing tells.
func OfCut(wchan string) string {
	name := strings.TrimLeft(wchan, "_")
	if len(name) == shownOfWchan {
		if waits := ofPrefix(name); waits != "" {
			return waits
		}
	}
	for _, row := range kernelWaits {
		for _, f := range row.functions {
			prefix, open := strings.CutSuffix(strings.TrimLeft(f, "_"), "*")
			if name != prefix && !(open && strings.HasPrefix(name, prefix)) {
				continue
			}
			if _, ok := conditional[row.waits]; ok { // what stands beside it is not shown
				return ""
			}
			return row.waits
		}
	}
	return ""
}

// ofPrefix is what all functions wait for whose names begin so.
func ofPrefix(prefix string) string {
	waits := ""
	for _, row := range kernelWaits {
		for _, f := range row.functions {
			if !strings.HasPrefix(strings.Trim(f, "_*"), prefix) {
				continue
			}
			if _, ok := conditional[row.waits]; ok || waits != "" && waits != row.waits {
				return ""
			}
			waits = row.waits
		}
	}
	return waits
}

// Calls are the calls whose slowness means something by itself. The slowest
// calls of a trace are nearly always futex, epoll_wait and read of threads that
// wait for one of these, so they are left out.
var Calls = map[string]bool{
	"umount2": true, "umount": true, "fsync": true, "fdatasync": true, "syncfs": true, "sync": true,
	"rename": true, "renameat": true, "renameat2": true,
	"recvfrom": true, "recvmsg": true, "sendmsg": true, "sendto": true, "write": true,
}
