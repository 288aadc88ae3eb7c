package samples

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// readXcapture3Row reads a row of xcapture 3 by the names of the header's columns, which
// change from version to version. F are its values.
func (r *sampleReader) readXcapture3Row(line string, f []string) (s Sample, reason string) {
	if len(f) != len(r.columns) {
		return s, fmt.Sprintf("%d columns, the header has %d", len(f), len(r.columns))
	}
	column := func(name string) string { return r.cell(f, name) }
	if f[0] == "IORQ_END" {
		return readDiskRow(line, column)
	}
	s.Ended = f[0] == "SYSC_END"
	when := column("TIMESTAMP")
	if s.Ended {
		when = column("SYSC_ENTER_TIME")
	}
	var n int
	if s.Time, n = stamp.ISO([]byte(when)); n == 0 || !isPID(column("TID")) {
		return Sample{}, fmt.Sprintf("no time and id: %.40q", line)
	}
	s.TID, _ = strconv.Atoi(column("TID"))
	s.PID, _ = strconv.Atoi(column("TGID"))
	s.Comm, s.Exe = column("COMM"), column("EXE")
	s.State = stateLetter(column("STATE"))
	s.Syscall = withoutPlaceholder(column("SYSCALL") + column("SYSCALL_NAME"))
	s.Kernel = s.Exe == "[kernel]" || s.Exe == "[NO_MM]"
	if s.Kernel {
		s.Exe = ""
	}
	for _, name := range [...]string{"CONNECTION", "FILENAME"} {
		if v := withoutPlaceholder(column(name)); v != "" {
			s.Target = v
			break
		}
	}
	s.Seq, _ = strconv.ParseUint(column("SYSC_SEQ_NUM"), 10, 64)
	s.StackID, _ = strconv.ParseUint(column("KSTACK_HASH"), 16, 64)
	s.CgroupID, _ = strconv.ParseUint(column("CGROUP_ID"), 10, 64)
	for _, age := range [...]struct {
		column string
		unit   time.Duration
	}{{"SYSC_NS_SO_FAR", time.Nanosecond}, {"DURATION_NS", time.Nanosecond}, {"SYSC_US_SO_FAR", time.Microsecond}} {
		if v, err := strconv.ParseInt(column(age.column), 10, 64); err == nil && v > 0 && v < int64(maxAge/age.unit) {
			s.Age, s.HasAge = time.Duration(v)*age.unit, true
		}
	}
	// The age is measured when the row is made, some milliseconds after the scan's stamp.
	if entry, n := stamp.ISO([]byte(column("SYSC_ENTRY_TIME"))); n > 0 && s.HasAge && !s.Ended {
		s.Age = s.Time.T.Sub(entry.T)
		s.HasAge = s.Age >= 0
	}
	s.correctCall()
	return s, ""
}

// cell is the value of a row under a heading; empty where there is no such column. Columns behind
// the thread's name, which may hold commas, are counted from the end.
func (r *sampleReader) cell(f []string, heading string) string {
	i, known := r.place[heading]
	if !known {
		return ""
	}
	if comm, named := r.place["COMM"]; !named || i > comm {
		i += len(f) - len(r.columns)
	}
	return f[i]
}

// maxAge bounds how long a call may have lasted; what is above is a number that was never set.
const maxAge = 10 * 365 * 24 * time.Hour

// readDiskRow reads a row of iorqend.
func readDiskRow(line string, column func(string) string) (s Sample, reason string) {
	var n int
	if s.Time, n = stamp.ISO([]byte(column("ISSUE_TIMESTAMP"))); n == 0 {
		return Sample{}, fmt.Sprintf("no time: %.40q", line)
	}
	number := func(name string) int64 {
		v, _ := strconv.ParseInt(column(name), 10, 64)
		return v
	}
	service, queued := number("SERVICE_NS"), number("QUEUED_NS")
	if service < 0 || queued < 0 || service > int64(maxAge) || queued > int64(maxAge) {
		return Sample{}, fmt.Sprintf("a request of %d ns is none", service)
	}
	s.Disk = &DiskRequest{
		TID: int(number("INSERT_TID")), PID: int(number("INSERT_TGID")),
		Device: column("DEV_MAJ") + ":" + column("DEV_MIN"), Bytes: number("BYTES"), Flags: column("IORQ_FLAGS"),
		Service: time.Duration(service), Queued: time.Duration(queued), Error: int(number("ERROR")), Seq: uint64(number("IORQ_SEQ_NUM")),
	}
	return s, ""
}

