package incident

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/layout"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// NodesError says that the inputs hold the evidence of several nodes and that none was chosen.
// Events of two nodes on one timeline would show an incident that never happened.
type NodesError struct {
	Asked   string // the node that was asked for and is not there; empty when none was
	Nodes   []string
	Stalled []string // those of them that show a stall
}

func (e *NodesError) Error() string {
	all := strings.Join(e.Nodes, ", ")
	switch {
	case e.Asked != "" && all == "":
		return fmt.Sprintf("no evidence of a node %q; no line of a kubelet, a runtime, the kernel or systemd names one", e.Asked)
	case e.Asked != "":
		return fmt.Sprintf("no evidence of a node %q; there is some of %s", e.Asked, all)
	case len(e.Stalled) > 1:
		return fmt.Sprintf("evidence of %d nodes, of which %s each show a stall", len(e.Nodes), strings.Join(e.Stalled, ", "))
	}
	return fmt.Sprintf("evidence of %d nodes, of which none shows a stall: %s", len(e.Nodes), all)
}

// daemons are the sources that only a node has: a host that writes them is one.
var daemons = []string{"kubelet.log", "containerd.log", "dockerd.log", "crio.log"}

// hasDaemon says whether a daemon of the host wrote into the file.
func (f *file) hasDaemon(host string) bool {
	return slices.ContainsFunc(daemons, func(name string) bool { return f.sources.Has(host, name) })
}

// isOfNode says whether lines of the host in the file tell of a node: those of its kernel, its
// service manager or a daemon.
func (f *file) isOfNode(host string) bool {
	return f.hasDaemon(host) || f.sources.Has(host, "kernel.log") || f.sources.Has(host, "systemd.log")
}

// keepNode drops all evidence but that of one node, where the files hold several, and notes in inc
// which one. It returns that node, where its kubelet or its runtime wrote.
func keepNode(files []*file, o Options, inc *Incident) (string, error) {
	n := countNodes(files)
	most := n.mostNamed()
	only := n.findOnlyNode(files, most)
	names := n.nodeNames()
	wrote := len(names) > 0
	if !wrote {
		only = n.addMachines(files)
		names = n.nodeNames()
	}
	inc.Node = cmp.Or(only, most)
	if len(names) > 1 {
		for _, f := range files {
			f.account.Node = n.nodeOfFile(f)
		}
	}
	if o.AllNodes {
		return "", nil
	}
	if only == "" || o.Node != "" {
		node, err := n.chooseNode(files, names, o.Node)
		if err != nil {
			return "", err
		}
		inc.Node = cmp.Or(node, inc.Node)
	}
	for _, name := range names {
		if name != inc.Node {
			inc.LeftOut = append(inc.LeftOut, name)
		}
	}
	n.dropOtherNodes(files, inc.Node)
	if !wrote || !n.ours[inc.Node] {
		return "", nil
	}
	return inc.Node, nil
}

// addMachines makes nodes of the hosts whose kernel or service manager wrote, where no kubelet and
// no runtime did, and returns the one of which most is told; empty when there is none.
func (n *nodes) addMachines(files []*file) (most string) {
	told := map[string]int{} // events
	for _, f := range files {
		for name := range f.sources.Hosts() {
			if node := n.named[name]; node != "" && f.isOfNode(name) {
				n.ours[node] = true
			}
		}
		whole := n.nodeOfFile(f)
		for e := range f.events.All() {
			told[n.nodeOf(e.Host, whole)]++
		}
	}
	for _, node := range n.nodeNames() {
		if most == "" || told[node] > told[most] {
			most = node
		}
	}
	return most
}

// findOnlyNode returns the only node of the cluster, where another host wrote more lines: if that
// is a machine as well, of which no kubelet and no runtime wrote, those of the node must tell of
// something, and the machine becomes a node that can be asked for. Empty where there is none.
func (n *nodes) findOnlyNode(files []*file, most string) string {
	names := n.nodeNames()
	if len(names) != 1 || names[0] == most {
		return ""
	}
	if slices.ContainsFunc(files, func(f *file) bool { return f.isOfNode(most) }) {
		if !slices.ContainsFunc(files, func(f *file) bool { return n.hasDaemonEvent(f, names[0]) }) {
			return ""
		}
		n.ours[most] = true
	}
	return names[0]
}

