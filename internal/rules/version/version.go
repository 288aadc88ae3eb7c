// Package version says whether a version, as a program prints it, lies in a range such as
// ">=1.7.0 <1.7.17 || 2.0.0". It does not know whose version it is.
package version

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
)

// Range is a choice of conjunctions: ">=1.7.0 <1.7.17 || 2.0.0".
type Range [][]bound

type bound struct {
	operator string // "<", "<=", ">", ">=", "="
	version  string // as semver.Compare wants it
}

var operators = []string{"<=", ">=", "<", ">", "="}

// ParseRange reads choices with || between them: each is of bounds with blanks or commas between,
// of which all hold. A version without an operator is that one alone.
func ParseRange(s string) (Range, error) {
	var r Range
	for choice := range strings.SplitSeq(s, "||") {
		var bounds []bound
		for part := range strings.FieldsFuncSeq(choice, func(r rune) bool { return r == ' ' || r == ',' }) {
			b := bound{operator: "="}
			for _, operator := range operators {
				if rest, ok := strings.CutPrefix(part, operator); ok {
					b.operator, part = operator, rest
					break
				}
			}
			version, ok := canonicalVersion(part)
			if !ok {
				return nil, fmt.Errorf("%q is not a version", part)
			}
			b.version = version
			bounds = append(bounds, b)
		}
		if len(bounds) == 0 {
			return nil, fmt.Errorf("version range %q lacks a version", s)
		}
		r = append(r, bounds)
	}
	return r, nil
}

// Contains says whether a version lies in the range; known is false when it cannot be read as one.
func (r Range) Contains(version string) (in, known bool) {
	v, known := canonicalVersion(version)
	if !known {
		return false, false
	}
	for _, bounds := range r {
		in = true
		for _, b := range bounds {
			in = in && b.holdsFor(semver.Compare(v, b.version))
		}
		if in {
			return true, true
		}
	}
	return false, true
}

// SurelyContains says whether a version can be read and lies in the range.
func (r Range) SurelyContains(version string) bool {
	in, known := r.Contains(version)
	return known && in
}

func (b bound) holdsFor(comparison int) bool {
	switch b.operator {
	case "<":
		return comparison < 0
	case "<=":
		return comparison <= 0
	case ">":
		return comparison > 0
	case ">=":
		return comparison >= 0
	}
	return comparison == 0
}

// written is a version as components print it: v1.18.8-aliyun.1, 1.6.20~ds1,
// 1.0.0-rc93, 252 (252.39-1~deb12u1), go1.26.
var written = regexp.MustCompile(`^(?:v|go)?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?` +
	`(?:[-.~]?((?:alpha|beta|rc|pre)[0-9A-Za-z.]*))?(?:[^0-9A-Za-z].*)?$`)

var letterDigit = regexp.MustCompile(`([A-Za-z])(\d)`)

// canonicalVersion turns a written version into a semantic one. What a vendor
// adds is dropped: semver would read 1.18.8-aliyun.1 as older than 1.18.8. Only
// alpha, beta, rc and pre come before their release, and rc93 after rc9.
func canonicalVersion(s string) (string, bool) {
	m := written.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return "", false
	}
	v := "v" + trimLeadingZeros(m[1]) + "." + trimLeadingZeros(m[2]) + "." + trimLeadingZeros(m[3])
	if pre := strings.Trim(letterDigit.ReplaceAllString(m[4], "$1.$2"), "."); pre != "" {
		v += "-" + pre
	}
	return v, semver.IsValid(v)
}

// trimLeadingZeros is a part of a version without leading zeros, which semver forbids: docker
// prints 17.06.0.
func trimLeadingZeros(s string) string {
	if s = strings.TrimLeft(s, "0"); s == "" {
		return "0"
	}
	return s
}
