// Package layout knows where collectors put files. It turns the path of a file, as it is in a
// sosreport, in an archive of the EKS log collector or in a folder, into what the path alone says:
// who wrote it, which node it is from, whether its start was cut off.
//
// It reads no content and knows no format. What a line itself says about its writer and its node
// counts more.
package layout

import (
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Place is what the path of a file says about it. The zero Place is a path that says nothing.
type Place struct {
	// Component is who wrote the lines that do not name their writer: "kubelet", "containerd",
	// "kernel"; empty when the path does not say.
	Component string
	// Foreign says that the file is of a program that is none of the node's daemons: a pod's own
	// log, the control plane. Such a program can print what a daemon prints.
	Foreign bool
	// Node is the name of the node that the file is from; empty when the path does not say.
	Node string
	// Cluster says that the file is what the cluster's API says about its nodes. It can be about
	// another node only.
	Cluster bool
	// Earlier says that the file is of a boot before the last one.
	Earlier bool
	// Note says in a few words what was done to the file before, as "sos kept only its end"; mostly
	// empty.
	Note string
}

// Of returns what a path says about its file.
func Of(file string) Place {
	segments, cut := splitPath(file)
	lower := lowerSegments(segments)
	letters := firstLetters(lower)
	p := Place{Cluster: isCluster(lower, letters), Node: nodeOf(segments, lower, letters)}
	if cut {
		p.Note = "sos kept only its end"
	}
	for i := range rows {
		r := &rows[i]
		for j := range r.patterns {
			if _, ok := r.patterns[j].match(lower, letters); !ok {
				continue
			}
			p.Component, p.Foreign, p.Earlier = r.Component, r.Foreign, r.Earlier
			if r.Note != "" {
				p.Note = r.Note
			}
			return p
		}
	}
	return p
}

// lowerSegments are the segments in small letters. The same slice is returned where they are
// already.
func lowerSegments(segments []string) []string {
	lower := segments
	for i, s := range segments {
		small := strings.ToLower(s)
		if small == s {
			continue
		}
		if &lower[0] == &segments[0] {
			lower = slices.Clone(segments)
		}
		lower[i] = small
	}
	return lower
}

// isCluster says that the file is an answer of the cluster's API.
func isCluster(lower []string, letters letterSet) bool {
	return slices.ContainsFunc(clusterPatterns, func(p pattern) bool { _, ok := p.match(lower, letters); return ok })
}

// nodeOf is the name of the node that a directory of the path is named after.
func nodeOf(segments, lower []string, letters letterSet) string {
	for i := range nodePatterns {
		if at, ok := nodePatterns[i].match(lower, letters); ok && !slices.Contains(noNodes, segments[at]) {
			return segments[at]
		}
	}
	return ""
}

// splitPath splits a path as it would be on the node, or as the collector names it, and says
// whether sos kept only the end of the file. sos puts what it cut below sos_strings, a log of the
// node under its whole path with dots:
//
//	sos_strings/kubernetes/journalctl_--no-pager_--unit_kubelet.tailed
//	sos_strings/logs/var.log.syslog.tailed
func splitPath(file string) (segments []string, cut bool) {
	for _, packed := range packings {
		file = strings.TrimSuffix(file, packed)
	}
	whole, cut := strings.CutSuffix(file, ".tailed")
	segments = strings.Split(whole, "/")
	i := slices.Index(segments, "sos_strings")
	if i < 0 {
		return segments, false
	}
	segments[i] = "sos_commands"
	last := len(segments) - 1
	if name, ok := strings.CutPrefix(segments[last], "var.log."); ok {
		segments = append(segments[:i], "var", "log", name)
	}
	return segments, cut
}

// packings are endings of compressed files, which say nothing about their content.
var packings = []string{".gz", ".xz", ".bz2", ".zst"}

// pattern is the segments that a path in a bundle must end with. In a segment * is any text and
// NODE the name of a node; a last segment ** is everything below.
type pattern struct {
	segments []segment
	letters  letterSet // of the segments that do not begin with any text
	below    bool      // a last ** follows
}

// letterSet holds what segments begin with: a bit for each letter, which a few signs share. Most
// patterns need one that a path has not.
type letterSet uint64

func (s *letterSet) add(segment string) {
	if segment != "" {
		*s |= 1 << (segment[0] & 63)
	}
}

// firstLetters are what the segments of a path begin with.
func firstLetters(segments []string) (set letterSet) {
	for _, s := range segments {
		set.add(s)
	}
	return set
}

// segment is one of a pattern. Case does not count, and all characters but * are literal.
type segment struct {
	node  bool
	first string   // what it begins with, in small letters
	parts []string // what follows, with any text before each; nil where it is first and nothing else
}

// parsePatterns compiles what the table has.
func parsePatterns(texts []string) (all []pattern) {
	for _, text := range texts {
		text, below := strings.CutSuffix(text, "/**")
		p := pattern{below: below}
		for s := range strings.SplitSeq(text, "/") {
			parts := strings.Split(strings.ToLower(s), "*")
			want := segment{node: s == "NODE", first: parts[0], parts: parts[1:]}
			if !want.node {
				p.letters.add(want.first)
			}
			p.segments = append(p.segments, want)
		}
		all = append(all, p)
	}
	return all
}

// match says whether a path ends with the pattern, and where in it the segment is that is its NODE;
// -1 without one. The letters are those of the path.
func (p *pattern) match(lower []string, letters letterSet) (node int, ok bool) {
	if p.letters&^letters != 0 {
		return -1, false
	}
	last := len(lower) - len(p.segments)
	if !p.below {
		return p.matchFrom(lower, last)
	}
	for from := range last {
		if node, ok := p.matchFrom(lower, from); ok {
			return node, true
		}
	}
	return -1, false
}

// matchFrom matches all segments of the pattern with those of a path, from one segment on.
func (p *pattern) matchFrom(lower []string, from int) (node int, ok bool) {
	if from < 0 {
		return -1, false
	}
	node = -1
	for i := range p.segments {
		switch want := &p.segments[i]; {
		case want.node:
			node = from + i
		case !want.match(lower[from+i]):
			return -1, false
		}
	}
	return node, true
}

// match says whether a segment in small letters fits.
func (s *segment) match(lower string) bool {
	rest, ok := strings.CutPrefix(lower, s.first)
	if !ok || len(s.parts) == 0 {
		return ok && rest == ""
	}
	last := len(s.parts) - 1
	for _, part := range s.parts[:last] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, s.parts[last])
}

