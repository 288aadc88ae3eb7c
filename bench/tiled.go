package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plegdiag/plegdiag/internal/fixture/tile"
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
	type placed struct {
		*recording
		at time.Time
	}
	var tiles []placed
	var filled int64
	add := func(r *recording, at time.Time) time.Time {
		tiles = append(tiles, placed{r, at})
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
			for i, p := range tiles {
				t := tile.Tile{Shift: p.at.Sub(p.start).Truncate(time.Second), Seed: seed, Number: i, Processes: 1000 * (i + 1)}
				_ = t.Write(out, p.units[unit]) // Flush has the error
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
	units map[string]tile.Text
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
	r := &recording{units: map[string]tile.Text{}}
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
	r.units[unit] = tile.Cut(text.String(), r.start.Year())
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
