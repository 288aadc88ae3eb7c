// Package batch analyses many bundles, each in a process of its own with bounds of time, memory and
// output: one that is hostile or broken costs its own row and nothing else. What it writes is named
// by the bundle's SHA-256, is complete or not there, and is kept as long as version, rules and
// settings are the same. So a run can be killed at any moment and started again, and several runs,
// on one machine or many, can share a directory. It never writes to a bundle.
package batch

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"time"
)

// clock is the machine's: runs have bounds of time.
var clock = time.Now //nolint:forbidigo // how long a run takes is no evidence

// Options say what to analyse, and within which bounds.
type Options struct {
	// Inputs are bundles, directories of bundles, "@FILE" for a list of both, or "-" for a list
	// from List; see [listInputs].
	Inputs []string
	List   io.Reader
	Each   bool   // every entry of a directory is a bundle, whatever it is
	Out    string // the directory for results; it is made when it is missing
	Shard  Shard
	Jobs   int // bundles at the same time; at least 1
	// RetryFailed tries the bundles again that failed with the same version, rules and settings.
	RetryFailed bool
	Labels      map[string]string // of every row
	Pages       bool              // write a page of HTML beside each report; the worker makes it
	Identity    Identity
	// Worker analyses one bundle: it calls [Work]. The directory for its results and the bundle are
	// added to its arguments.
	Worker Worker
	// Notify is called after every bundle, never twice at the same time; nil is not called.
	Notify func(Progress)
	// Stop, once closed, starts no further bundle: those that run are finished.
	Stop <-chan struct{}
}

// Identity is by what a result is known to be still good: it is, if all of it is the same.
type Identity struct {
	Version  string // of plegdiag
	Catalog  string // digest of the rules
	Settings string // what else changes what is found; empty for nothing
}

// Shard is a part of the inputs: of Count parts that with this Index, from 0. The zero Shard is
// all.
type Shard struct{ Index, Count int }

// has says whether a bundle is of the shard, by the name that it has below its input. Its place
// among the others does not count, which changes when bundles are added.
func (s Shard) has(key string) bool {
	if s.Count < 2 {
		return true
	}
	sum := sha256.Sum256([]byte(key))
	return binary.BigEndian.Uint64(sum[:])%uint64(s.Count) == uint64(s.Index)
}

// Progress is how far a run is.
type Progress struct {
	All, Done, Failed int           // bundles of this shard
	Left              time.Duration // until the end, at the rate of those that were analysed; 0 where it is not known
}

// Tally is what a run did.
type Tally struct {
	Listed   int // bundles of all shards, by name
	Tried    int // of this one: the sum of the next three
	Analysed int // in this run, those that failed included
	Before   int // that were done before
	Twice    int // names of a bundle that has another name in this run
	Failed   int // of the analysed and of those done before
	Passed   int // files in directories that are no archives and were not tried
	Rows     int // in the merged file
	Bundles  int // in the merged file
	Stopped  bool
}

// Merged is the name of the file in [Options.Out] that has the rows of all bundles.
const Merged = "rows.jsonl"

// Worker is the program that reads bundles, in a process of its own for each, and its bounds.
type Worker struct {
	Program []string      // with its first arguments; it takes --memory and calls [Confine]
	Bound   time.Duration // for one bundle
	Memory  int64         // bytes that one bundle may take
}

// Job is what a worker is started for.
type Job struct {
	Args   []string   // behind those of the program
	Files  []*os.File // open in the worker, from 3 on
	Stdout io.Writer  // an error of it ends the worker; nil for nowhere
}

// Outcome is how a worker ended.
type Outcome struct {
	Status int    // of its exit; -1 when it was killed
	Failed string // why it was ended, or ended with an error; empty where it did not
	Stderr []byte // the first of it
}
