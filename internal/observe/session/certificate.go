package session

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/states"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// certificates are those of the kubelet and of the control plane of which somebody asked openssl
// for the end, and the moment that date printed in the same session: without it nobody knows
// whether one is over.
//
//	openssl x509 -noout -dates -in /var/lib/kubelet/pki/kubelet-client-current.pem
//	cat kubelet-client-current.txt | grep Not                                      (what openssl x509 -text has written there)
//	for i in /etc/kubernetes/pki/*.crt; do echo $i; openssl x509 -enddate -noout -in $i; done
//
// timedatectl prints the moment, too.
type certificates struct {
	read []certificate
	now  event.Time
	said event.Quote // by date
}

type certificate struct {
	file  string
	until time.Time
	quote event.Quote
}

// maxCertificates bounds what is kept of one file.
const maxCertificates = 100

// printsCertificate is a command that prints when the certificate in a file ends, or its text.
var printsCertificate = regexp.MustCompile(`^(?:openssl\s+x509\s.*-in\s+|cat\s+|grep\s.*\s)([\w./-]+)`)

// printsNow says that a command prints the time.
func printsNow(command string) bool {
	first, _, _ := strings.Cut(command, " ")
	return command == "date" || command == "date -u" || first == "timedatectl"
}

// readNow reads the time in a line of date, or of timedatectl, whose other lines are of no zone:
//
//	Universal time: Wed 2021-11-03 19:02:11 UTC
func readNow(line string) (event.Time, bool) {
	line = strings.TrimSpace(line)
	if name, said, ok := strings.Cut(line, ": "); ok && name == "Universal time" {
		line = said
	}
	at, ok := stamp.Date(line)
	return at, ok && at.Known
}

// take notes what a section shows of either.
func (c *certificates) take(command string, s *parse.Section) {
	if commands := splitCommands(command); slices.ContainsFunc(commands, printsNow) {
		for _, line := range s.First {
			if at, ok := readNow(line.Text); ok {
				c.now, c.said = at, line
				break // what another machine says may follow: date; ssh node-2 date
			}
		}
	}
	file := ""
	if m := printsCertificate.FindStringSubmatch(command); m != nil {
		file = m[1]
	}
	for _, line := range s.First {
		text := strings.TrimSpace(line.Text)
		if strings.HasPrefix(text, "/") && (strings.HasSuffix(text, ".crt") || strings.HasSuffix(text, ".pem")) {
			file = text // echo, in a loop over files
		}
		if until, ok := states.ParseCertificateEnd(text); ok && states.CertificateOf(file) != "" && len(c.read) < maxCertificates {
			c.read = append(c.read, certificate{file, until, line})
		}
	}
}

// finish returns the certificates that were over.
func (c *certificates) finish() (all []event.Event) {
	c.read = slices.DeleteFunc(c.read, func(one certificate) bool { return !c.now.Known || !c.now.T.After(one.until) })
	for _, one := range c.read {
		all = append(all, states.ExpiredCertificate(one.file, one.until, c.now.T, one.quote, c.said))
	}
	return all
}
