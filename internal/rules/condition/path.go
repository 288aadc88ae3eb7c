package condition

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// pathPrefix marks a source that is named by where its file stands in the bundle.
const pathPrefix = "path:"

// PathSource returns the pattern of a source such as "path:var/log/acme/*.log"; false for a source
// that has a name.
func PathSource(source string) (pattern string, ok bool) {
	pattern, ok = strings.CutPrefix(source, pathPrefix)
	return strings.TrimPrefix(pattern, "/"), ok
}

// CheckPath says what is wrong with a pattern of paths.
func CheckPath(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return fmt.Errorf("%q is no pattern of paths such as var/log/acme/*.log", pattern)
	}
	return nil
}

// MatchPath says whether a file is one of a pattern: its last parts are those of the pattern, for
// the beginning of a path is the collector's. * stands for anything but a slash.
func MatchPath(pattern, file string) bool {
	parts, wanted := strings.Split(file, "/"), strings.Count(pattern, "/")+1
	if len(parts) < wanted {
		return false
	}
	same, err := path.Match(pattern, strings.Join(parts[len(parts)-wanted:], "/"))
	return same && err == nil
}

// newPathCondition compiles a condition on the field source whose argument is a path, or a list of
// paths. Ok is false for one that names sources.
func newPathCondition(operator string, arg any) (holds func(event.Value) bool, ok bool, err error) {
	list, isList := arg.([]any)
	if !isList {
		list = []any{arg}
	}
	var patterns []string
	for _, item := range list {
		pattern, isPath := PathSource(fmt.Sprint(item))
		if !isPath {
			continue
		}
		if err := CheckPath(pattern); err != nil {
			return nil, true, err
		}
		patterns = append(patterns, pattern)
	}
	switch {
	case len(patterns) == 0:
		return nil, false, nil
	case isList != (operator == "in") || !isList && operator != "":
		return nil, true, errors.New("a path takes no operator, and a list of paths takes in")
	case len(patterns) < len(list):
		return nil, true, errors.New("takes either paths or names of sources")
	}
	return func(v event.Value) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return MatchPath(pattern, v.Text()) })
	}, true, nil
}