// SameNode says whether two names are those of one node: journals have the short name of a
// host, Kubernetes often the whole one.
func SameNode(a, b string) bool {
	short, long := strings.ToLower(a), strings.ToLower(b)
	if len(short) > len(long) {
		short, long = long, short
	}
	return short == long || short != "" && strings.HasPrefix(long, short+".")
}

// DifferInNumbers says whether two of the names, each of which is given once, are the same but for
// their numbers: they are those of two machines of one kind.
func DifferInNumbers(names []string) bool {
	kinds := map[string]bool{}
	for _, name := range names {
		kinds[numbers.ReplaceAllString(name, "0")] = true
	}
	return len(kinds) < len(names)
}

var numbers = regexp.MustCompile(`[0-9]+`)

// Link is where a link in a bundle may lead, as paths of the bundle, the likeliest first. A
// symbolic link is relative to its directory or, where it was absolute on the node, to one of the
// directories above; a hard link of an archive is relative to the archive, which is one of those,
// too.
func Link(file, target string, hard bool) []string {
	if !path.IsAbs(target) && !hard {
		return []string{path.Join(path.Dir(file), target)}
	}
	var all []string
	for dir := range Parents(file) {
		all = append(all, path.Join(dir, target))
	}
	return all
}

// Parents yields the directories above a file, the nearest first; the last is "." or "/".
func Parents(file string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for dir := path.Dir(file); yield(dir) && dir != "." && dir != "/"; dir = path.Dir(dir) {
		}
	}
}
