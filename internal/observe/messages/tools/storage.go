package tools

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Storage is what those say who look after the node's volumes: multipathd (0.4.9 to 0.11), dmeventd
// of LVM 2, iscsid, ZFS' zed and zpool (0.8 to 2.3), and the liveness probe of CSI drivers (1.0 to
// 2.16), which runs beside each of them. What journald cannot write it says in the kernel's log.
var Storage = table.Table{Component: "node", Relays: []string{"", table.HostProgram, "kernel"}, Unnamed: "node", Rows: []table.Row{
	{[]string{": remaining active paths: "}, multipathPathsLeft},
	{[]string{": remaining active paths: 1"}, multipathLastPath},
	{[]string{": Disable queueing", " failed faulty ", " checker reports path is down", ": mark as failed", "checker failed path ", ": path offline"}, multipathFailed},
	{[]string{"WARNING: Thin pool "}, thinPoolFull},
	{append(failedPools, "twi-aotz--", "twi-aot---"), thinPoolListed},
	{[]string{" out_of_data_space ", " thin-pool Fail"}, thinPoolStatus},
	{[]string{"Failed to write entry ", "Failed to create new system journal: ", "Failed to rotate /"}, journalFull},
	{[]string{"Under memory pressure, flushing caches"}, journalShort},
	{[]string{"left on logging partition", "write error - see https://www.rsyslog"}, logDiskFull},
	{[]string{"Kernel reported iSCSI connection ", ":3260 failed (", "cannot make a connection to "}, iscsiLost},
	{[]string{"Fail event detected on md device", "DegradedArray event detected on md", "[2/1] [_U]", "[2/1] [U_]"}, raidArrayFailed},
	{[]string{": read failed after ", "Device for PV ", " is missing PV "}, volumeGroupUnreadable},
	{[]string{"class=io_failure", " state: SUSPENDED"}, zfsPoolFailed},
	{[]string{"Write timeout on replica ", "Read timeout on replica ", " to mode ERR due to"}, longhornReplicaLost},
	{[]string{"ealth check failed", "Failed to probe CSI driver"}, csiProbeFailed},
	{[]string{"fsfreeze", "xfs_freeze", "guest-fsthaw called"}, fileSystemFrozen},
}}

// freezing is a command that freezes a file system or thaws it, as velero's hooks and sudo log it.
var freezing = regexp.MustCompile(`(?:fsfreeze|xfs_freeze) (-f|--freeze|-u|--unfreeze) ([^\s\]"';]+)`)

// fileSystemFrozen is a program that freezes a file system or thaws it, for a backup or a snapshot.
// Until it is thawed whoever writes there waits. qemu-ga said nothing of the thaw itself before
// 9.2, but of its hook:
//
//	level=info msg="running exec hook" … hookCommand="[/sbin/fsfreeze --freeze /var/log/nginx]" hookPhase=pre …   (velero)
//	alice : TTY=pts/0 ; PWD=/ ; USER=root ; COMMAND=/usr/sbin/fsfreeze -f /var/lib/data                         (sudo)
//	info: guest-fsfreeze called / info: guest-fsthaw called / info: executing fsfreeze hook with arg 'thaw'     (qemu-ga)
//	fsfreeze: /var/log/nginx: freeze failed: Operation not supported
func fileSystemFrozen(r *event.Record) (event.Event, bool) {
	state, path, program := "", "", ""
	m := freezing.FindStringSubmatch(r.Raw)
	switch text := r.Raw; {
	case strings.Contains(text, "freeze failed: "):
		state = "failed"
	case strings.Contains(text, "guest-fsthaw called"), strings.Contains(text, "executing fsfreeze hook with arg 'thaw'"):
		state, program = "thawed", "qemu-ga"
	case strings.Contains(text, "guest-fsfreeze called"):
		state, program = "frozen", "qemu-ga"
	case m != nil && strings.Contains(text, "running exec hook"):
		program = "velero"
	case m != nil && strings.Contains(text, "COMMAND="):
		program = "sudo"
	default:
		return event.Event{}, false
	}
	if m != nil && state == "" {
		if state, path = "frozen", m[2]; strings.HasPrefix(strings.TrimLeft(m[1], "-"), "u") {
			state = "thawed"
		}
	}
	what := cmp.Or(path, "the node's file systems")
	text := map[string]string{
		"frozen": program + " freezes " + what, "thawed": program + " thaws " + what, "failed": "a file system could not be frozen",
	}[state]
	e := event.New(event.KindFreeze, text, event.FieldState.Text(state))
	e.Component = "node"
	e.AddText(event.FieldPath, path)
	e.AddText(event.FieldProgram, program)
	return e, true
}

