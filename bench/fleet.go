package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The fleet that batch reads: many small bundles, each of another node's day.
const (
	fleetBundles = 2000
	fleetText    = mega    // bytes of text in each
	largeFleet   = 100_000 // bundles whose rows are merged
)

// fleetSize is how many bundles there are.
func (o *options) fleetSize() int {
	if o.size == 0 {
		return fleetBundles
	}
	return int(min(o.size*mega/fleetText, fleetBundles))
}

// measureFleet compares what batch takes for many bundles with what analyze takes for the same
// ones, one after the other, and measures how long the rows of a large fleet take to merge.
func (o *options) measureFleet(out io.Writer, program, dir string) error {
	bundles := filepath.Join(dir, "bundles")
	defer os.RemoveAll(bundles)
	if err := os.Mkdir(bundles, 0o700); err != nil {
		return err
	}
	count := o.fleetSize()
	for i := range count {
		path := filepath.Join(bundles, fmt.Sprintf("node-%04d.tgz", i))
		if _, err := writeBundle(path, nodeFiles(fleetText, o.seed+uint64(i))); err != nil {
			return err
		}
	}
	results := filepath.Join(dir, "results")
	defer os.RemoveAll(results)
	each := `rm -rf "$2"; mkdir "$2"; for b in "$1"/*; do "$0" analyze --full -o json "$b" > "$2/report.json"; done`
	whole := `rm -rf "$2"; exec "$0" batch "$1" --out "$2"`
	analyze := &contestant{name: "analyze, one by one", args: []string{"sh", "-c", each, program, bundles, results}}
	batch := &contestant{name: "batch", args: []string{"sh", "-c", whole, program, bundles, results}}
	if err := runInTurns(o.runs, analyze, batch); err != nil {
		return err
	}
	ratio := median(batch.cpu).Seconds() / median(analyze.cpu).Seconds()
	fmt.Fprintf(out, "%d bundles of %d kB of text, medians\n", count, fleetText/1000)
	for _, c := range []*contestant{analyze, batch} {
		fmt.Fprintf(out, "%-22s %6.1f s  CPU %6.1f s  %5.1f bundles for each second of CPU  peak RSS %d MB\n",
			c.name, median(c.times).Seconds(), median(c.cpu).Seconds(), float64(count)/median(c.cpu).Seconds(), c.rss/mega)
	}
	if err := o.printFleet(out, program, results, batch, count); err != nil {
		return err
	}
	return checkMost("fleet: CPU time of batch by that of analyze", ratio, o.mostBatch)
}

// printFleet prints what a fleet fifty times as large takes: its rows are merged, the rest is
// computed.
func (o *options) printFleet(out io.Writer, program, results string, batch *contestant, count int) error {
	size, err := sizeOf(results)
	if err != nil {
		return err
	}
	if err := multiplyRows(results, largeFleet); err != nil {
		return err
	}
	merge := &contestant{name: "merge", args: []string{program, "batch", "--out", results}}
	if err := runInTurns(1, merge); err != nil {
		return err
	}
	rows, err := os.Stat(filepath.Join(results, "rows.jsonl"))
	if err != nil {
		return err
	}
	times := float64(largeFleet) / float64(count)
	fmt.Fprintf(out, "%d bundles: %.1f hours of CPU, %.1f GB of reports and rows; their rows are %d MB and merge in %.1f s, with %d MB of memory\n",
		largeFleet, times*median(batch.cpu).Hours(), times*float64(size)/1e9, rows.Size()/mega, merge.times[0].Seconds(), merge.rss/mega)
	return nil
}

// multiplyRows copies the rows of bundles under other names until there are so many. The report of
// a copy is that of the bundle.
func multiplyRows(results string, want int) error {
	dir := filepath.Join(results, "rows")
	known, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(known) == 0 {
		return errors.New("batch has left no rows")
	}
	for i := range want - len(known) {
		name := known[i%len(known)].Name()
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		sum := strings.TrimSuffix(name, ".jsonl")
		other := fmt.Sprintf("%08x", i) + sum[8:]
		text = bytes.Replace(text, []byte(`"bundle":"`+sum), []byte(`"bundle":"`+other), 1)
		if err := os.WriteFile(filepath.Join(dir, other+".jsonl"), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf is how many bytes the files below a directory have.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
