package cli

import (
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// KindsNamed returns the kinds of events that a name stands for: one, those of a group, or all for
// an empty name. None for a name that is neither.
func KindsNamed(name string) []event.KindInfo {
	if kind := event.KindNamed(event.Kind(name)); kind != nil {
		return []event.KindInfo{*kind}
	}
	var kinds []event.KindInfo
	for _, kind := range event.Kinds() {
		if name == "" || strings.HasPrefix(string(kind.Kind), name+".") {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// KindNames are the kinds of events, then their groups.
func KindNames() []string {
	var names, groups []string
	for _, kind := range event.Kinds() {
		names = append(names, string(kind.Kind))
		if group, _, ok := strings.Cut(string(kind.Kind), "."); ok && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	return append(names, groups...)
}
