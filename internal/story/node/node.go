// Package node says what the evidence shows of the node itself: its runtimes, the units of its
// daemons, and whether it runs Talos or Windows. It puts that into the commands that are printed.
package node

import "github.com/plegdiag/plegdiag/internal/timeline"

// Node is what the evidence shows of the node itself. The zero Node is one of which nothing is
// known.
type Node struct {
	// Runtimes are the programs of the runtimes that it has; nil where the evidence shows none, or
	// two that do not run together.
	Runtimes []string
	Units    Units // where they are others than the daemons' own
	// Talos and Windows say what it runs: on neither do commands for other nodes run.
	Talos, Windows bool
}

// Find looks at all events for what they show of the node. It changes none of them.
func Find(tl *timeline.Timeline) Node {
	units := findUnits(tl)
	return Node{Runtimes: findRuntimes(tl, units), Units: units, Talos: onTalos(tl), Windows: onWindows(tl)}
}