// readLegend reads a row of kstacks, ustacks or cgroups. The stacks of programs are of no use here.
//
//	17eb7f841d3b24f3,'folio_wait_bit_common+0x138;filemap_update_page+0x24c;…'
//	1,/
func (r *sampleReader) readLegend(line string) (s Sample, reason string) {
	id, value, ok := strings.Cut(line, ",")
	if !ok {
		return s, fmt.Sprintf("no id and value: %.40q", line)
	}
	base := 16
	if r.headerBegins("CGROUP_ID") {
		base = 10
	}
	n, err := strconv.ParseUint(id, base, 64)
	if err != nil {
		return s, fmt.Sprintf("%.20q is no id", id)
	}
	switch {
	case base == 10:
		s.Legend, s.CgroupID, s.Cgroup = CgroupLegend, n, value
	case r.headerBegins("KSTACK_HASH"):
		s.Legend, s.StackID, s.Stack = StackLegend, n, joinOutermostFirst(strings.Split(strings.Trim(value, "'"), ";"))
	}
	return s, ""
}

// joinOutermostFirst turns frames such as "f+0x5b" around, and into the form of Sample.Stack.
func joinOutermostFirst(frames []string) string {
	var out []string
	for _, f := range slices.Backward(frames) {
		if f, _, _ = strings.Cut(f, "+"); f != "" {
			out = append(out, f)
		}
	}
	return strings.Join(out, " ")
}

// readBPF reads a row of xcapture-bpf by the names of the header's columns, of which only the name
// of the thread and its command line may hold commas. It writes a star for every digit in a name.
func (r *sampleReader) readBPF(line string) (s Sample, reason string) {
	f := strings.Split(line, ",")
	if len(f) < len(r.columns) {
		return s, fmt.Sprintf("%d columns, the header has %d", len(f), len(r.columns))
	}
	column := func(name string) string { return r.cell(f, name) }
	var n int
	if s.Time, n = stamp.ISO([]byte(f[0])); n == 0 || !isPID(column("TID")) {
		return s, fmt.Sprintf("no time and id: %.40q", line)
	}
	s.TID, _ = strconv.Atoi(column("TID"))
	s.PID, _ = strconv.Atoi(column("PID"))
	s.State = stateLetter(column("ST")) // RQ is R
	s.Comm = column("COMM")
	if len(f) == len(r.columns) { // else it is not known where the call stands
		s.Syscall = withoutPlaceholder(column("SYSCALL"))
	}
	s.StackID, _ = strconv.ParseUint(column("OFFCPU_K"), 10, 64)
	s.correctCall()
	return s, ""
}

// readBPFStack reads a line of xcapture-bpf's file of stacks: "kstack 7
// ->do_syscall_64->ovl_sync_fs".
func readBPFStack(line string) (s Sample, reason string) {
	f := strings.SplitN(line, " ", 3)
	id, err := strconv.ParseUint(f[1], 10, 64)
	if err != nil || len(f) < 3 {
		return s, fmt.Sprintf("no id of a stack: %.40q", line)
	}
	if f[0] == "kstack" {
		s.Legend, s.StackID, s.Stack = StackLegend, id, readArrowStack(f[2])
	}
	return s, ""
}

// splitWideRow splits a line of xcapture 3 on a terminal: at two blanks or more, because values
// hold single ones.
func splitWideRow(line string) (f []string) {
	for v := range strings.SplitSeq(line, "  ") {
		if v = strings.Trim(v, " "); v != "" {
			f = append(f, v)
		}
	}
	return f
}

// appendQuotedRow appends the values of a line of xcapture 3, which puts strings into single quotes
// and escapes nothing: one ends at a quote before a comma.
func appendQuotedRow(f []string, line string) []string {
	for {
		if rest, ok := strings.CutPrefix(line, "'"); ok {
			in, after, more := strings.Cut(rest, "',")
			if !more {
				return append(f, strings.TrimSuffix(in, "'"))
			}
			f, line = append(f, in), after
			continue
		}
		in, after, more := strings.Cut(line, ",")
		f = append(f, in)
		if !more {
			return f
		}
		line = after
	}
}
