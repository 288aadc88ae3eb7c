package storage

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// DiskLost is a disk that is gone for the kernel, or a pool or a replica that waits until its
// disks, or the nodes with the other replicas, come back:
//
//	WARNING: Pool 'rpool' has encountered an uncorrectable I/O failure and has been suspended.      (ZFS)
//	drbd pvc-1d2e/0 drbd1000: quorum( yes -> no )                                                   (DRBD 9; they wait, or fail, as on-no-quorum says)
//	drbd pvc-1d2e: susp-io( no -> quorum)                                                           (they wait; also: no-disk, fencing)
//	drbd pvc-1d2e node2: PingAck did not arrive in time.
//	md/raid1:md0: Disk failure on sda1, disabling device.
//	md/raid:md127: Cannot continue operation (2/4 failed).
//	md/raid:md127: read error not correctable (sector 1234 on sdc).
//	md/raid1:md0: sda1: unrecoverable I/O read error for block 1234
//	block nvme2n1: no available path - failing I/O      (multipath of NVMe; "no usable path - requeuing I/O" while it waits for one)
//	rport-3:0-1: blocked FC remote port time out: removing target and saving binding      (also: removing rport)
//	qla2xxx [0000:05:00.0]-500b:1: LOOP DOWN detected (2 7 0 0).      (lpfc: "0:1305 Link Down Event x2 received")
//	hv_storvsc f8b3781a-…: tag#212 cmd 0x2a status: scsi 0x0 srb 0x4 hv 0xc0000001                  (Azure, Hyper-V)
func DiskLost(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	lost := func(what, device, text string) (event.Event, bool) {
		return event.New(event.KindBlockError, text, event.FieldDevice.Text(device), event.FieldWhat.Text(what)), device != ""
	}
	if pool, ok := scan.Between(said, "WARNING: Pool '", "' has encountered an uncorrectable I/O failure"); ok {
		return lost("suspended", "pool "+pool, "the ZFS pool "+pool+" is suspended after I/O errors: whatever reads or writes there waits")
	}
	if before, change, ok := strings.Cut(said, ": quorum( "); ok && strings.HasPrefix(said, "drbd ") {
		device := before[strings.LastIndexByte(before, ' ')+1:]
		e, named := lost("error", device, "the replicated disk "+device+" has lost its quorum: its writes wait or fail")
		e.Span = event.Span{Key: "drbd/" + device, State: true, Edge: event.EdgeOf(change, "yes -> no", "no -> yes")}
		return e, named && e.Span.Edge != event.Whole
	}
	if resource, change, ok := strings.Cut(said, ": susp-io( "); ok && strings.HasPrefix(resource, "drbd ") {
		device := strings.TrimPrefix(resource, "drbd ")
		e, named := lost("suspended", device, "the replicated disk "+device+" is suspended: whatever reads or writes there waits")
		e.Span = event.Span{Key: "drbd-io/" + device, State: true, Edge: event.EdgeOf(change, "no -> ", "")}
		return e, named
	}
	if resource, ok := strings.CutSuffix(said, ": PingAck did not arrive in time."); ok && strings.HasPrefix(said, "drbd ") {
		return lost("timeout", strings.TrimPrefix(resource, "drbd "), "the other node of "+resource+" does not answer")
	}
	if device, ok := scan.Between(said, ": Disk failure on ", ","); ok && strings.HasPrefix(said, "md/") {
		return lost("error", device, "the disk "+device+" has failed and is out of its array")
	}
	if e, ok := lostArray(said); ok {
		return e, ok
	}
	if port, _, ok := strings.Cut(said, ": blocked FC remote port time out: removing "); ok {
		return lost("error", port, "the Fibre Channel port "+port+" is gone, with its disks")
	}
	if scan.ContainsAny(said, []string{"]-500b:", ":1305 Link Down Event"}) {
		adapter := strings.Trim(scan.FirstWord(scan.After(said, "qla2xxx ", "lpfc ")), "[]:")
		adapter, _, _ = strings.Cut(adapter, "]")
		return lost("error", adapter, "the Fibre Channel adapter "+adapter+" has lost its link, and the disks behind it")
	}
	if cmd, ok := scan.Between(said, " cmd 0x", " status: scsi 0x"); ok && strings.HasPrefix(said, "hv_storvsc ") && slices.Contains(transfers, cmd) {
		return lost("error", "hv_storvsc", "I/O errors on a disk of the hypervisor (hv_storvsc)")
	}
	return event.Event{}, false
}

// lostTexts are what stands behind the name of an array of md, or of a disk of NVMe with several
// paths, that takes no more requests.
var lostTexts = [...][3]string{
	{": Cannot continue operation (", "error", "too many disks of the array %s have failed: every request to it fails"},
	{": unrecoverable I/O read error for block ", "error", "I/O errors on %s"},
	{": no available path - failing I/O", "error", "no path is left to the disk %s: every request to it fails"},
	{": no usable path - requeuing I/O", "timeout", "no path is left to the disk %s: whatever reads or writes there waits"},
}

// lostArray is one of lostTexts, or a disk of an array that cannot be read.
func lostArray(said string) (event.Event, bool) {
	if !strings.HasPrefix(said, "md/") && !strings.HasPrefix(said, "block nvme") {
		return event.Event{}, false
	}
	for _, t := range lostTexts {
		head, _, ok := strings.Cut(said, t[0])
		if device := head[strings.LastIndexAny(head, ": ")+1:]; ok {
			return event.New(event.KindBlockError, strings.Replace(t[2], "%s", device, 1), event.FieldDevice.Text(device), event.FieldWhat.Text(t[1])), device != ""
		}
	}
	device, ok := scan.Between(said, "read error not correctable (sector ", ")")
	device = device[strings.LastIndexByte(device, ' ')+1:]
	return event.New(event.KindBlockError, "I/O errors on "+device, event.FieldDevice.Text(device), event.FieldWhat.Text("error")), ok && device != ""
}

// transfers are SCSI's commands that read, write or flush; others fail on disks that work, too.
var transfers = []string{"28", "2a", "35", "88", "8a", "91"}
