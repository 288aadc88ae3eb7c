package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Bounds of the garbage between two collections, in bytes and in percent of what is live. One short
// run keeps most of what it allocates: with 200 % instead of Go's 100 it takes a tenth less time.
// While the rules are read, next to nothing is live, and 200 % of that are several collections.
// From 94 MB on, what is live leaves less room for garbage; with less than 32 MB of it, the
// collections would take longer than the work.
const (
	maxGarbage   = 64 << 20
	leastGarbage = 32 << 20
	maxHeap      = 158 << 20 // of what is live and garbage, as long as leastGarbage allows it
	startPercent = 1500
	mostPercent  = 200
	startLive    = 4 << 20 // bytes; less is live only while the rules are read
)

// boundGarbage collects seldom while little is live, where that saves time, and more often when
// much is, where it would cost memory. GOGC overrides it.
func boundGarbage() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(startPercent)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	percent := startPercent
	type sentinel struct{ _ *byte } // with a pointer, so that it is no part of a block of tiny objects
	var afterCollection func(*sentinel)
	afterCollection = func(s *sentinel) {
		metrics.Read(live)
		want := garbagePercent(int(live[0].Value.Uint64()))
		if want != percent {
			percent = want
			debug.SetGCPercent(percent)
		}
		runtime.SetFinalizer(s, afterCollection)
	}
	runtime.SetFinalizer(&sentinel{}, afterCollection)
}

// garbagePercent is how much garbage may pile up beside as many live bytes, in percent of them.
func garbagePercent(live int) int {
	if live < startLive {
		return startPercent
	}
	garbage := min(max(maxHeap-live, leastGarbage), maxGarbage)
	return min(max(garbage*100/live, 20), mostPercent)
}
