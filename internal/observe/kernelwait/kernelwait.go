// Package kernelwait says what a thread in the kernel waits for, and which system calls are telling
// when they are slow.
package kernelwait

import "strings"

// kernelWaits say what a thread in the kernel waits for, by the functions on its stack. The first
// row that fits counts: a page of an NFS file is waited for like one of a disk, and whoever takes a
// mount down waits for the disk for another reason. A * stands for any rest. Linux 3.10 to 6.x.
var kernelWaits = []struct {
	waits     string
	functions []string
}{
	{"freezer", []string{"__refrigerator", "do_freezer_trap"}},
	{"file-server", []string{
		"rpc_wait_bit_killable", "__rpc_execute", "rpc_*", "nfs_*", "nfs4_*", "ceph_*", "cifs_*", "smb2_*", "v9fs_*",
		"request_wait_answer", "fuse_*", "autofs_wait", "autofs4_wait",
	}},
	{"memory", []string{
		"try_to_free_pages", "do_try_to_free_pages", "congestion_wait", "reclaim_throttle", "kmem_zone_alloc",
		"kmem_alloc", "do_swap_page", "swap_readpage",
	}},
	// reads a program back: as of a hung disk, so of a node without memory
	{"page-fault", []string{"filemap_fault", "handle_mm_fault"}},
	{"sync", []string{"ovl_sync_fs", "iterate_supers", "cleanup_mnt", "deactivate_locked_super"}},
	{NetworkLock, []string{
		"copy_net_ns", "setup_net", "cleanup_net", "netdev_run_todo", "netdev_wait_allrefs*", "rtnl_lock*",
		"rtnl_dump*", "rtnl_newlink", "rtnetlink_rcv*",
		"register_netdev*", "unregister_netdev*", "default_device_exit*", "linkwatch_event", "addrconf_*",
		"register_pernet_*", "unregister_pernet_*",
	}},
	{"journal", []string{
		"jbd2_*", "jbd2__journal_start", "wait_transaction_locked", "add_transaction_credits", "start_this_handle",
		"__ext4_journal_start_sb", "ext4_journal_check_start",
	}},
	{"disk", []string{
		"xfs_log_*", "_xfs_log_*", "xlog_*", "xfs_trans_*", "xfs_buf_*", "xfs_ilock*", "btrfs_*", "ext4_read_bh", "__bread_gfp",
		"io_schedule*", "bit_wait_io*", "blk_mq_get_tag", "blk_execute_rq", "submit_bio_wait",
		"wbt_wait", "rq_qos_wait", "balance_dirty_pages*", "wait_on_page_bit*", "folio_wait_*",
		"wait_on_buffer", "__wait_on_buffer", "wb_wait_for_completion",
		"dm_suspend", "__dm_suspend", "dm_wait_for_completion",
	}},
}

// NetworkLock is one of the locks over all network devices and namespaces: rtnl, net_mutex,
// pernet_ops_rwsem.
const NetworkLock = "network-lock"

// Of is what a thread waits for in the kernel, and the function that tells, out of its stack,
// blanks between, or, where that could not be read, the one it sleeps in. Empty when nothing tells.
func Of(stack, wchan string) (waits, function string) {
	if stack == "" {
		stack = wchan
	}
	for _, row := range kernelWaits {
		for function := range strings.FieldsSeq(stack) {
			if anyFunction(row.functions, function) {
				return row.waits, function
			}
		}
	}
	return "", ""
}

func anyFunction(patterns []string, function string) bool {
	for _, p := range patterns {
		if prefix, open := strings.CutSuffix(p, "*"); function == p || open && strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}

// Calls are the calls whose slowness means something by itself. The slowest
// calls of a trace are nearly always futex, epoll_wait and read of threads that
// wait for one of these, so they are left out.
var Calls = map[string]bool{
	"umount2": true, "umount": true, "fsync": true, "fdatasync": true, "syncfs": true, "sync": true,
	"rename": true, "renameat": true, "renameat2": true,
	"recvfrom": true, "recvmsg": true, "sendmsg": true, "sendto": true, "write": true,
}
