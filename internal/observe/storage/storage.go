// Package storage makes events of what the kernel says of disks: of their drivers, of the block
// layer, and of the file systems on them, and of writes that it refuses to a program.
package storage

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// DiskFailure is a disk that fails, as the block layer, a file system or its journal says it.
//
//	blk_update_request: I/O error, dev sdb, sector 2048 op 0x1:(WRITE)      (3.10 to 5.16; without its first words after)
//	Buffer I/O error on dev dm-3, logical block 9, lost async page write
//	XFS (dm-0): log I/O error -5
//	EXT4-fs warning (device sdg): htree_dirblock_to_tree:993: inode #12: lblock 0: comm kubelet: error -5 reading directory block
//	lost page write due to I/O error on sdb1      (up to 4.x)
//	Aborting journal on device sda1-8.
//	JBD2: Detected IO errors while flushing file data on sda1-8
//	JBD2: Error -5 detected when updating journal superblock for sda1-8.
//	rbd: rbd3: write 4000 at 3c1c0000 result -108      (108: the cluster has shut this client out)
//	rbd: rbd3: encountered watch error: -107
//	device-mapper: multipath: 253:5: Failing path 8:64.
//	EXT4-fs warning (device sda1): ext4_end_bio:343: I/O error 10 writing to inode 131081 …      (-28: no space is left below it)
//	EXT4-fs (sda1): previous I/O error to superblock detected      (also: I/O error while writing superblock)
//	EXT4-fs (sda1): failed to convert unwritten extents to written extents -- potential data loss!  (inode 12, error -5)
//	dm-3: writeback error on inode 131, offset 0, sector 1234      (of XFS, since 4.x)
//	XFS (dm-1): Failing async write on buffer block 0x5a3100. Retrying async write.
//	Read-error on swap-device (253:0:1234567)      (also: Write-error)
//
// A floppy disk or a CD that is not there fails at each boot of many virtual machines, and the
// flush of a loop device whose file is taken away. That has no data:
//
//	blk_update_request: I/O error, dev loop11, sector 0 op 0x1:(WRITE) flags 0x800 phys_seg 0 prio class 0
func DiskFailure(r *event.Record) (event.Event, bool) {
	text := r.Message()
	what := "error"
	device := scan.FirstWord(scan.After(
		text, "I/O error, dev ", "I/O error on dev ", "I/O error on device ", "I/O error in filesystem (\"",
		"I/O error on ",
	))
	if strings.HasPrefix(device, "loop") && strings.Contains(text, " phys_seg 0 ") {
		return event.Event{}, false
	}
	full := false
	if device == "" && scan.ContainsAny(text, []string{"I/O error", "potential data loss", "Failing async write "}) {
		device = fileSystemDevice(text)
		full = strings.Contains(text, "I/O error -28 ") || strings.HasSuffix(strings.TrimSpace(text), "error -28)")
	}
	if device == "" && strings.Contains(text, ": error -5 ") { // EIO
		device, _ = scan.Between(text, "(device ", ")")
	}
	switch {
	case full:
		what = "full"
	case device != "":
	case strings.Contains(text, ": writeback error on inode "):
		device, _, _ = strings.Cut(text, ": writeback error on ")
		device = device[strings.LastIndexByte(device, ' ')+1:]
	case strings.Contains(text, "rror on swap-device ("):
		device = "swap-device " + scan.FirstWord(scan.After(text, "rror on swap-device ("))
	case strings.Contains(text, ": encountered watch error: ") || strings.Contains(text, " result -"):
		device, _, _ = strings.Cut(scan.After(text, "rbd: rbd"), ":")
		if device != "" {
			device = "rbd" + device
		}
	case strings.Contains(text, ": Failing path "):
		device = "the path " + scan.FirstWord(scan.After(text, ": Failing path "))
	default:
		what = "journal"
		device = scan.FirstWord(scan.After(
			text, "Aborting journal on device ", "while flushing file data on ", "updating journal superblock for ",
		))
	}
	device = strings.Trim(device, ",.:\")")
	return event.New(
		event.KindBlockError, "I/O errors on "+device, event.FieldDevice.Text(device),
		event.FieldWhat.Text(what),
	), device != "" && !isRemovable(device)
}

// isRemovable says that a disk is a floppy disk or a CD.
func isRemovable(device string) bool {
	name := strings.TrimRight(device, "0123456789")
	return name != device && (name == "fd" || name == "sr")
}

