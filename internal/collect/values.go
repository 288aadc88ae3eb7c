package collect

import "strings"

// meminfoKiB is a row of /proc/meminfo in KiB; 0 when there is none.
func meminfoKiB(text, row string) int {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, row); ok {
			words := strings.Fields(rest)
			if len(words) > 0 {
				return parseNumber(words[0])
			}
		}
	}
	return 0
}
