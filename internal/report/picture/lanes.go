package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// laneRule says what belongs into a lane, and which sources would have shown it.
type laneRule struct {
	name    string
	kinds   []string // kinds, or groups of them
	actors  []string // components that write what no lane takes by its kind
	sources []string // beginnings of the sources that cover it; empty for a lane that has no gaps
}

// laneRules are the lanes from cause to effect. A kind counts more than its writer; what neither
// gives a lane belongs into the last one.
var laneRules = []laneRule{
	{"kernel, disk", []string{"kernel", "disk", "device", "mount", "filesystem"}, []string{"kernel"}, []string{"kernel."}},
	{"systemd, D-Bus", []string{"systemd", "dbus", "udev"}, []string{"systemd", "dbus"}, []string{"systemd."}},
	{"containers", []string{string(event.KindTaskExit), string(event.KindContainerState)}, nil, []string{"containerd.log"}},
	{"syscalls, threads", []string{"syscall", "thread", "futex"}, nil, []string{"strace", "samples"}},
	{
		"shim, runc, CNI",
		[]string{
			"shim", "runc", string(event.KindTaskUpdate), string(event.KindDeleteFailed), string(event.KindStateTimeout),
			string(event.KindShimClosed), string(event.KindShimLeaked), string(event.KindCleanupKilled), string(event.KindOOMUnknown), string(event.KindKillLate),
		},
		[]string{"shim", "runc", "cni"},
		nil,
	},
	{"containerd", nil, []string{"containerd"}, []string{"containerd."}},
	{"dockerd", nil, []string{"dockerd"}, []string{"dockerd."}},
	{"CRI-O", nil, []string{"crio"}, []string{"crio."}},
	{"locks", []string{"lock", string(event.KindStatusGet)}, nil, []string{"goroutines."}},
	{"CRI calls", []string{"cri"}, nil, []string{"containerd.log"}},
	{kubeletLane, []string{"kubelet", string(event.KindNodeCondition)}, []string{"kubelet"}, []string{"kubelet."}},
	{"other", nil, nil, nil},
}

// kubeletLane has the stalls and the times in which the node was NotReady.
const kubeletLane = "kubelet"

// laneOf returns the index of the lane that an event belongs into.
func laneOf(e *event.Event) int {
	group, _, _ := strings.Cut(string(e.Kind), ".")
	lane := slices.IndexFunc(laneRules, func(r laneRule) bool { return slices.Contains(r.kinds, string(e.Kind)) })
	if lane < 0 {
		lane = slices.IndexFunc(laneRules, func(r laneRule) bool { return slices.Contains(r.kinds, group) })
	}
	if lane < 0 {
		lane = slices.IndexFunc(laneRules, func(r laneRule) bool { return slices.Contains(r.actors, e.Component) })
	}
	if lane < 0 {
		lane = len(laneRules) - 1
	}
	return lane
}

// laneNamed returns the index of a lane.
func laneNamed(name string) int {
	return slices.IndexFunc(laneRules, func(r laneRule) bool { return r.name == name })
}

// coversSource says whether a source would have shown what belongs into the lane.
func (l *laneRule) coversSource(source string) bool {
	return slices.ContainsFunc(l.sources, func(s string) bool { return strings.HasPrefix(source, s) })
}

// nameBar is what a bar is called by its kind: words, with the text of a field in the place of %s.
// Events with the same name stand in one row.
type barName struct {
	words string
	field event.Key
}

// barNames are the names of the kinds of which chains are made. An event of another kind is called
// by its text.
var barNames = map[event.Kind]barName{
	event.KindCRICall:       {"%s", event.FieldMethod},
	event.KindStatusGet:     {"waiting for the Status lock: %s", event.FieldCall},
	event.KindTaskUpdate:    {"task.Update", ""},
	event.KindUpdateSync:    {"the status file is written", ""},
	event.KindTaskExit:      {"container exits", ""},
	event.KindDeleteFailed:  {"shim does not answer Delete for 10 s", ""},
	event.KindStateTimeout:  {"shim does not answer State for 2 s", ""},
	event.KindExitFailed:    {"containerd cannot handle the exit", ""},
	event.KindSyscall:       {"%s", event.FieldName},
	event.KindBusCall:       {"%s on D-Bus", event.FieldMember},
	event.KindScopeStart:    {"systemd starts a scope", ""},
	event.KindLockWait:      {"waiting for the lock: %s", event.FieldCall},
	event.KindLockCycle:     {"deadlock", ""},
	event.KindPLEGUnhealthy: {"PLEG is not healthy", ""},
	event.KindStall:         {stallName, ""},
	event.KindNodeNotReady:  {notReadyName, ""},
	event.KindNodeReady:     {"node Ready", ""},
	event.KindDumpWritten:   {"goroutine dump taken", ""},
}

