package snapshots

import (
	"iter"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ReadProperties reads NAME=value: os-release, systemctl show, systemctl cat and unit files, files
// of environment variables, sysctl -a, openssl x509 -dates.
//
//	[Service]
//	ExecStart=/usr/bin/kubelet \
//	    --cpu-manager-policy=static
//
// The path is the section, where there is one, and the name. The lines that a backslash continues
// are data of the same path. Blocks of the same names, as systemctl show prints for several units,
// are documents.
func ReadProperties(in lines.Input) iter.Seq2[Datum, error] {
	var p properties
	return lineData(in, p.readLine)
}

type properties struct {
	section, first, last string
	more                 bool // the line before ends in a backslash
	doc                  int
	path                 [2]string
}

func (p *properties) readLine(line []byte) (Datum, bool) {
	text := strings.TrimSpace(string(line))
	more := p.more && p.last != ""
	body, continued := strings.CutSuffix(text, `\`)
	p.more = continued
	switch {
	case more:
		return p.newDatum(p.last, body), true
	case text[0] == '#' || text[0] == ';':
		p.more = false
		return Datum{}, true
	case text[0] == '[' && text[len(text)-1] == ']':
		p.section, p.last, p.first, p.more = text[1:len(text)-1], "", "", false
		return Datum{}, true
	}
	name, value, ok := strings.Cut(body, "=")
	name = strings.TrimSpace(strings.TrimPrefix(name, "export "))
	if !ok || !isName(name, "./") {
		p.more, p.last = false, ""
		return Datum{}, false
	}
	if p.first == "" {
		p.first = name
	} else if name == p.first && p.section == "" {
		p.doc++
	}
	p.last = name
	return p.newDatum(name, value), true
}

func (p *properties) newDatum(name, value string) Datum {
	p.path = [2]string{p.section, name}
	path := p.path[:]
	if p.section == "" {
		path = path[1:]
	}
	return Datum{Doc: p.doc, Path: path, Value: withoutQuotes(strings.TrimSpace(value))}
}

// withoutQuotes takes the quotes of a shell off a value.
func withoutQuotes(s string) string {
	if n := len(s); n >= 2 && (s[0] == '"' || s[0] == '\'') && s[n-1] == s[0] {
		return s[1 : n-1]
	}
	return s
}

// nameBytes are those of a name in every language of settings.
var nameBytes = lines.NewByteSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")

// isName says that s is of letters, digits, _ and -, and of the bytes of others.
func isName[T string | []byte](s T, others string) bool {
	for i := range len(s) {
		if !nameBytes[s[i]] && strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return len(s) > 0
}

// propertyNames are those by which a file is known.
var propertyNames = []string{
	"PRETTY_NAME=", "VERSION_ID=", "ActiveState=", "MainPID=", "NRestarts=", "TasksCurrent=", "ExecStart=",
	"KUBELET_", "DOCKER_OPTS=", "DOCKER_NETWORK_OPTIONS=",
	"kernel.pid_max ", "kernel.pid_max=", "kernel.threads-max ", "kernel.threads-max=",
	"NNames=", "NInstalledJobs=", "notBefore=", "notAfter=",
}

var propertyWords = lines.NewLiterals(propertyNames)

// SniffProperties wants one of propertyNames.
func SniffProperties(head *lines.Head) float64 {
	if !head.MayHoldAny(propertyWords) {
		return 0
	}
	var p properties
	return lines.Share(head, func(line []byte) lines.Sign {
		_, ok := p.readLine(line)
		if ok && lines.StartsWith(line, propertyNames...) {
			return lines.Proves
		}
		return lines.SignIf(ok, lines.Fits)
	})
}
