package snapshots

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// The listings of sar have a clock before their columns, and a line above them that says of which
// machine and day they are. Every option prints other columns:
//
//	Linux 5.10.0-8-amd64 (node-1) 	11/20/26 	_x86_64_	(16 CPU)
//
//	09:30:01 AM     CPU     %user     %nice   %system   %iowait    %steal     %idle
//	09:40:01 AM     all      2.31      0.00      4.11     82.20      0.00     11.38
//	Average:        all      2.31      0.00      4.11     82.20      0.00     11.38

// clockColumn is the name of the column that sar has no name for. The rows of averages have no
// clock there.
const clockColumn = "time"

// systemRow is the path of the line above the listings of sar, iostat and their like.
var systemRow = []string{"system"}

// readSystemLine reads that line: release of the kernel, host and date, the latter as written.
func readSystemLine(line string) (fields []event.Pair, ok bool) {
	rest, ok := strings.CutPrefix(line, "Linux ")
	if !ok || !strings.HasSuffix(strings.TrimRight(rest, " \t"), " CPU)") {
		return nil, false
	}
	words := strings.Fields(rest)
	if len(words) < 6 || words[1][0] != '(' {
		return nil, false
	}
	return []event.Pair{
		{Key: "release", Value: words[0]}, {Key: "host", Value: strings.Trim(words[1], "()")}, {Key: "date", Value: words[2]},
	}, true
}

// readClockHead reads the header of a listing of sar.
func readClockHead(line string) (columns []column, ok bool) {
	if _, at := cutClock(line); at > 0 {
		columns = append([]column{{clockColumn, 0}}, cutWords(line[at:])...)
	}
	if len(columns) < 3 || len(columns) > 60 {
		return nil, false
	}
	for _, c := range columns[1:] {
		if lines.IsDigit(c.name[0]) || strings.Trim(c.name, letters+"0123456789%/-_:") != "" {
			return nil, false
		}
	}
	for _, c := range columns[1:] {
		if sarColumns[c.name] || strings.HasSuffix(c.name, "/s") {
			return columns, true
		}
	}
	return nil, false
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// sarColumns are names of which every listing of sar has one, where none counts something per
// second.
var sarColumns = map[string]bool{
	"%user": true, "%usr": true, "%util": true, "runq-sz": true, "kbmemfree": true, "kbswpfree": true, "dentunusd": true, "totsck": true, "MBfsfree": true,
	"kbhugfree": true, "TTY": true, "MHz": true, "tps": true, "%scpu-10": true, "%sio-10": true, "%smem-10": true, "total/s": true,
}

// cutClock is the clock at the start of a line, with what tells its half of the day, and where the
// rest begins; 0 where there is none.
func cutClock(line string) (clock string, rest int) {
	const width = len("09:30:01")
	if len(line) <= width+1 || line[2] != ':' || line[5] != ':' || line[width] != ' ' || !isClock(line[:width]) {
		return "", 0
	}
	if half := line[width+1:]; strings.HasPrefix(half, "AM ") || strings.HasPrefix(half, "PM ") {
		return line[:width+3], width + 3
	}
	return line[:width], width
}

// splitClocked takes a row of sar apart.
func (t *table) splitClocked(line string) (fields []event.Pair, ok bool) {
	clock, at := cutClock(line)
	if at == 0 {
		if !strings.HasPrefix(line, "Average:") {
			return nil, false
		}
		clock, at = "Average:", len("Average:")
	}
	row := cutWords(line[at:])
	if len(row) != len(t.columns)-1 || !isDecimal(row[len(row)-1].name) {
		return nil, false
	}
	fields = append(fields, event.Pair{Key: clockColumn, Value: clock})
	for i, w := range row {
		fields = append(fields, event.Pair{Key: t.columns[i+1].name, Value: w.name})
	}
	return fields, true
}
