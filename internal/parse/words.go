package parse

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// DescribeFormats says what files of these formats, one for each file, seem to be: "text of no
// known format (2 files), yaml (1 file)".
func DescribeFormats(formats []string) string {
	count := map[string]int{}
	for _, format := range formats {
		count[WordsOf(format)]++
	}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		files := "1 file"
		if n := count[name]; n > 1 {
			files = fmt.Sprintf("%d files", n)
		}
		said = append(said, fmt.Sprintf("%s (%s)", name, files))
	}
	return strings.Join(said, ", ")
}

// formatWords are what files of a format hold, in a reader's words.
var formatWords = map[string]string{
	"": "text of no known format", "unknown": "text of no known format", "empty": "nothing", Text: "text", Prose: "prose",
	"transcript": "a session or a page with blocks of text", "goroutines": "goroutines", "strace": "a trace of system calls",
	"threads": "samples of threads", "psn": "samples of threads", "offcputime": "stacks of threads", "xcapture": "samples of threads", "proc": "files of /proc",
	"collected": "an account of plegdiag collect", "unit-status": "the status of a unit",
	"json": "JSON", "yaml": "YAML", "toml": "TOML", "metrics": "metrics", "mounts": "a list of mounts", "table": "a table",
	"packages": "a list of packages", "boots": "a list of starts of the machine", "properties": "keys and values", "outline": "keys and values", "values": "values",
	"journal-file": "a journal", "journal-json": "a journal", "journal-verbose": "a journal", "journal-export": "a journal",
	"journal-short": "a log of other programs", "aggregated": "a log of other programs", "container": "a log of other programs",
	"klog": "a log of other programs", "logrus": "a log of other programs", "dmesg": "a log of other programs",
}

// WordsOf says what files of a format hold, in a reader's words: "a trace of system calls" for
// "strace". It gives the format itself where no words are known.
func WordsOf(format string) string {
	for i := range References {
		if r := &References[i]; r.Name == format {
			return r.What
		}
	}
	return cmp.Or(formatWords[format], format)
}