// fileSystemDevice is the disk of the file system that speaks in a line of ext4, XFS or Btrfs;
// empty where none does.
func fileSystemDevice(text string) string {
	for _, begin := range []string{"XFS (", "EXT4-fs (", "(device "} {
		if device, ok := scan.Between(text, begin, ")"); ok {
			device, _, _ = strings.Cut(strings.ReplaceAll(device, ":", " "), " ") // "sda2: state EA"
			return device
		}
	}
	return ""
}

// RequestRefused is a request that a disk refused, or that was not sent to it any more:
//
//	blk_update_request: critical medium error, dev sda, sector 2048      (without its first words after 5.16)
//	blk_update_request: critical space allocation error, dev sda, sector 2048      (a volume of a thin pool that is full)
//	blk_update_request: timeout error, dev sdb, sector 2048      (also: recoverable transport, critical nexus, protection)
//	device offline error, dev sda, sector 2048 op 0x1:(WRITE)
//	sd 2:0:0:0: [sda] rejecting I/O to offline device      (up to 4.x without the name)
func RequestRefused(r *event.Record) (event.Event, bool) {
	device := scan.FirstWord(scan.After(
		r.Message(), "critical medium error, dev ", "critical target error, dev ", "device offline error, dev ",
		"critical space allocation error, dev ", "critical nexus error, dev ", "transport error, dev ", "timeout error, dev ", "protection error, dev ",
	))
	if device == "" && strings.Contains(r.Message(), "rejecting I/O to ") {
		device = driverDevice(r.Message())
	}
	device = strings.Trim(device, ",")
	what, says := "error", "I/O errors on "+device
	if strings.Contains(r.Message(), "space allocation error") {
		what, says = "full", "the storage below "+device+" has no space left for what is written to it"
	}
	// many disks cannot discard blocks, or fill them with zeroes, and lose nothing by it
	optional := scan.ContainsAny(r.Message(), []string{":(DISCARD)", ":(WRITE_ZEROES)", ":(WRITE_SAME)"})
	return event.New(
		event.KindBlockError, says, event.FieldDevice.Text(device), event.FieldWhat.Text(what),
	), device != "" && !optional && !isRemovable(device)
}

// FileSystemDamage is a file system that finds itself damaged, or stops for it:
//
//	EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm kubelet: reading directory lblock 0
//	XFS (dm-0): Metadata corruption detected at xfs_agf_read_verify+0x1/0x2 [xfs], xfs_agf block 0x1
//	XFS (vdb): Internal error XFS_WANT_CORRUPTED_GOTO at line 1635 of file fs/xfs/libxfs/xfs_alloc.c.  Caller …
//	XFS (vdb): Unmount and run xfs_repair
//	BTRFS error (device sda2): …
//	BTRFS: error (device sda2: state EA) in btrfs_commit_transaction:2460: errno=-5 IO failure
//	BTRFS: error (device sda2) in btrfs_run_delayed_refs:2150: errno=-28 No space left
//	BTRFS warning (device sda2): csum failed root 5 ino 257 off 0 …
//	EXT4-fs (sda1): error count since last fsck: 12      (once a day)
//	EXT4-fs (sda1): error loading journal      (also: unable to read superblock)
func FileSystemDamage(r *event.Record) (event.Event, bool) {
	text := r.Message()
	device := fileSystemDevice(text)
	e := event.New(
		event.KindBlockError, "the file system on "+device+" is damaged", event.FieldDevice.Text(device),
		event.FieldWhat.Text("file-system"),
	)
	if strings.Contains(text, " errno=-28 ") { // ENOSPC
		e.Text = "the file system on " + device + " has no space left"
		e.Fields[1] = event.FieldWhat.Text("full")
	}
	return e, device != "" && scan.ContainsAny(text, []string{"EXT4-fs ", "XFS (", "BTRFS"}) && !scan.ContainsAny(text, shutDown)
}

// shutDown are XFS's words of a file system that it has shut down.
var shutDown = []string{"Shutting down filesystem", "ilesystem has been shut down", "xfs_do_force_shutdown(", "mount the filesystem and rectify", "xfs_log_force: error "}

