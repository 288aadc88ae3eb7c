package snapshots

import (
	"bytes"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ReadPackages reads lists of installed packages: rpm -qa (also with --last), dpkg -l, dpkg-query
// -W.
//
//	containerd.io-1.6.33-3.1.el8.x86_64
//	ii  containerd.io  1.6.33-1  amd64  An open and reliable container runtime
//
// The path is the name, the value the version with its release.
func ReadPackages(in lines.Input) iter.Seq2[Datum, error] {
	return lineData(in, func(line []byte) (Datum, bool) {
		text := string(line)
		name, version, ok := readPackageLine(text)
		if !ok {
			// The five lines that dpkg -l prints above its table.
			return Datum{}, lines.StartsWith(text, "Desired=", "| ", "|/ ", "||/", "+++-")
		}
		return Datum{Path: []string{name}, Value: version}, true
	})
}

// dpkgLine is a row of dpkg -l: 1 the name, without the architecture of "libc6:amd64", 2 the
// version.
var dpkgLine = regexp.MustCompile(`^[uihrp][ncHUFWti] +([^\s\d][^\s:]*)\S* +(\d\S*) +\S`)

// architectures end the name of a package's file.
var architectures = []string{"x86_64", "noarch", "aarch64", "i686", "ppc64le", "s390x", "(none)"}

func readPackageLine(line string) (name, version string, ok bool) {
	if len(line) > 2 && line[2] == ' ' {
		if m := dpkgLine.FindStringSubmatch(line); m != nil {
			return m[1], m[2], true
		}
	}
	file := strings.TrimSpace(line)
	file = file[:wordLength(file)]
	i := strings.LastIndexByte(file, '.')
	if i < 0 || !slices.Contains(architectures, file[i+1:]) {
		return "", "", false
	}
	full := file[:i]
	release := strings.LastIndexByte(full, '-')
	if release <= 0 {
		return "", "", false
	}
	v := strings.LastIndexByte(full[:release], '-')
	if v <= 0 {
		return "", "", false
	}
	version = full[v+1:]
	if _, after, epoch := strings.Cut(version, ":"); epoch {
		version = after
	}
	return full[:v], version, version != ""
}

// mayBePackage says that a line begins with the state of a package, or its first word ends with the
// name of an architecture, which holds no point.
func mayBePackage(line []byte) bool {
	if len(line) > 2 && line[2] == ' ' {
		return true
	}
	first := bytes.TrimSpace(line)
	first = first[:wordLength(first)]
	i := bytes.LastIndexByte(first, '.')
	return i >= 0 && slices.Contains(architectures, string(first[i+1:]))
}

// SniffPackages is the share of lines that name a package and its version.
func SniffPackages(head *lines.Head) float64 {
	return lines.Share(head, func(line []byte) lines.Sign {
		if lines.StartsWith(line, "Desired=", "|", "+") {
			return lines.Silent // above the table of dpkg -l
		}
		if !mayBePackage(line) {
			return lines.Foreign
		}
		_, _, ok := readPackageLine(string(line))
		return lines.SignIf(ok, lines.Proves)
	})
}