// multipathPathsLeft is how many ways are left to a disk of multipath. Without one device-mapper
// keeps what is written until one comes back, mostly for ever (queue_if_no_path), and whoever
// writes waits:
//
//	multipathd[1123]: mpatha: remaining active paths: 0
//	multipathd[1123]: mpatha: remaining active paths: 1
func multipathPathsLeft(r *event.Record) (event.Event, bool) {
	device, paths, ok := strings.Cut(strings.TrimSpace(r.Message()), ": remaining active paths: ")
	left, err := strconv.Atoi(paths)
	if i := strings.LastIndexByte(device, ' '); i >= 0 {
		device = device[i+1:]
	}
	e := event.New(
		event.KindBlockError, "no path is left to the disk "+device+" of multipath", event.FieldDevice.Text(device),
		event.FieldWhat.Text("suspended"),
	)
	e.Span = event.Span{Key: "multipath/" + device, State: true, Edge: event.Begin}
	if left > 0 {
		e.Span.Edge, e.Text = event.End, "a path to the disk "+device+" of multipath is back"
	}
	return e, ok && err == nil && device != ""
}

// multipathLastPath is a disk of multipath with a single way left: the next failure stops its
// writers. A disk of one path has it at its start.
func multipathLastPath(r *event.Record) (event.Event, bool) {
	device, ok := strings.CutSuffix(strings.TrimSpace(r.Message()), ": remaining active paths: 1")
	device = device[strings.LastIndexByte(device, ' ')+1:]
	return event.New(
		event.KindBlockError, "one path is left to the disk "+device+" of multipath",
		event.FieldDevice.Text("the last path to "+device), event.FieldWhat.Text("error"),
	), ok && device != ""
}

// multipathFailed is a disk of which multipathd has given up, so that writes fail, or one path that
// is lost:
//
//	multipathd: mpathb: Disable queueing
//	multipathd: mpathy: sdas - tur checker reports path is down      (also directio, rdac, emc_clariion; up to 0.4.9 "sdas: tur checker reports path is down")
//	multipathd: sdas: mark as failed
//	multipathd: checker failed path 8:16 in map mpatha      (also: sdas: path offline)
//	| |- 3:0:0:1 sdc 8:32 failed faulty running                       (multipath -ll)
func multipathFailed(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	if device, given := strings.CutSuffix(said, ": Disable queueing"); given {
		device = device[strings.LastIndexByte(device, ' ')+1:]
		return event.New(
			event.KindBlockError, "multipathd lets writes to "+device+" fail, as no path came back",
			event.FieldWhat.Text("error"), event.FieldDevice.Text(device),
		), device != ""
	}
	path := failedPathIn(said)
	return event.New(
		event.KindBlockError, "multipath says that the path "+path+" has failed",
		event.FieldWhat.Text("error"), event.FieldDevice.Text("the path "+path),
	), path != ""
}

// failedPathIn is the path of multipath that a line says has failed; empty for another line.
func failedPathIn(said string) string {
	if before, down := strings.CutSuffix(said, " checker reports path is down"); down {
		before = before[:max(0, strings.LastIndexByte(before, ' '))] // the name of the checker
		before = strings.TrimRight(before, " -:")
		return before[strings.LastIndexByte(before, ' ')+1:]
	}
	for _, end := range []string{": mark as failed", ": path offline"} {
		if before, marked := strings.CutSuffix(said, end); marked {
			return before[strings.LastIndexByte(before, ' ')+1:]
		}
	}
	if path := scan.FirstWord(scan.After(said, "checker failed path ")); path != "" {
		return path
	}
	words := strings.Fields(strings.TrimLeft(said, "|`- "))
	if len(words) < 6 || words[3] != "failed" || words[4] != "faulty" || strings.Count(words[0], ":") != 3 {
		return ""
	}
	return words[1]
}

// fullPool is how full a thin pool is in per cent at which writers are about to wait.
const fullPool = 98