// FileSystemReadOnly is a file system that takes no more writes after an error:
//
//	EXT4-fs (sda1): Remounting filesystem read-only
//	BTRFS info (device sda2 state E): forced readonly
//	XFS (dm-4): I/O Error Detected. Shutting down filesystem      (XFS knows no read-only: nothing can be read either)
//	XFS (dm-0): Filesystem has been shut down due to log error (0x2).      (>= 5.13)
//	XFS (sdb1): xfs_do_force_shutdown(0x2) called from line 1203 of file fs/xfs/xfs_log.c. …      (up to 5.12)
//	XFS (dm-0): Please unmount the filesystem and rectify the problem(s)      (up to 4.x "umount")
//	XFS (dm-0): xfs_log_force: error -5 returned.      (every 30 s since then; up to 4.x "error 5")
func FileSystemReadOnly(r *event.Record) (event.Event, bool) {
	text, state := r.Message(), "is read-only now"
	device, ok := scan.Between(text, "EXT4-fs (", "): Remounting filesystem read-only")
	if !ok && strings.HasSuffix(text, ": forced readonly") {
		device, ok = scan.Between(text, "(device ", ")")
	}
	if !ok && scan.ContainsAny(text, shutDown) {
		device, ok = scan.Between(text, "XFS (", ")")
		state = "has shut down: every access to it fails"
	}
	device, _, _ = strings.Cut(device, " ")
	return event.New(
		event.KindReadOnly, "the file system on "+device+" "+state, event.FieldDevice.Text(device),
	), ok && device != ""
}

// OverlayFailure is overlayfs, which cannot read a directory of the layers below it
// (fs/overlayfs/namei.c, super.c): EIO is the disk's, or that of a file system which has shut down,
// EUCLEAN that of a damaged one.
//
//	overlayfs: failed to get redirect (-5)      (also origin, metacopy)
//	overlayfs: failed to verify origin (a/b, ino=7, err=-117)
//
// A layer of a runtime that is not there is damage, too, of what the runtime keeps:
//
//	overlayfs: failed to resolve '/var/lib/docker/overlay2/l/ABC': -2
func OverlayFailure(r *event.Record) (event.Event, bool) {
	text := strings.TrimRight(r.Message(), " ")
	what := "error"
	if strings.HasSuffix(text, "-117)") || strings.HasSuffix(text, "': -117") {
		what = "file-system"
	}
	if layer, gone := scan.Between(text, "failed to resolve '", "': -2"); gone {
		return event.New(
			event.KindLayersDamaged, "a layer of the runtime is not there: "+layer, event.FieldWhat.Text("layer"), event.FieldError.Text("no such file or directory"),
		), scan.ContainsAny(layer, []string{"/overlay2/", "/containerd/", "/snapshots/", "/containers/storage/"})
	}
	failed := scan.ContainsAny(text, []string{"(-5)", " err=-5)", "(-117)", " err=-117)", "': -5", "': -117"})
	return event.New(
		event.KindBlockError, "overlayfs cannot read the directories below it", event.FieldDevice.Text("overlay"),
		event.FieldWhat.Text(what),
	), failed
}

// ThinPool is a pool of device-mapper that has no space left for what is written to its devices:
// writers wait for a minute, and fail then.
//
//	device-mapper: thin: 253:4: switching pool to out-of-data-space (queue IO) mode      (before 4.4 without the brackets)
//	device-mapper: thin: 253:4: switching pool to read-only mode
//	device-mapper: thin: 253:4: switching pool to fail mode
//	device-mapper: thin: 253:4: unable to service pool target messages in READ_ONLY or FAIL mode
//	device-mapper: thin: 253:4: no free data space available.      (also: metadata)
//	device-mapper: thin: 253:4: metadata operation 'dm_pool_alloc_data_block' failed: error = -28
//	device-mapper: thin: 253:4: aborting current metadata transaction
//	device-mapper: space map metadata: unable to allocate new metadata block
//	device-mapper: block manager: btree_node validator check failed for block 1234
func ThinPool(r *event.Record) (event.Event, bool) {
	text := r.Message()
	if e, ok := thinPoolMetadata(strings.TrimSpace(text)); ok {
		return e, ok
	}
	pool, mode, ok := strings.Cut(scan.After(text, "device-mapper: thin: "), ": switching pool to ")
	if before, _, refuses := strings.Cut(pool, ": unable to service pool target messages"); refuses {
		pool, mode, ok = before, "fail", true
	}
	e := event.New(event.KindBlockError, "the thin pool "+pool, event.FieldDevice.Text("dm-thin "+pool))
	switch {
	case strings.HasPrefix(mode, "out-of-data-space"):
		e.Text += " has no space left: what writes to its disks waits for it"
		e.AddFields(event.FieldWhat.Text("full"))
	case strings.HasPrefix(mode, "read-only"), strings.HasPrefix(mode, "fail"):
		e.Text += " takes no more writes"
		e.AddFields(event.FieldWhat.Text("error"))
	default:
		return event.Event{}, false
	}
	return e, ok && pool != ""
}

