package messages

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// udevTable: systemd-udevd 208 to 257.
var udevTable = table{
	component: "udev",
	rows: []row{
		{[]string{"timeout; kill it", "is taking a long time", "' killed", "processing SEQNUM="}, udevTimeout},
	},
}

// udevTimeout is a rule that runs for longer than udev lets it. What the rule was to tell, nobody
// will.
//
//	≤ 219  worker [20020] /devices/virtual/block/dm-61 timeout; kill it
//	≥ 220  worker [20020] /devices/virtual/block/dm-61 is taking a long time; seq 3667 '/devices/virtual/block/dm-61' killed
//	≥ 246  dm-61: Worker [20020] processing SEQNUM=3667 is taking a long time; … killed
func udevTimeout(r *event.Record) (event.Event, bool) {
	text := r.Message()
	killed := strings.Contains(text, "timeout; kill it") || strings.HasSuffix(text, " killed")
	device := ""
	if i := strings.Index(text, "/devices/"); i >= 0 {
		device = strings.Trim(scan.FirstWord(text[i:]), "'")
		device = device[strings.LastIndexByte(device, '/')+1:]
	} else if name, _, ok := strings.Cut(text, ": Worker ["); ok {
		device = name
	}
	what := "udev waits long for the rules of "
	if killed {
		what = "udev kills the rules of "
	}
	return event.New(
		event.KindUdevTimeout, what+device, event.FieldDevice.Text(device), event.FieldKilled.Bool(killed),
	), device != ""
}

// udevCookies is how a cookie may begin: libdm's DM_COOKIE_MAGIC is 0x0D4D.
func udevCookies() []string {
	var all []string
	for _, digit := range "0123456789abcdef" {
		all = append(all, "0xd4d"+string(digit))
	}
	return all
}

// udevCookie is a row of dmsetup udevcookies: a semaphore that device-mapper's
// user waits for until udev's rules complete it.
//
//	0xd4db2de    11730944   1          Tue May 19 17:55:18 2015  Tue May 19 17:55:18 2015
func udevCookie(r *event.Record) (event.Event, bool) {
	words := strings.Fields(r.Message())
	if len(words) < 3 || !strings.HasPrefix(words[0], "0xd4d") {
		return event.Event{}, false
	}
	value, err := strconv.Atoi(words[2])
	return event.Event{
		Kind: event.KindUdevCookie, Component: "udev", Source: "udevcookies",
		Fields: []event.Field{
			event.FieldCookie.Text(words[0]), event.FieldValue.Int(value),
		}, Text: "cookie " + words[0] + " is not complete",
	}, err == nil && value > 0
}
