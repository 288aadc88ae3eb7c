package samples

import (
	"iter"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/kernel"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// Lines of offcputime: its first one, 1 for how long it traced; the thread below a stack, 1 its
// name, 2 its id; and the sum below that, in microseconds.
var (
	offCPUHead   = regexp.MustCompile(`^Tracing off-CPU time \(us\) of .* (?:for (\d{1,6}) secs?\.|Hit Ctrl-C to end\.?)\s*$`)
	offCPUThread = regexp.MustCompile(`^ {4}-? +(\S.{0,14}?) \((\d{1,7})\)$`)
	offCPUSum    = regexp.MustCompile(`^ {8}(\d{1,15})$`)
)

// longWait is for how long in all a thread has slept in one stack that counts: what a daemon does
// on a node that works takes less, but for the waits of those who have nothing to do.
const longWait = 10 * time.Second

// offCPUReader is the state of one pass over a report of offcputime.
type offCPUReader struct {
	cur   Sample
	stack StackBuilder
}

// ReadOffCPU reads the report of offcputime of bcc, which sums up how long threads have slept in
// each stack, with the innermost function first:
//
//	Tracing off-CPU time (us) of PID 1804412 by kernel stack for 30 secs.
//
//	    finish_task_switch.isra.0
//	    sync_inodes_sb
//	    ovl_sync_fs
//	    -                containerd-shim (1804412)
//	        29998407
//
// Stacks in which a thread has slept for less than ten seconds give nothing.
func ReadOffCPU(in lines.Input) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		var r offCPUReader
		lines.ReadFilled(in, yield, func(b []byte, pos event.Pos) bool {
			s, known := r.readLine(string(b), event.Quote{Pos: pos, Text: lines.Clip(b)})
			if !known {
				return yield(Sample{}, in.Skip(pos.Line, 1, "no line of offcputime: %.40q", b))
			}
			s.Lines = 1
			if s.Pos.Line == 0 {
				s.Pos, s.Raw = pos, b[:min(len(b), event.MaxRaw)]
			}
			return yield(s, nil)
		}, func() bool { return true })
	}
}

// readLine returns the sample that a line completes.
func (r *offCPUReader) readLine(line string, q event.Quote) (s Sample, known bool) {
	if m := offCPUThread.FindStringSubmatch(line); m != nil {
		r.cur.Comm, r.cur.Pos, r.cur.Raw = m[1], q.Pos, []byte(q.Text)
		r.cur.TID, _ = strconv.Atoi(m[2])
		return s, true
	}
	if m := offCPUSum.FindStringSubmatch(line); m != nil {
		done, stack := r.cur, r.stack
		*r = offCPUReader{}
		us, _ := strconv.ParseInt(m[1], 10, 64)
		if done.TID == 0 || time.Duration(us)*time.Microsecond < longWait {
			return s, true
		}
		stack.WriteTo(&done)
		done.Part, done.Group = true, q.Pos.String()
		return done, true
	}
	if function, ok := kernel.ReadBareFrame(line); ok && strings.HasPrefix(line, "    ") {
		r.stack.AddFrame(function, false, q)
		return s, true
	}
	trimmed := strings.TrimSpace(line)
	return s, offCPUHead.MatchString(line) || trimmed == "--" || strings.HasPrefix(line, "    ") || strings.HasPrefix(trimmed, "^C") ||
		lines.StartsWith(line, "WARNING: ")
}

// SniffOffCPU wants the first line of the report, or a stack with a thread and a sum below it.
func SniffOffCPU(head *lines.Head) float64 {
	if !head.Holds("off-CPU time") && !head.Holds("    -  ") {
		return 0
	}
	var r offCPUReader
	threads := false
	share := lines.Share(head, func(line []byte) lines.Sign {
		if offCPUHead.Match(line) {
			return lines.Proves
		}
		if offCPUThread.Match(line) {
			threads = true
			return lines.Proves
		}
		_, known := r.readLine(string(line), event.Quote{})
		return lines.SignIf(known, lines.Fits)
	})
	if !threads {
		return 0
	}
	return share
}