// hasDaemonEvent says whether a kubelet or a runtime of a node tells of an event in the file, and
// not only of what it is.
func (n *nodes) hasDaemonEvent(f *file, node string) bool {
	whole := n.nodeOfFile(f)
	for e := range f.events.All() {
		if slices.Contains(daemons, e.Source) && e.Kind != event.KindFact && n.nodeOf(e.Host, whole) == node {
			return true
		}
	}
	return false
}

// nodes are the machines that lines and paths of the files name.
type nodes struct {
	lines map[string]int    // by name, how many lines name it
	named map[string]string // a name to the one that the node goes by
	wrote map[string]bool   // names under which a kubelet or a runtime wrote, or that a directory has
	ours  map[string]bool   // the nodes of the cluster, by the names they go by
	dirs  map[string]string // a directory to the only node below it; severalNodes where there are more
}

// severalNodes stands for a directory with files of more than one node.
const severalNodes = "\x00"

// countNodes looks through all files.
func countNodes(files []*file) *nodes {
	n := &nodes{
		lines: map[string]int{}, named: map[string]string{}, wrote: map[string]bool{}, ours: map[string]bool{},
		dirs: map[string]string{},
	}
	renamed := map[string]string{}
	for _, f := range files {
		if f.place.Node != "" && f.account.Used > 0 {
			n.addName(f.place.Node, 1, true)
		}
		if f.sources == nil { // as of most files
			continue
		}
		for name, h := range f.sources.Hosts() {
			if event.IsDefaultHost(name) {
				continue
			}
			n.addName(name, h.Lines, f.hasDaemon(name))
		}
		maps.Copy(renamed, f.findRenames())
	}
	n.foldNames(renamed)
	for _, f := range files {
		n.addDirectories(f)
	}
	return n
}

// maxNodes bounds the names of nodes; one cluster has 5000 at most.
const maxNodes = 5000

func (n *nodes) addName(name string, lines int, wrote bool) {
	if n.lines[name] == 0 && len(n.lines) >= maxNodes {
		return
	}
	n.lines[name] += lines
	n.wrote[name] = n.wrote[name] || wrote
}

// findRenames maps hosts of the file to the name under which they go on: the lines of one end
// before those of the other begin, and so do their times. In a file of several machines lines or
// times overlap, or their names differ in numbers alone.
func (f *file) findRenames() map[string]string {
	var order []*timeline.Host
	var names []string
	for name, h := range f.sources.Hosts() {
		if name != "" && h.First.Known && h.Last.Known {
			order, names = append(order, h), append(names, name)
		}
	}
	if len(order) < 2 || layout.DifferInNumbers(names) { // most files are of one host
		return nil
	}
	slices.SortFunc(order, func(a, b *timeline.Host) int { return cmp.Compare(a.From, b.From) })
	all := map[string]string{}
	for i := 1; i < len(order); i++ {
		a, b := order[i-1], order[i]
		if a.To < b.From && !b.First.T.Before(a.Last.T) && !(f.hasDaemon(a.Name) && f.hasDaemon(b.Name)) {
			all[a.Name] = b.Name
		}
	}
	return all
}

// foldNames finds the names that are one node's: short and whole, before and after it was renamed.
func (n *nodes) foldNames(renamed map[string]string) {
	names := slices.Sorted(maps.Keys(n.lines))
	whole := map[string][]string{} // names by their first label
	for _, name := range names {
		short, _, _ := strings.Cut(strings.ToLower(name), ".")
		whole[short] = append(whole[short], name)
	}
	for _, name := range names {
		n.named[name] = name
		notLonger := func(other string) bool { return len(other) <= len(name) }
		longer := slices.DeleteFunc(slices.Clone(whole[strings.ToLower(name)]), notLonger)
		if len(longer) == 1 {
			n.named[name] = longer[0]
		}
	}
	for from, to := range renamed {
		if n.named[from] == from && n.named[to] != "" && n.named[to] != from {
			n.named[from] = n.named[to]
		}
	}
	for range maxRenames { // what a name was folded into may have been folded, too
		for _, name := range names {
			n.named[name] = cmp.Or(n.named[n.named[name]], n.named[name])
		}
	}
	for name, wrote := range n.wrote {
		if wrote && n.named[name] != "" {
			n.ours[n.named[name]] = true
		}
	}
}

