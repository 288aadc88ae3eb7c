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
	p := Place{Cluster: isCluster(segments)}
	if cut {
		p.Note = "sos kept only its end"
	}
	for i := range rows {
		r := &rows[i]
		for _, pattern := range r.patterns {
			if _, ok := pattern.match(segments); !ok {
				continue
			}
			p.Component, p.Foreign, p.Earlier = r.Component, r.Foreign, r.Earlier
			if r.Note != "" {
				p.Note = r.Note
			}
			p.Node = nodeOf(segments)
			return p
		}
	}
	p.Node = nodeOf(segments)
	return p
}

// isCluster says that the file is an answer of the cluster's API.
func isCluster(segments []string) bool {
	return slices.ContainsFunc(clusterPatterns, func(p pattern) bool { _, ok := p.match(segments); return ok })
}

// nodeOf is the name of the node that a directory of the path is named after.
func nodeOf(segments []string) string {
	for _, pattern := range nodePatterns {
		if node, ok := pattern.match(segments); ok && !slices.Contains(noNodes, node) {
			return node
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
type pattern []string

// parsePatterns compiles what the table has.
func parsePatterns(texts []string) (all []pattern) {
	for _, text := range texts {
		all = append(all, strings.Split(text, "/"))
	}
	return all
}

// match says whether a path ends with the pattern, and what its NODE is.
func (p pattern) match(segments []string) (node string, ok bool) {
	if p[len(p)-1] != "**" {
		return p.matchFrom(segments, len(segments)-len(p))
	}
	head := p[:len(p)-1]
	for from := 0; from+len(head) < len(segments); from++ {
		if node, ok := head.matchFrom(segments, from); ok {
			return node, true
		}
	}
	return "", false
}

// matchFrom matches all segments of the pattern with those of a path, from one segment on.
func (p pattern) matchFrom(segments []string, from int) (node string, ok bool) {
	if from < 0 {
		return "", false
	}
	for i, want := range p {
		got := segments[from+i]
		switch {
		case want == "NODE":
			node = got
		case !matchesSegment(want, got):
			return "", false
		}
	}
	return node, true
}

// matchesSegment matches a segment as path.Match does for *; all other characters are literal. Case
// does not count.
func matchesSegment(want, got string) bool {
	if want != "" && want[0] != '*' && (got == "" || lowerByte(want[0]) != lowerByte(got[0])) {
		return false // most are told apart by their first byte
	}
	want = strings.ToLower(want)
	first, rest, wild := strings.Cut(want, "*")
	if !hasPrefixIgnoringCase(got, first) || !wild {
		return !wild && len(got) == len(first) && hasPrefixIgnoringCase(got, first)
	}
	got = strings.ToLower(got[len(first):])
	for {
		text, more, wild := strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(got, text)
		}
		i := strings.Index(got, text)
		if i < 0 {
			return false
		}
		got, rest = got[i+len(text):], more
	}
}

func lowerByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func hasPrefixIgnoringCase(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
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
