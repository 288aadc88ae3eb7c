package story

import "github.com/plegdiag/plegdiag/internal/timeline"

// Node is what the evidence shows of the node itself. The zero Node is one of which nothing is
// known.
type Node struct {
	runtimes       []string // see findRuntimes
	units          units    // see findUnits
	talos, windows bool
}

// FindNode looks at all events for what they show of the node. It changes none of them.
func FindNode(tl *timeline.Timeline) Node {
	s := &story{timeline: tl}
	return Node{runtimes: s.findRuntimes(), units: s.findUnits(), talos: s.onTalos(), windows: s.onWindows()}
}