// maxRenames bounds how often a machine is renamed.
const maxRenames = 4

// addDirectories notes for the directories above a file which nodes are below them.
func (n *nodes) addDirectories(f *file) {
	if f.place.Node == "" && f.sources == nil { // as of most files
		return
	}
	note := func(name string) {
		for dir := range layout.Parents(f.account.Path) {
			if was := n.dirs[dir]; was == "" {
				n.dirs[dir] = name
			} else if was != name {
				n.dirs[dir] = severalNodes
			}
		}
	}
	if f.place.Node != "" {
		note(n.named[f.place.Node])
	}
	for name := range f.sources.Hosts() {
		if node := n.named[name]; node != "" && n.ours[node] {
			note(node)
		}
	}
}

// nodeNames are the nodes of the cluster.
func (n *nodes) nodeNames() []string { return slices.Sorted(maps.Keys(n.ours)) }

// mostNamed is the node that most lines are of; empty when none names one.
func (n *nodes) mostNamed() string {
	best, lines := "", map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(n.lines)) {
		node := n.named[name]
		lines[node] += n.lines[name]
		if best == "" || lines[node] > lines[best] {
			best = node
		}
	}
	return best
}

// nodeOfFile is the node that a whole file is of, by its path, its lines, or the files beside it;
// empty when it is not known.
func (n *nodes) nodeOfFile(f *file) string {
	if f.place.Node != "" {
		return n.named[f.place.Node]
	}
	node := ""
	for name := range f.sources.Hosts() {
		switch named := n.named[name]; {
		case named == "" || named == node:
		case node != "":
			return "" // several
		default:
			node = named
		}
	}
	if node != "" {
		return node
	}
	if len(n.dirs) == 0 {
		return ""
	}
	for dir := range layout.Parents(f.account.Path) {
		if node := n.dirs[dir]; node != "" {
			return strings.Trim(node, severalNodes)
		}
	}
	return ""
}

// nodeOf is the node of something in a file that names a host, or names none.
func (n *nodes) nodeOf(host, whole string) string {
	if node := n.named[host]; node != "" {
		return node
	}
	return whole
}

// chooseNode finds the node to look at: the one that was asked for, or the only one with a stall.
// Empty when there is nothing to choose.
func (n *nodes) chooseNode(files []*file, names []string, asked string) (string, error) {
	if asked != "" {
		for _, name := range slices.Sorted(maps.Keys(n.named)) {
			if layout.SameNode(name, asked) && slices.Contains(names, n.named[name]) {
				return n.named[name], nil
			}
		}
		return "", &NodesError{Asked: asked, Nodes: names}
	}
	if len(names) < 2 {
		return "", nil
	}
	for _, shown := range stallSigns {
		counts := map[string]int{}
		for _, f := range files {
			whole := n.nodeOfFile(f)
			for e := range f.events.All() {
				if !shown.is(e) {
					continue
				}
				if node := n.nodeOfEvent(e, whole); slices.Contains(names, node) {
					counts[node] += e.Count()
				}
			}
		}
		maps.DeleteFunc(counts, func(_ string, count int) bool { return count < shown.least })
		if len(counts) > 1 {
			n.dropBarelyNamed(counts)
		}
		switch stalled := slices.Sorted(maps.Keys(counts)); len(stalled) {
		case 0:
		case 1:
			return stalled[0], nil
		default:
			return "", &NodesError{Nodes: names, Stalled: stalled}
		}
	}
	return "", &NodesError{Nodes: names}
}

