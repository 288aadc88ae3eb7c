package systemd

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Udev is what systemd-udevd 208 to 257 says.
var Udev = table.Table{
	Component: "udev", Relays: []string{"kernel", table.HostProgram}, // dmesg shows what is said before journald runs
	Rows: []table.Row{
		{[]string{"timeout; kill it", "is taking a long time", "' killed", "processing SEQNUM=", "Spawned process '", "timeout: killing '"}, udevTimeout},
		{[]string{"waiting for udev queue to empty"}, udevQueueWaits},
	},
}

// udevTimeout is a rule that runs for longer than udev lets it. What the rule was to tell, nobody
// will.
//
//	≤ 219  worker [20020] /devices/virtual/block/dm-61 timeout; kill it
//	≥ 220  worker [20020] /devices/virtual/block/dm-61 is taking a long time; seq 3667 '/devices/virtual/block/dm-61' killed
//	≥ 246  dm-61: Worker [20020] processing SEQNUM=3667 is taking a long time; … killed
//
// Or a program that a rule runs:
//
//	≤ 219  timeout: killing '/sbin/blkid -o udev -p /dev/dm-61' [20021]
//	≥ 246  dm-61: Spawned process '/sbin/blkid -o udev -p /dev/dm-61' [20021] is taking longer than 59s to complete
//	≥ 246  dm-61: Spawned process '/sbin/blkid -o udev -p /dev/dm-61' [20021] timed out after 2min 59s, killing
func udevTimeout(r *event.Record) (event.Event, bool) {
	text := r.Message()
	if said, ok := strings.CutPrefix(text, "systemd-udevd["); ok {
		_, text, _ = strings.Cut(said, "]: ")
	} else if r.Unit == "kernel" {
		return event.Event{}, false
	}
	killed := strings.Contains(text, "timeout; kill it") || strings.HasSuffix(text, " killed") || strings.HasSuffix(text, ", killing") ||
		strings.HasPrefix(text, "timeout: killing '")
	device := ""
	if i := strings.Index(text, "/devices/"); i >= 0 {
		device = strings.Trim(scan.FirstWord(text[i:]), "'")
		device = device[strings.LastIndexByte(device, '/')+1:]
	} else if name, _, ok := strings.Cut(text, ": Worker ["); ok {
		device = name
	} else if name, rest, ok := strings.Cut(text, ": Spawned process '"); ok && (killed || strings.Contains(rest, " is taking longer than ")) {
		device = name
	} else if _, node, ok := strings.Cut(text, "/dev/"); ok && killed {
		device = strings.Trim(scan.FirstWord(node), "'")
	}
	what := "udev waits long for the rules of "
	if killed {
		what = "udev kills the rules of "
	}
	e := event.New(event.KindUdevTimeout, what+device, event.FieldDevice.Text(device), event.FieldKilled.Bool(killed))
	e.Component = "udev"
	return e, device != ""
}

// udevQueueWaits is udevadm settle, which waits for all events of udev to be handled, after its two
// or three minutes; udev itself does not answer, or works at one of them without an end:
//
//	udevadm[1439]: Timed out while waiting for udev queue to empty.
//	dracut-initqueue[277]: Timed out while waiting for udev queue to empty.
func udevQueueWaits(r *event.Record) (event.Event, bool) {
	e := event.New(event.KindUdevTimeout, "udev has not handled all of its events in time", event.FieldKilled.Bool(false))
	e.Component = "udev"
	return e, strings.Contains(r.Message(), "Timed out while ")
}
