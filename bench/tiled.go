package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What the generators of the other shapes write is kinder than a real node. The shape tiled is two
// recordings of real nodes, one of an incident and one of a node that is well, again and again over
// a week: each time with its own times, ids and process ids.

// tiledUnits are the units whose journals are recorded.
var tiledUnits = []string{"kubelet", "containerd", "systemd"}

// tiledFiles are the logs of a week in which the incident comes 144 times, with the healthy node
// between two of them.
func tiledFiles(size int64, seed uint64) []textFile {
	const incidents = 144
	both, err := readRecordings()
	ill, well := both[0], both[1]
	n := max(2, int(incidents*size/(300*mega)))
	gap := 7 * day / incidents
	var tiles []tile
	var filled int64
	add := func(r *recording, at time.Time) time.Time {
		tiles = append(tiles, tile{r, at, seed, len(tiles)})
		filled += r.size
		return at.Add(r.span + time.Minute)
	}
	for k := 0; k < n && err == nil; k++ {
		next := dayStart.Add(time.Duration(k+1) * gap)
		at := add(ill, dayStart.Add(time.Duration(k)*gap))
		for filled < size*int64(k+1)/int64(n) && at.Add(well.span).Before(next) {
			at = add(well, at)
		}
	}
	var files []textFile
	for _, unit := range tiledUnits {
		files = append(files, textFile{"node-1/" + unit + ".log", func(w io.Writer) error {
			out := bufio.NewWriter(w)
			for i := range tiles {
				tiles[i].write(out, unit)
			}
			return errors.Join(err, out.Flush())
		}})
	}
	return files
}

const isoMicros = "2006-01-02T15:04:05.000000-07:00"

// recording is what the units of one node logged.
type recording struct {
	start time.Time
	span  time.Duration
	size  int64
	parts map[string][]ownPart // by unit, in the order of the text
}

// ownPart is text that is the same in each tile, and what follows it and is not.
type ownPart struct {
	text, own string
	kind      int       // the group of ownParts that own is
	at        time.Time // of a stamp
}

// ownParts are what each tile has of its own: 1 a date, 2 a stamp of klog and 3 its process id, 4 a
// time as the protobufs of containerd print it, 5 an id, 6 the process id of syslog.
var ownParts = regexp.MustCompile(`(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)|([IWEF]\d{4} \d\d:\d\d:\d\d)\.\d+ +(\d+) |seconds:(\d{10})|` +
	`\b([0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b|\[(\d+)\]: `)

// tile is a recording at another time.
type tile struct {
	*recording
	at     time.Time
	seed   uint64
	number int
}

// write writes what a unit logged in the tile.
func (t *tile) write(w *bufio.Writer, unit string) {
	shift := t.at.Sub(t.start)
	ids := map[string]string{}
	for i := range t.parts[unit] {
		p := &t.parts[unit][i]
		_, _ = w.WriteString(p.text) // Flush has the error
		own := p.own
		switch at := p.at.Add(shift); p.kind {
		case 1:
			own = at.Format("2006-01-02") + own[10:11] + at.Format("15:04:05")
		case 2:
			own = own[:1] + at.Format("0102 15:04:05")
		case 3, 6:
			if pid, _ := strconv.Atoi(own); pid > 1 {
				own = strconv.Itoa(pid + 1000*(t.number+1))
			}
		case 4:
			own = strconv.FormatInt(at.Unix(), 10)
		case 5:
			if ids[own] == "" {
				ids[own] = t.newID(own)
			}
			own = ids[own]
		}
		_, _ = w.WriteString(own)
	}
}

// newID is the tile's own id in the place of a recorded one, in the same form.
func (t *tile) newID(recorded string) string {
	key := binary.LittleEndian.AppendUint64([]byte(recorded), t.seed)
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(key, uint64(t.number)))
	digits := hex.EncodeToString(sum[:])
	if len(recorded) == len(digits) {
		return digits
	}
	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]}, "-")
}

// readRecordings reads an incident of the lab's cluster, and a node of it that is well.
var readRecordings = sync.OnceValues(func() (both [2]*recording, err error) {
	for i, name := range []string{"lab-cluster-umount2", "lab-cluster-healthy"} {
		if both[i], err = readRecording(name); err != nil {
			break
		}
	}
	return both, err
})

// readRecording reads the journals of an incident of testdata.
func readRecording(name string) (*recording, error) {
	file, err := os.Open(filepath.Join("testdata", name, "bundle.tgz"))
	if errors.Is(err, os.ErrNotExist) { // a test runs in its own directory
		file, err = os.Open(filepath.Join("..", "testdata", name, "bundle.tgz"))
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	r := &recording{parts: map[string][]ownPart{}}
	for archive := tar.NewReader(zip); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		unit, isExport := strings.CutSuffix(path.Base(header.Name), ".export")
		if !isExport || !slices.Contains(tiledUnits, unit) {
			continue
		}
		export, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		r.addJournal(unit, export)
	}
}

// addJournal adds the export of a journal, as lines of short-iso-precise.
func (r *recording) addJournal(unit string, export []byte) {
	var text strings.Builder
	for len(export) > 0 {
		var entry map[string]string
		entry, export = readEntry(export)
		micros, err := strconv.ParseInt(entry["__REALTIME_TIMESTAMP"], 10, 64)
		if err != nil {
			continue
		}
		at := time.UnixMicro(micros).UTC()
		if r.start.IsZero() || at.Before(r.start) {
			r.start = at
		}
		r.span = max(r.span, at.Sub(r.start))
		fmt.Fprintf(&text, "%s node-1 %s[%s]: %s\n", at.Format(isoMicros),
			entry["SYSLOG_IDENTIFIER"], entry["_PID"], strings.ReplaceAll(entry["MESSAGE"], "\n", " "))
	}
	r.size += int64(text.Len())
	r.parts[unit] = cutOwnParts(text.String(), r.start)
}

// readEntry reads one entry of an export: lines FIELD=value, or FIELD, eight bytes of length and
// the value; an empty line ends it.
func readEntry(export []byte) (entry map[string]string, rest []byte) {
	entry = map[string]string{}
	for {
		line, rest, _ := bytes.Cut(export, []byte{'\n'})
		export = rest
		field, value, plain := strings.Cut(string(line), "=")
		switch {
		case len(line) == 0:
			return entry, export
		case plain:
			entry[field] = value
		default:
			n := min(binary.LittleEndian.Uint64(export), uint64(len(export)-9))
			entry[field], export = string(export[8:8+n]), export[9+n:]
		}
	}
}

// cutOwnParts cuts a text before and behind what each tile has of its own. Klog writes no year.
func cutOwnParts(text string, start time.Time) (parts []ownPart) {
	done := 0
	for _, m := range ownParts.FindAllStringSubmatchIndex(text, -1) {
		for kind := 1; kind < len(m)/2; kind++ {
			from, to := m[2*kind], m[2*kind+1]
			if from < 0 {
				continue
			}
			p := ownPart{text: text[done:from], own: text[from:to], kind: kind}
			done = to
			switch kind {
			case 1:
				p.at, _ = time.Parse("2006-01-02 15:04:05", p.own[:10]+" "+p.own[11:])
			case 2:
				p.at, _ = time.Parse("2006 0102 15:04:05", start.Format("2006 ")+p.own[1:])
			case 4:
				seconds, _ := strconv.ParseInt(p.own, 10, 64)
				p.at = time.Unix(seconds, 0).UTC()
			}
			parts = append(parts, p)
		}
	}
	return append(parts, ownPart{text: text[done:]})
}
