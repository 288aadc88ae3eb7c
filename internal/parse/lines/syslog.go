package lines

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
)

// severities are the levels of syslog by their names.
var severities = map[string]event.Level{
	"emerg": event.Fatal, "alert": event.Fatal, "crit": event.Fatal, "err": event.Error, "warn": event.Warning, "warning": event.Warning,
	"notice": event.Info, "info": event.Info, "debug": event.Debug,
}

// facilities are those of syslog, by their names (RFC 5424; syslog.h).
var facilities = map[string]bool{
	"kern": true, "user": true, "mail": true, "daemon": true, "auth": true, "syslog": true, "lpr": true, "news": true, "uucp": true,
	"cron": true, "authpriv": true, "ftp": true, "local0": true, "local1": true, "local2": true, "local3": true, "local4": true,
	"local5": true, "local6": true, "local7": true,
}

// facility are a facility and its level: 1 what stands between them, 2 the level.
var facility = regexp.MustCompile(`^[a-z0-7]+(?:(\.)| *: *)([a-z]+)(?: *: | )`)

// Facility reads the level behind the name of a facility, and the length of both; 0 for anything
// else. Between is what stands between the two:
//
//	kern  :err   : [42000.009100] …                             ':', dmesg -x, and Talos'
//	Nov  8 09:30:11 node-1 kern.err kernel: [42000.009100] …    '.', busybox
func Facility(b []byte, between byte) (level event.Level, n int) {
	end := bytes.IndexByte(b[:min(len(b), 10)], between)
	if end < 0 || !facilities[string(bytes.TrimRight(b[:end], " "))] { // most dots are those of a host's name
		return event.NoLevel, 0
	}
	m := facility.FindSubmatch(b[:min(len(b), 24)])
	if m == nil || (between == '.') != (len(m[1]) > 0) || (between == '.') == (m[0][len(m[0])-2] == ':') {
		return event.NoLevel, 0
	}
	level, ok := severities[string(m[2])]
	if !ok {
		return event.NoLevel, 0
	}
	return level, len(m[0])
}

// Tag reads "kubelet[90]: "; end is behind it, 0 where b starts with something else.
func Tag(b []byte) (unit []byte, pid, end int) {
	for end < len(b) && end < 128 && b[end] > ' ' && b[end] != '[' && b[end] != ':' {
		end++
	}
	unit = b[:end]
	if end > 0 && end < len(b) && b[end] == '[' {
		v, d := Digits(b[end+1:])
		if d > 0 && d < 11 && end+d+1 < len(b) && b[end+d+1] == ']' {
			pid, end = int(v), end+d+2
		}
	}
	if len(unit) == 0 || end >= len(b) || b[end] != ':' {
		return nil, 0, 0
	}
	if end++; end < len(b) && b[end] != ' ' {
		return nil, 0, 0
	}
	return unit, pid, min(end+1, len(b))
}

// unitTypes are the endings of units' names, see systemd.unit(5).
var unitTypes = []string{".service", ".scope", ".socket", ".mount", ".slice", ".timer", ".target", ".path", ".swap", ".device", ".automount"}

// IsUnitName says that a word is the name of a unit of systemd, as containerd.service.
func IsUnitName(word string) bool {
	i := strings.LastIndexByte(word, '.')
	return i >= 0 && slices.Contains(unitTypes, word[i:])
}