// thinPoolMetadata is a thin pool whose own records find no room, or cannot be read or written.
func thinPoolMetadata(text string) (event.Event, bool) {
	told, ok := strings.CutPrefix(text, "device-mapper: ")
	pool, rest, named := strings.Cut(scan.After(told, "thin: "), ": ")
	if !named {
		pool, rest = "metadata", told
	}
	e := event.New(event.KindBlockError, "the thin pool "+pool+" has no space left", event.FieldDevice.Text("dm-thin "+pool))
	switch {
	case strings.HasPrefix(rest, "no free "), strings.HasSuffix(rest, " failed: error = -28"), strings.HasPrefix(rest, "space map metadata: unable to allocate"):
		e.AddFields(event.FieldWhat.Text("full"))
	case strings.HasPrefix(rest, "metadata operation "), strings.HasPrefix(rest, "aborting current metadata"), strings.Contains(rest, " validator check failed for block "):
		e.Text = "the records of the thin pool " + pool + " cannot be read or written"
		e.AddFields(event.FieldWhat.Text("error"))
	default:
		return event.Event{}, false
	}
	return e, ok
}

// LostWrite is what ext4 says of data that a program believes to be written, and for which the file
// system, or the thin pool below it, has no space; other errors of the same line are the disk's.
//
//	EXT4-fs (dm-3): Delayed block allocation failed for inode 131081 at logical offset 0 with max blocks 2 with error 28
func LostWrite(r *event.Record) (event.Event, bool) {
	text := r.Message()
	device, ok := scan.Between(text, "EXT4-fs (", "): Delayed block allocation failed ")
	if !ok {
		device, ok = scan.Between(text, "EXT4-fs (", "): This should not happen!! Data will be lost") // the line below it
	}
	e := event.New(event.KindBlockError, "I/O errors on "+device, event.FieldDevice.Text(device), event.FieldWhat.Text("error"))
	if strings.HasSuffix(strings.TrimSpace(text), " with error 28") { // ENOSPC
		e.Text = "the file system on " + device + " has no space left: what was written to it is lost"
		e.Fields[1] = event.FieldWhat.Text("full")
	}
	return e, ok && device != ""
}

// NVMeTimeout is a command of NVMe that got no answer:
//
//	nvme nvme1: I/O 12 QID 3 timeout, aborting      (up to 4.3 "nvme 0000:00:1f.0: I/O 12 …")
//	nvme nvme1: I/O tag 12 (100c) opcode 0x1 (I/O Cmd) QID 3 timeout, aborting req_op:WRITE(1) size:4096      (≥ 6.5)
//	nvme nvme0: Admin Cmd QID 0 timeout, reset controller      (what is between is left out in quotations)
//	nvme nvme1: I/O 12 QID 3 timeout, completion polled      (the interrupt was lost, or came late)
//	nvme nvme1: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10
//	nvme nvme1: Device not ready; aborting reset, CSTS=0x1      (the reset did not help)
//	nvme nvme1: Removing after probe failure status: -19      (up to 6.3; "Disabling device after reset failure: -19" since)
//	nvme nvme1: frozen state error detected, reset controller
//	nvme nvme2: queue 1: timeout request 0x5e type 4      (of NVMe over TCP; so are the next)
//	nvme nvme2: failed nvme_keep_alive_end_io error=10
//	nvme nvme2: starting error recovery
//	nvme nvme2: Reconnecting in 10 seconds...
//	nvme nvme2: failed to connect socket: -110
//
// A disk that was taken out while it came up had answered all it was asked, and is no such disk:
//
//	nvme nvme2: failed to mark controller live
//	nvme nvme2: Removing after probe failure status: 0      (up to 4.20; no line since)
func NVMeTimeout(r *event.Record) (event.Event, bool) {
	device, rest, ok := strings.Cut(scan.After(r.Raw, "nvme "), ": ")
	if strings.TrimSpace(scan.After(rest, " failure status: ")) == "0" {
		return event.Event{}, false
	}
	for _, start := range [...]string{
		"I/O ", "Admin Cmd QID ", "controller is down", "Device not ready; aborting reset", "Removing after probe failure", "Disabling device after reset failure",
		"frozen state error detected", "queue ", "failed nvme_keep_alive_end_io", "starting error recovery", "Reconnecting in ", "failed to connect socket",
		"Identify Controller failed",
	} {
		if ok && strings.HasPrefix(rest, start) {
			if !strings.HasPrefix(device, "nvme") { // the address on the bus
				device = "nvme " + device
			}
			e := event.New(event.KindBlockError, device+" does not answer", event.FieldDevice.Text(device), event.FieldWhat.Text(timeout))
			if strings.HasSuffix(start, " failure") {
				e.Text = "the kernel has given up " + device + ", which cannot be reset: every request to it fails"
				e.AddFields(event.FieldGaveUp.Bool(true))
			}
			return e, true
		}
	}
	return event.Event{}, false
}
