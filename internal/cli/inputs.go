package cli

import (
	"os"
	"regexp"
	"strings"
)

// remote is something that a user may name as an input and that is not on disk.
type remote struct {
	shape *regexp.Regexp
	what  string
	// Hint says how to hand it over; NAME stands for what was written.
	hint string
}

// remotes are in the order in which they are tried. Each match is of a whole argument.
var remotes = []remote{
	{
		regexp.MustCompile(`^https?://`), "a URL",
		"fetch it and hand it over: curl -fsSL 'NAME' | plegdiag analyze -",
	},
	{
		regexp.MustCompile(`^[a-z][a-z0-9+.-]*://`), "a URL",
		"copy it to this machine first, then name the copy: plegdiag analyze COPY",
	},
	{
		regexp.MustCompile(`^(node|no|nodes)/[a-z0-9.-]+$`), "a node",
		"collect on the node and hand the bundle over: ssh NODE plegdiag collect -o - > node.tgz (docs/collecting.md)",
	},
	{
		regexp.MustCompile(`^([\w.-]+@)?[\w.-]+:[/~]`), "a file on another machine",
		"copy it here first: scp 'NAME' . (or read it there: ssh HOST cat FILE | plegdiag analyze -)",
	},
	{ // registry/name:tag, name:tag, name@sha256:…
		regexp.MustCompile(`^[a-z0-9][a-z0-9._/-]*(:[0-9]+/[a-z0-9._/-]+)?(:[\w][\w.-]*|@sha256:[0-9a-f]+)$`), "the name of an image",
		"pull it and hand its files over: docker save 'NAME' | plegdiag analyze -",
	},
}

// CheckInputs refuses inputs that are not on this machine: nothing is fetched.
func CheckInputs(inputs []string) error {
	for _, input := range inputs {
		if _, err := os.Lstat(input); err == nil || input == "-" {
			continue
		}
		for _, r := range remotes {
			if r.shape.MatchString(input) {
				hint := strings.ReplaceAll(r.hint, "NAME", input)
				return UsageError(hint, "%q is %s; plegdiag works offline and reads files", input, r.what)
			}
		}
	}
	return nil
}