// thinPoolFull is dmeventd's word on a pool of LVM; it begins at 80 %:
//
//	dmeventd[523]: WARNING: Thin pool docker-thinpool-tpool data is now 100.00% full.      (lvm[523] before 2.02.133)
func thinPoolFull(r *event.Record) (event.Event, bool) {
	pool, rest, ok := strings.Cut(scan.After(r.Message(), "WARNING: Thin pool "), " data is now ")
	percent, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), "% full."), 64)
	return event.New(
		event.KindBlockError, "the thin pool "+pool+" is full to "+scan.FirstWord(rest)+": what writes to its disks waits for space",
		event.FieldDevice.Text("dm-thin "+pool), event.FieldWhat.Text("full"),
	), ok && err == nil && percent >= fullPool && !strings.Contains(pool, " ")
}

// failedPools are attributes of a thin pool (of lvs, the ninth letter) that has no data space left,
// whose metadata can only be read, or that has failed.
var failedPools = []string{"twi-aot-D-", "twi-aotzD-", "twi-aot-M-", "twi-aotzM-", "twi-aot-F-", "twi-aotzF-"}

// thinPoolListed is a row of lvs:
//
//	thinpool         vgpaas twi-aot-D- 80.00g             100.00 0.12
//	thinpool         docker twi-aotz-- 95.00g             100.00 45.12
func thinPoolListed(r *event.Record) (event.Event, bool) {
	words := strings.Fields(r.Message())
	if len(words) < 5 || r.Unit != "" || !strings.HasPrefix(words[2], "twi-") {
		return event.Event{}, false
	}
	used, err := strconv.ParseFloat(words[4], 64)
	full := err == nil && used >= fullPool
	if !slices.Contains(failedPools, words[2]) && !full {
		return event.Event{}, false
	}
	pool := words[1] + "/" + words[0]
	e := event.New(event.KindBlockError, "the thin pool "+pool, event.FieldDevice.Text("dm-thin "+pool))
	if words[2][8] == 'D' || full {
		e.Text += " has no space left: what writes to its disks waits for it, or fails"
		e.AddFields(event.FieldWhat.Text("full"))
		return e, true
	}
	e.Text += " takes no more writes"
	e.AddFields(event.FieldWhat.Text("error"))
	return e, true
}

// thinPoolStatus is a row of dmsetup status:
//
//	docker-pool: 0 209715200 thin-pool 5 412/26214 1638400/1638400 - out_of_data_space discard_passdown queue_if_no_space - 1024
//	docker-pool: 0 209715200 thin-pool Fail
func thinPoolStatus(r *event.Record) (event.Event, bool) {
	name, rest, ok := strings.Cut(strings.TrimSpace(r.Message()), ": ")
	e := event.New(event.KindBlockError, "the thin pool "+name+" has no space left: what writes to its disks waits for it, or fails", event.FieldDevice.Text("dm-thin "+name))
	if strings.HasSuffix(rest, " thin-pool Fail") {
		e.Text = "the thin pool " + name + " takes no more writes"
		e.AddFields(event.FieldWhat.Text("error"))
	} else {
		e.AddFields(event.FieldWhat.Text("full"))
	}
	return e, ok && strings.Contains(rest, " thin-pool ") && !strings.Contains(name, " ")
}

// raidArrayFailed is mdadm --monitor on an array that has lost a disk, or such an array of two in
// /proc/mdstat:
//
//	mdadm[812]: Fail event detected on md device /dev/md0, component device /dev/sda1
//	mdadm[812]: DegradedArray event detected on md device /dev/md0
//	      104792064 blocks super 1.2 [2/1] [_U]
func raidArrayFailed(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	array := strings.TrimSuffix(scan.FirstWord(scan.After(said, "detected on md device /dev/")), ",")
	e := event.New(event.KindBlockError, "the array "+array+" has lost a disk", event.FieldWhat.Text("health"))
	if array == "" {
		e.Text = "an array of two disks has lost one"
		return e, r.Unit == "" && strings.Contains(said, " blocks ")
	}
	e.AddFields(event.FieldDevice.Text(array))
	return e, true
}

// volumeGroupUnreadable is LVM on a disk that it cannot read, or does not find:
//
//	/dev/sdb: read failed after 0 of 4096 at 0: Input/output error      (its end in the user's language; since 2.03 "Error reading device /dev/sdb at 0 length 4096.")
//	WARNING: Device for PV aBcDeF-… not found or rejected by a filter.
//	WARNING: VG docker is missing PV aBcDeF-… (last written to /dev/sdb1).
func volumeGroupUnreadable(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	if device, rest, ok := strings.Cut(said, ": read failed after "); ok {
		device = strings.TrimPrefix(device, "/dev/")
		return event.New(
			event.KindBlockError, "I/O errors on "+device, event.FieldDevice.Text(device), event.FieldWhat.Text("error"),
		), strings.HasPrefix(rest, "0 of ") && strings.Contains(rest, " at ") && !strings.Contains(device, " ")
	}
	disk := scan.FirstWord(scan.After(said, "Device for PV ", " is missing PV "))
	return event.New(
		event.KindBlockError, "a disk of a volume group is not there: "+disk, event.FieldWhat.Text("health"),
	), disk != "" && strings.HasPrefix(said, "WARNING: ")
}

