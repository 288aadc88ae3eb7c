package snapshots

import "strings"

// plainRow is a row without what Markdown puts around the cells that somebody points at. What stood
// below the header's columns before then stands there again.
//
//	**DiskPressure  True  …  KubeletHasDiskPressure  kubelet has disk pressure**
//	node-1   `NotReady`   worker   38d   v1.28.4
func plainRow(line string) string {
	if len(line) > maxRow {
		return line
	}
	for _, mark := range [...]string{"**", "`"} {
		for begin, end := findMarked(line, mark); begin >= 0; begin, end = findMarked(line, mark) {
			line = line[:begin] + line[begin+len(mark):end] + line[end+len(mark):]
		}
	}
	return line
}

// findMarked finds the first words that stand between two marks; -1 where none do. A mark that
// opens stands before a word, one that closes behind it.
func findMarked(line, mark string) (begin, end int) {
	isGap := func(at int) bool {
		return at < 0 || at >= len(line) || line[at] == ' ' || line[at] == '\t'
	}
	begin = -1
	for at := 0; ; {
		next := strings.Index(line[at:], mark)
		if next < 0 {
			return -1, 0
		}
		at += next
		before, behind := isGap(at-1), isGap(at+len(mark))
		switch {
		case before && !behind && begin < 0:
			begin = at
		case begin >= 0 && at > begin+len(mark) && !before && behind:
			return begin, at
		}
		at += len(mark)
	}
}
