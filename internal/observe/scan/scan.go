// Package scan takes words, numbers, lengths, versions and ids out of text.
package scan

import (
	"strings"
	"time"
)

// After is the text behind the first of the marks that stands in s; empty when none does.
func After(s string, marks ...string) string {
	for _, m := range marks {
		if _, rest, ok := strings.Cut(s, m); ok {
			return rest
		}
	}
	return ""
}

// Digits is the run of decimal digits at the start of s.
func Digits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}

// Short is the first twelve digits of an id, as docker and crictl print it.
func Short(id string) string {
	return id[:min(len(id), 12)]
}

// FirstWord is s up to its first blank.
func FirstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}

// Duration reads a Go duration that stands between two texts; an empty after ends it at the first
// byte that no duration has.
func Duration(s, before, after string) (time.Duration, bool) {
	_, rest, ok := strings.Cut(s, before)
	if !ok {
		return 0, false
	}
	if after != "" {
		if rest, _, ok = strings.Cut(rest, after); !ok {
			return 0, false
		}
	} else {
		rest = rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789.hmsuµn"))]
		rest = strings.TrimRight(rest, ".") // 1.14 ends each error with a period
	}
	d, err := time.ParseDuration(rest)
	return d, err == nil && d >= 0
}

// Clip bounds a text that goes into a field, in bytes; the evidence has all of it.
func Clip(text string) string { return text[:min(len(text), 500)] }

// Version is the leading "1.22.3" or "1.0.0-rc93" of s, without its v; empty when there is none.
// What a vendor adds is dropped.
func Version(s string) string {
	s = strings.TrimLeft(s, `" v`)
	n := len(s) - len(strings.TrimLeft(s, "0123456789."))
	v := strings.Trim(s[:n], ".")
	if !strings.Contains(v, ".") {
		return ""
	}
	for _, pre := range [...]string{"-rc", "~rc", "-beta", "-alpha"} {
		if rest, ok := strings.CutPrefix(s[n:], pre); ok {
			return v + "-" + pre[1:] + rest[:len(rest)-len(strings.TrimLeft(rest, ".0123456789"))]
		}
	}
	return v
}

// ContainsAny says that s contains at least one of parts.
func ContainsAny(s string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// Between is the text after the first open and before the next close; ok is false when either is
// missing.
func Between(s, open, close string) (string, bool) {
	_, rest, ok := strings.Cut(s, open)
	if !ok {
		return "", false
	}
	in, _, ok := strings.Cut(rest, close)
	return in, ok
}

// ContainerID is the id at the start of s, as long as it was written: 64 hex
// digits, or a piece of at least 6 where somebody cut it ("40585f73...").
func ContainerID(s string) string {
	s = strings.TrimLeft(s, `"\ `)
	n := 0
	for n < len(s) && isHex(s[n]) {
		n++
	}
	if n < minID || n > 64 || n < len(s) && IsWord(s[n]) {
		return ""
	}
	if n < 64 && !strings.ContainsAny(s[:n], "0123456789") {
		return "" // a word such as "facade"
	}
	return s[:n]
}

// minID is the shortest piece of an id that is believed; docker prints 12, write-ups fewer.
const minID = 6

// FindID is the first full container id (64 hex digits) in s.
func FindID(s string) string {
	for i := 0; i+64 <= len(s); i++ {
		n := 0
		for n < 64 && isHex(s[i+n]) {
			n++
		}
		if n == 64 && (i+64 == len(s) || !IsWord(s[i+64])) && (i == 0 || !IsWord(s[i-1])) {
			return s[i : i+64]
		}
		i += n
	}
	return ""
}

// UID is a word that is the id of an object of Kubernetes, as 7a3fd6c9-2b1e-4d5b-9f57-0a2a7f5b3b8c;
// empty for any other word.
func UID(word string) string {
	const length = 36
	if len(word) != length || strings.Count(word, "-") != 4 || strings.Trim(word, "0123456789abcdef-") != "" {
		return ""
	}
	return word
}

// PodUID is the pod that a cgroup belongs to: kubepods/besteffort/pod1234-…,
// kubepods-besteffort-pod1234_….slice. Empty for one of no pod.
func PodUID(cgroup string) string {
	i := strings.LastIndex(cgroup, "pod")
	for i >= 0 && (i+39 > len(cgroup) || strings.Count(strings.ReplaceAll(cgroup[i+3:i+39], "_", "-"), "-") != 4) {
		i = strings.LastIndex(cgroup[:i], "pod")
	}
	if i < 0 {
		return ""
	}
	return strings.ReplaceAll(cgroup[i+3:i+39], "_", "-")
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

// IsWord says that c is a letter or digit of ASCII, or an underscore.
func IsWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}