// logDiskFull is auditd or rsyslogd that has no room for what it is told:
//
//	auditd[620]: Audit daemon has no space left on logging partition      (also: is suspending logging due to no space left …)
//	rsyslogd[640]: file '/var/log/messages'[7] write error - see https://www.rsyslog.com/solving-rsyslog-write-errors/ for help OS error: No space left on device
func logDiskFull(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	file := "/var/log/audit"
	if name, ok := scan.Between(said, "file '", "'"); ok {
		file = name
	}
	return event.New(
		event.KindNoSpace, "no space or no inode is left for "+file, event.FieldPath.Text(file), event.FieldCall.Text("write"),
		event.FieldError.Text("no space left on device"),
	), scan.ContainsAny(said, []string{" no space left on logging partition", "OS error: No space left on device", ": No space left on device"})
}

// journalFull is journald (195 and later) that has no room for what it is told, or cannot write it:
//
//	systemd-journald[611]: Failed to write entry (23 items, 765 bytes), ignoring: No space left on device      (248 and later "… despite vacuuming, ignoring: …")
//	systemd-journald[611]: Failed to write entry (23 items, 765 bytes), ignoring: Read-only file system      (also: Input/output error)
//	systemd-journald[611]: Failed to write entry to /var/log/journal/<id>/system.journal (28 items, 1142 bytes) despite vacuuming, ignoring: Input/output error (Dropped 24 similar message(s))      (≥ 254)
//	systemd-journald[611]: Failed to write entry (20 items, 960 bytes), ignoring: Bad message      (its own file is damaged)
//	systemd-journald[611]: Failed to rotate /var/log/journal/<id>/system.journal: Read-only file system
//	systemd-journald[611]: Failed to create new system journal: No space left on device
func journalFull(r *event.Record) (event.Event, bool) {
	e, ok := journalRefused(r)
	e.Component = "node" // whichever log has it
	return e, ok
}

func journalRefused(r *event.Record) (event.Event, bool) {
	said, _, _ := strings.Cut(strings.TrimSpace(r.Message()), " (Dropped ")
	if r.Unit == "kernel" && !strings.HasPrefix(said, "systemd-journald[") {
		return event.Event{}, false
	}
	if strings.HasSuffix(said, ", ignoring: Bad message") {
		return event.New(
			event.KindIOError, "journald writes no more: its own file is damaged", event.FieldPath.Text("system.journal"), event.FieldCall.Text("write"),
		), true
	}
	if strings.HasSuffix(said, ": Read-only file system") {
		return event.New(
			event.KindWriteRefused, "the file system is read-only at /var/log/journal", event.FieldPath.Text("/var/log/journal"),
			event.FieldCall.Text("write"), event.FieldError.Text("read-only file system"),
		), true
	}
	if strings.HasSuffix(said, ": Input/output error") {
		return event.New(
			event.KindIOError, "an input/output error at /var/log/journal", event.FieldPath.Text("/var/log/journal"), event.FieldCall.Text("write"),
		), true
	}
	return event.New(
		event.KindNoSpace, "no space or no inode is left for /var/log/journal", event.FieldPath.Text("/var/log/journal"),
		event.FieldCall.Text("write"), event.FieldError.Text("no space left on device"),
	), strings.HasSuffix(said, ": No space left on device")
}

// journalShort is journald (254 and later): within two seconds it has waited for memory for a fifth
// of one, and gives its caches back.
//
//	systemd-journald[611]: Under memory pressure, flushing caches.
func journalShort(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	if r.Unit == "kernel" && !strings.HasPrefix(said, "systemd-journald[") {
		return event.Event{}, false
	}
	e := event.New(event.KindMemoryShort, "journald waits for memory, and gives its caches back")
	e.Component = "node" // whichever log has it
	return e, strings.HasSuffix(said, "Under memory pressure, flushing caches.")
}

