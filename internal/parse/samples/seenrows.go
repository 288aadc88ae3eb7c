package samples

import (
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// seenRows are the rows of a file that were read. A day of samples has millions of them, which
// differ from a few thousand in nothing but their time. The zero value holds none.
type seenRows struct {
	rows   map[string]*Sample // by what stands behind the stamp
	added  int                // how many were ever added
	stamp  string             // of the latest row that was found
	moment event.Time         // that stamp says
}

const (
	// stampWidth is the width of "2026-11-20 18:22:17.602", with which xcapture 1 begins each row.
	stampWidth = 23
	// maxSeen bounds the rows that are remembered; a large node shows some 10 000 threads.
	maxSeen = 1 << 15
)

// findRow fills s where a line differs from one before it in its time alone.
func (r *seenRows) findRow(line []byte, s *Sample) (known bool) {
	if len(line) <= stampWidth {
		return false
	}
	row := r.rows[string(line[stampWidth:])]
	if row == nil || !r.readStamp(line[:stampWidth]) {
		return false
	}
	*s = *row
	s.Time = r.moment
	return true
}

// readStamp reads a stamp, mostly that of the row before. It is false for what is none.
func (r *seenRows) readStamp(text []byte) bool {
	if string(text) == r.stamp {
		return true
	}
	if t, n := stamp.ISO(text); n == stampWidth {
		r.stamp, r.moment = string(text), t
		return true
	}
	return false
}

// addRow remembers the row of a line, and numbers it.
func (r *seenRows) addRow(line string, s *Sample) {
	if len(line) <= stampWidth || line[10] != ' ' || line[stampWidth] != ',' && line[stampWidth] != ' ' {
		return // xcapture 3 has the age of each call in its rows
	}
	if r.rows == nil || len(r.rows) == maxSeen {
		r.rows = map[string]*Sample{}
	}
	r.added++
	s.Row = r.added
	row := *s
	r.rows[line[stampWidth:]] = &row
}