// What a stall and the time without Ready are called.
const (
	stallName    = "relist stands still"
	notReadyName = "node NotReady"
)

// nameBar is what a bar is called; known says that the table has a name for it.
func nameBar(e *event.Event) (name string, known bool) {
	switch e.Kind {
	case event.KindLockHeld:
		return heldLockName(e), true
	case event.KindThreadSample:
		return sampleName(e), true
	case event.KindGoroutine:
		return strings.TrimPrefix(e.FieldText(event.FieldCall)+": "+e.Text, ": "), true
	}
	n, known := barNames[e.Kind]
	if !known {
		return dropIDs(e, e.Text), false
	}
	if n.field == "" {
		return n.words, true
	}
	of := e.FieldText(n.field)
	if of == "" {
		return dropIDs(e, cmp.Or(e.Text, string(e.Kind))), true
	}
	return fmt.Sprintf(n.words, of), true
}

// heldLockName is a lock with its holder and what that waits for.
func heldLockName(e *event.Event) string {
	holder := cmp.Or(e.FieldText(event.FieldCall), fmt.Sprintf("goroutine %d", e.IDs.Goroutine))
	name := holder + " holds the lock"
	if w := e.FieldText(event.FieldWaiting); w != "" {
		name += ", " + w
	}
	return name
}

// sampleName is a thread with where it waits.
func sampleName(e *event.Event) string {
	comm, call := e.FieldText(event.FieldComm), cmp.Or(e.FieldText(event.FieldName), "the kernel")
	if comm == "" {
		return e.Text
	}
	name := comm + " in " + call
	if w := e.FieldText(event.FieldWaits); w != "" {
		name += ", waits for " + strings.ReplaceAll(w, "-", " ")
	}
	return name
}

// dropIDs takes the ids of an event out of a text about it: a bar has no room for them.
func dropIDs(e *event.Event, text string) string {
	for _, id := range []string{e.IDs.Container, e.IDs.Sandbox} {
		if id != "" {
			text = strings.ReplaceAll(text, " of "+event.ShortID(id), "")
			text = strings.ReplaceAll(text, " for "+event.ShortID(id), "")
		}
	}
	return text
}

// rowName is what events that stand in one row have in common.
func rowName(e *event.Event) string {
	if words, rest, ok := strings.Cut(barNames[e.Kind].words, ": %s"); ok && rest == "" {
		return words
	}
	if name, known := nameBar(e); known {
		return name
	}
	return strings.NewReplacer(".", " ", "-", " ").Replace(string(e.Kind))
}

// label is what stands on a bar or above a row: a name, and how long it lasted.
type label struct{ Name, Length string }

// newLabel names events of one row: "UpdateContainerResources 1m59s", "2 × umount2, together 2m0s".
func newLabel(events []*event.Event) label {
	if len(events) == 1 {
		name, _ := nameBar(events[0])
		return label{name, show.Length(events[0])}
	}
	l := label{fmt.Sprintf("%d × %s", len(events), nameBars(events)), sumText(events)}
	if l.Length != "" {
		l.Name += ","
	}
	return l
}

// nameBars is what events of one row are called together.
func nameBars(events []*event.Event) string {
	var names, fields []string
	field := barNames[events[0].Kind].field
	for _, e := range events {
		if name, _ := nameBar(e); !slices.Contains(names, name) {
			names = append(names, name)
			fields = append(fields, e.FieldText(field))
		}
		if len(names) > maxNames {
			break
		}
	}
	switch {
	case len(names) == 1:
		return names[0]
	case len(names) <= maxNames && field != "" && !slices.Contains(fields, ""):
		return fmt.Sprintf(barNames[events[0].Kind].words, strings.Join(fields, ", "))
	case rowName(events[0]) == rowName(events[len(events)-1]):
		return rowName(events[0])
	}
	return names[0] + " and others"
}

// maxNames bounds the names in one label.
const maxNames = 3