// iscsiLost is iscsid's word on what the kernel told it, whose own lines may be cut off:
//
//	Kernel reported iSCSI connection 1:0 error (1022 - ISCSI_ERR_NOP_TIMEDOUT: A NOP has timed out) state (3)
//
// Or on a target that it cannot reach, which it tries again and again:
//
//	connect to 10.0.0.9:3260 failed (No route to host)
//	cannot make a connection to 10.0.0.9:3260 (-1,113)
func iscsiLost(r *event.Record) (event.Event, bool) {
	if portal := scan.FirstWord(scan.After(r.Message(), "connect to ", "cannot make a connection to ")); portal != "" {
		return event.New(
			event.KindBlockError, "the iSCSI target at "+portal+" cannot be reached", event.FieldDevice.Text("the iSCSI target "+portal),
			event.FieldWhat.Text("timeout"),
		), strings.HasSuffix(portal, ":3260") && (r.Unit == "" || r.Unit == "iscsid" || r.Unit == "iscsid.service")
	}
	connection, rest, ok := strings.Cut(scan.After(r.Message(), "Kernel reported iSCSI connection "), " error (")
	return event.New(
		event.KindBlockError, "the iSCSI connection "+connection+" is lost", event.FieldDevice.Text("connection"+connection),
		event.FieldWhat.Text("timeout"),
	), ok && scan.Digits(rest) != ""
}

// longhornReplicaLost is what the engine of a Longhorn volume (0.5 to 1.9) says of one of its
// replicas. The volume goes on with the others; its disk waits meanwhile, and fails where none is
// left.
//
//	level=error msg="Write timeout on replica 10.42.3.11:9503 seq= 195559 size= 304 (kB)"
//	level=error msg="Setting replica tcp://10.42.3.11:10000 to mode ERR due to: r/w timeout"
func longhornReplicaLost(r *event.Record) (event.Event, bool) {
	replica := scan.FirstWord(scan.After(r.Message(), " timeout on replica ", "etting replica ", "Set replica "))
	replica = strings.Trim(strings.TrimPrefix(replica, "tcp://"), `"`)
	return event.New(
		event.KindBlockError, "the replica "+replica+" of a Longhorn volume does not answer", event.FieldDevice.Text("the replica "+replica),
		event.FieldWhat.Text("timeout"),
	), strings.Contains(replica, ":")
}

// zfsPoolFailed is a pool of ZFS whose disks fail, by zed or zpool status:
//
//	zed[2211]: eid=52 class=io_failure pool='tank'
//	 state: SUSPENDED
func zfsPoolFailed(r *event.Record) (event.Event, bool) {
	said := strings.TrimSpace(r.Message())
	pool, _ := scan.Between(said, "pool='", "'")
	e := event.New(
		event.KindBlockError, "the ZFS pool "+pool+" has I/O errors", event.FieldDevice.Text("pool "+pool), event.FieldWhat.Text("error"),
	)
	if said == "state: SUSPENDED" {
		e = event.New(
			event.KindBlockError, "a ZFS pool is suspended: whatever reads or writes there waits", event.FieldDevice.Text("pool of ZFS"),
			event.FieldWhat.Text("suspended"),
		)
		return e, true
	}
	return e, pool != ""
}

// csiProbeFailed is a CSI driver that did not answer, or said that it cannot work. Its pod is
// restarted after a few of these:
//
//	E0907 11:34:01.681407       1 main.go:66] health check failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded
//	E0312 07:11:02.120413       1 main.go:67] "Health check failed" err="rpc error: code = DeadlineExceeded desc = context deadline exceeded"      (2.10 and later)
func csiProbeFailed(r *event.Record) (event.Event, bool) {
	said := r.Message()
	reason := cmp.Or(table.ErrorOf(r), scan.After(said, "ealth check failed: "))
	known := strings.HasPrefix(said, "Failed to probe CSI driver") || strings.HasPrefix(strings.ToLower(said), "health check failed")
	if !known || !strings.Contains(reason, "rpc error: ") {
		return event.Event{}, false // others have health checks, too
	}
	late := table.IsDeadline(reason)
	e := event.New(
		event.KindProbeFailed, "the CSI driver "+map[bool]string{true: "does not answer the probe of its health", false: "fails the probe of its health: " + scan.Clip(reason)}[late],
		event.FieldError.Text(scan.Clip(reason)), event.FieldDeadline.Bool(late),
	)
	if name := r.Value("driver", "driverName"); name != "" {
		e.Text = strings.Replace(e.Text, "the CSI driver", "the CSI driver "+name, 1)
		e.AddFields(event.FieldName.Text(name))
	}
	return e, true
}
