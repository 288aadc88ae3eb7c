package snapshots

import (
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ReadBoots reads what the node's own records say of its starts: last -x of util-linux, newest
// first, journalctl --list-boots, and who -b:
//
//	reboot   system boot  5.15.0-101-gener Sat Mar 16 04:12   still running
//	shutdown system down  5.15.0-101-gener Fri Mar 15 22:01 - 04:12  (06:11)
//	ops      pts/0        10.0.0.8         Fri Mar 15 17:01 - crash  (11:10)
//	 -1 b57bc9fa65c00537e8b3c48d2ae89b9c Tue 2024-02-20 10:44:03 UTC—Sat 2024-03-16 04:09:51 UTC
//	         system boot  2023-09-17 03:14
//
//	reboot   system boot  6.8.0-45-generic Tue Sep 24 09:14:58 2024 - crash   (17+18:07)
//
// The path is "boot" for a start, whose value is its date, "down" for a shutdown, "crash" for a
// session that no shutdown has ended, and "end" for one that a shutdown has. A start has the field
// end where no shutdown followed: "crash". A row of journalctl has the fields id, number and last,
// which is the date of its last line.
func ReadBoots(in lines.Input) iter.Seq2[Datum, error] {
	return lineData(in, func(line []byte) (Datum, bool) { return readBootLine(string(line)) })
}

var (
	// lastRow is a row of last: 1 who, 2 where, 3 the date, 4 what is behind it.
	lastRow = regexp.MustCompile(`^(\S{1,32}) +(system boot|system down|\(to lvl \w\)|~|\S{1,16}) +.{0,40}?((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d(?::\d\d \d{4})?)(?: +(.*))?$`)
	// listedBoot is a row of journalctl: 1 the number, 2 the id, 3 the first date, 4 the last one.
	listedBoot = regexp.MustCompile(`^ *(-?\d{1,4}) ([0-9a-f]{32}) (\S{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S{1,6})(?:—| )(\S{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S{1,6})$`)
	// whoBoot is the row of who -b: 1 the date.
	whoBoot = regexp.MustCompile(`^ +system boot +(\d{4}-\d\d-\d\d \d\d:\d\d)$`)
)

// readBootLine reads a line; one without path, value and fields tells nothing.
func readBootLine(line string) (e Datum, ok bool) {
	line = strings.TrimRight(line, " \t")
	if m := listedBoot.FindStringSubmatch(line); m != nil {
		return Datum{Path: []string{"boot"}, Value: m[3], Fields: []event.Pair{{Key: "number", Value: m[1]}, {Key: "id", Value: m[2]}, {Key: "last", Value: m[4]}}}, true
	}
	if m := whoBoot.FindStringSubmatch(line); m != nil {
		return Datum{Path: []string{"boot"}, Value: m[1]}, true
	}
	m := lastRow.FindStringSubmatch(line)
	switch {
	case m == nil:
		return e, lines.StartsWith(line, "wtmp begins ", "IDX BOOT ID ")
	case m[2] == "system boot" && strings.HasPrefix(m[4], "- crash"):
		return Datum{Path: []string{"boot"}, Value: m[3], Fields: []event.Pair{{Key: "end", Value: "crash"}}}, true
	case m[2] == "system boot":
		return Datum{Path: []string{"boot"}, Value: m[3]}, true
	case m[2] == "system down":
		return Datum{Path: []string{"down"}, Value: m[3]}, true
	case strings.HasPrefix(m[4], "- crash"):
		return Datum{Path: []string{"crash"}, Value: m[3]}, true
	case strings.HasPrefix(m[4], "- down"):
		return Datum{Path: []string{"end"}, Value: m[3]}, true
	}
	return e, lines.StartsWith(m[4], "still ", "- ", "gone ") || m[4] == ""
}

// SniffBoots wants a start of the machine, and no line that is none of such a list.
func SniffBoots(head *lines.Head) float64 {
	first := head.Lines[:min(len(head.Lines), 2)] // the first may be a header
	if !head.Holds(" system boot ") && !slices.ContainsFunc(first, func(line []byte) bool { return len(line) < 140 && listedBoot.Match(line) }) {
		return 0
	}
	return lines.Share(head, func(line []byte) lines.Sign {
		e, ok := readBootLine(string(line))
		if ok && e.Path != nil && e.Path[0] == "boot" {
			return lines.Proves
		}
		return lines.SignIf(ok, lines.Fits)
	})
}