// sumText says how long several events lasted: one after the other, at the same time, or, where
// they are moments, from the first to the last.
func sumText(events []*event.Event) string {
	events = slices.DeleteFunc(slices.Clone(events), func(e *event.Event) bool { return e.Start.IsZero() })
	slices.SortStableFunc(events, func(a, b *event.Event) int { return a.Start.T.Compare(b.Start.T) })
	var sum, longest time.Duration
	var end time.Time
	atLeast, parallel := false, false
	for i, e := range events {
		parallel = parallel || i > 0 && e.Start.T.Before(end)
		if e.Last().T.After(end) {
			end = e.Last().T
		}
		sum += e.Duration()
		longest = max(longest, e.Duration())
		atLeast = atLeast || e.AtLeast() && e.Duration() > 0
	}
	switch {
	case len(events) == 0:
		return ""
	case sum == 0 && end.Sub(events[0].Start.T) >= time.Second:
		return "over " + show.Duration(end.Sub(events[0].Start.T), false)
	case sum == 0:
		return ""
	case parallel:
		return "longest " + show.Duration(longest, atLeast)
	}
	return "together " + show.Duration(sum, atLeast)
}

// Measures of text, in pixels.
const (
	columnWidth = 6.9 // of the widest font that a page may get
	boldWidth   = 8.4 // the same of a length
	knotSpace   = 15  // from the middle of a knot to its text
	barSpace    = 5   // from the start of a bar to its text
)

// placed is a text at a place of the picture.
type placed struct {
	Name, Length string
	Whole        string        // the name where it is cut: a script that knows the width may show more
	At, To       time.Duration // the bar that it belongs to
	X            float64       // in percent
	Y, DX        int           // in pixels
	Anchor       string        // start, end
	Screen       string        // on which it is shown: wide, narrow
}

// screen is a width of the picture for which texts are laid out.
type screen struct {
	name  string
	width float64 // beside the names of the lanes and the list
	whole float64
}

// How text is laid out, in pixels: a column of the font, and how wide the picture is at least on a
// wide and on a narrow screen. The page's style has the widths.
var screens = [2]screen{{"wide", 620, 750}, {"narrow", 366, 366}}

// placeLabel puts a label so far from the start of a bar: to the right of it, over the bar, where
// there is room for it, else to its left, cut to what the larger side holds.
func (p *Picture) placeLabel(l label, at, to time.Duration, y, space int) (all [2]placed) {
	x, beside := p.percentOf(at), float64(space)
	for i, on := range screens {
		left, right := x/100*on.width-beside, (100-x)/100*on.width-beside
		t := placed{At: at, To: to, X: x, Y: y, DX: space, Anchor: "start", Screen: on.name}
		if l.width() > right && left > right {
			t.DX, t.Anchor, right = -space, "end", left
		}
		t.cutLabel(l, right)
		all[i] = t
	}
	return all
}

// placeAbove puts a label above the marks of a row, where it has the whole width.
func (p *Picture) placeAbove(l label, at time.Duration, y int) (all [2]placed) {
	for i, on := range screens {
		t := placed{At: at, To: p.span(), X: p.percentOf(at), Y: y, Anchor: "start", Screen: on.name}
		if l.width() > (100-t.X)/100*on.width {
			t.X, t.Anchor = 100, "end"
		}
		t.cutLabel(l, on.width)
		all[i] = t
	}
	return all
}

// needsLength says whether the name alone does not say how long it lasted, as "relist did not
// complete for 3m1s" does.
func (l label) needsLength() bool { return l.Length != "" && !strings.Contains(l.Name, l.Length) }

// width is how much room a label takes, in pixels.
func (l label) width() float64 {
	w := float64(lipgloss.Width(l.Name)) * columnWidth
	if l.needsLength() {
		w += float64(lipgloss.Width(l.Length)+1) * boldWidth
	}
	return w
}

// cutLabel takes over a label, with a name that is shortened so that it has room. The length stays.
func (t *placed) cutLabel(l label, room float64) {
	t.Name = show.Escape(l.Name, show.MaxQuote)
	if l.needsLength() {
		t.Length = l.Length
	}
	if l.width() <= room {
		return
	}
	t.Length = l.Length
	if t.Length != "" {
		room -= float64(lipgloss.Width(t.Length)+1) * boldWidth
	}
	t.Whole, t.Name = t.Name, show.Escape(l.Name, max(int(room/columnWidth)-2, 8)) // one for the dots, one for wide letters
}

// FullText is the whole label in one line: the name, then how long it lasted where the name does
// not say so.
func (t *placed) FullText() string {
	name := cmp.Or(t.Whole, t.Name)
	if t.Length == "" || strings.Contains(name, t.Length) {
		return name
	}
	return name + " " + t.Length
}
