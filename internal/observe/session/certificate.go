package session

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/states"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/stamp"
)

// certificates are those of the kubelet of which somebody asked openssl for the end, and the moment
// that date printed in the same session: without it nobody knows whether one is over.
//
//	openssl x509 -noout -dates -in /var/lib/kubelet/pki/kubelet-client-current.pem
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

// printsCertificate is the command that prints when the certificate in a file ends.
var printsCertificate = regexp.MustCompile(`^openssl\s+x509\s.*-in\s+(\S+)`)

// take notes what a section shows of either.
func (c *certificates) take(command string, s *parse.Section) {
	if command == "date" && len(s.First) > 0 {
		if at, ok := stamp.Date(s.First[0].Text); ok && at.Known {
			c.now, c.said = at, s.First[0]
		}
	}
	m := printsCertificate.FindStringSubmatch(command)
	if m == nil || !strings.Contains(path.Base(m[1]), "kubelet-client") || len(c.read) == maxCertificates {
		return
	}
	for _, line := range s.First {
		if until, ok := states.ParseCertificateEnd(line.Text); ok {
			c.read = append(c.read, certificate{m[1], until, line})
		}
	}
}

// finish returns the certificates that were over.
func (c *certificates) finish() (all []event.Event) {
	c.read = slices.DeleteFunc(c.read, func(one certificate) bool { return !c.now.Known || !c.now.T.After(one.until) })
	for _, one := range c.read {
		all = append(all, states.ExpiredClient(one.file, one.until, c.now.T, one.quote, c.said))
	}
	return all
}