// stallSigns are what shows a stall, the surest first, and how often it must be seen: a single call
// runs into its deadline on a healthy node, too.
var stallSigns = []struct {
	is    func(*event.Event) bool
	least int
}{
	{func(e *event.Event) bool { return e.Kind == event.KindPLEGUnhealthy }, 1},
	{func(e *event.Event) bool { return e.Kind == event.KindRelistFailed }, 1},
	{func(e *event.Event) bool { return e.Kind == event.KindNodeNotReady }, 1},
	{func(e *event.Event) bool {
		return e.Kind == event.KindCRIError && e.FieldText(event.FieldDeadline) == "true" && e.FieldText(event.FieldMethod) != "ExecSync"
	}, 10},
	{func(e *event.Event) bool {
		return e.Kind == event.KindNodeCondition && e.FieldText(event.FieldCondition) == "Ready" && e.FieldText(event.FieldStatus) != "True"
	}, 1},
	{func(e *event.Event) bool { return e.Kind == event.KindStartFailed }, 2},
}

// nodeOfEvent is the node that an event tells of; whole is that of its file.
func (n *nodes) nodeOfEvent(e *event.Event, whole string) string {
	if object := e.FieldText(event.FieldNode); object != "" && e.Kind == event.KindNodeCondition {
		for name, named := range n.named {
			if layout.SameNode(name, object) {
				return named
			}
		}
	}
	return n.nodeOf(e.Host, whole)
}

// A node of which there are fewer lines than fewLines, and of another manyTimes as many, is one
// that a page about an earlier incident quotes.
const (
	fewLines  = 50
	manyTimes = 100
)

// dropBarelyNamed drops the nodes of which next to nothing is told beside what is told of others.
func (n *nodes) dropBarelyNamed(counts map[string]int) {
	lines, most := map[string]int{}, 0
	for name, count := range n.lines {
		lines[n.named[name]] += count
	}
	for node := range counts {
		most = max(most, lines[node])
	}
	maps.DeleteFunc(counts, func(node string, _ int) bool { return lines[node] < fewLines && lines[node]*manyTimes < most })
}

// dropOtherNodes drops the evidence of all nodes but one. What may be of any node stays. A host
// that is no node of the cluster is dropped where its lines stand among those of the node;
// elsewhere it may be the node under another name.
func (n *nodes) dropOtherNodes(files []*file, node string) {
	objects := map[string]bool{}
	for _, f := range files {
		if object := f.readRare().object; object != "" {
			objects[object] = true
		}
	}
	for _, f := range files {
		if f.events == nil && f.sources == nil && f.rare == nil { // as of most files
			continue
		}
		whole := n.nodeOfFile(f)
		among := false
		for name := range f.sources.Hosts() {
			among = among || name == node || n.named[name] == node
		}
		keep := func(host string) bool {
			owner := n.nodeOf(host, whole)
			return owner == "" || owner == node || !n.ours[owner] && !among
		}
		f.dropHosts(keep)
		n.dropControllersOthers(f, node)
		several := len(objects) > 1 || f.place.Cluster && node != ""
		if object := f.readRare().object; several && object != "" && !n.isNameOfNode(object, node) {
			f.events.KeepOnly(func(e *event.Event) bool {
				return e.Kind == event.KindNodeCondition || e.Kind == event.KindKubeEvent
			})
		}
	}
}

// dropControllersOthers drops what the node controller logs of other nodes than one, where it tells
// of several.
func (n *nodes) dropControllersOthers(f *file, node string) {
	told := map[string]bool{}
	for e := range f.events.All() {
		if e.Kind == event.KindNodeCondition && e.FieldText(event.FieldFrom) != "" && len(told) < maxNodes {
			told[e.FieldText(event.FieldNode)] = true
		}
	}
	if node == "" || len(told) < 2 {
		return
	}
	f.events.KeepOnly(func(e *event.Event) bool {
		name := e.FieldText(event.FieldNode)
		return e.Kind != event.KindNodeCondition || e.FieldText(event.FieldFrom) == "" || layout.SameNode(name, node) || n.isNameOfNode(name, node)
	})
}

// isNameOfNode says whether the name of a Kubernetes object is that of a node, under one of its
// names.
func (n *nodes) isNameOfNode(object, node string) bool {
	for name, named := range n.named {
		if named == node && layout.SameNode(name, object) {
			return true
		}
	}
	return false
}
