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
const (
	maxGarbage   = 64 << 20
	startPercent = 1500
	mostPercent  = 200
	leastPercent = 50
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
		want := int(min(max(maxGarbage*100/max(live[0].Value.Uint64(), 1), leastPercent), mostPercent))
		if live[0].Value.Uint64() < startLive {
			want = startPercent
		}
		if want != percent {
			percent = want
			debug.SetGCPercent(percent)
		}
		runtime.SetFinalizer(s, afterCollection)
	}
	runtime.SetFinalizer(&sentinel{}, afterCollection)
}
