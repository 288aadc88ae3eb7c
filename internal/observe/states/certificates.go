package states

import (
	"path"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// certificate is one of those that collect reads on the node, in the words of openssl x509 -noout
// -subject -issuer -dates, with its file and the moment at which it was read:
//
//	file=/var/lib/kubelet/pki/kubelet-client-current.pem
//	subject=CN=system:node:node-1,O=system:nodes
//	notAfter=Nov 20 08:59:00 2026 GMT
//	read=Nov 20 09:05:11 2026 GMT
type certificate struct {
	file  string
	until time.Time
	quote event.Quote // of until
}

// opensslDate is how openssl prints a time.
const opensslDate = "Jan _2 15:04:05 2006 GMT"

// takeDatum takes a line of a certificate. Of the one that the kubelet shows to the API server it
// tells until when it is good, and whether that was over when it was read.
func (c *certificate) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	if len(e.Path) != 1 {
		return dst
	}
	switch e.Path[0] {
	case "file":
		*c = certificate{file: e.Value}
	case "notAfter":
		until, err := time.Parse(opensslDate, e.Value)
		if err != nil || !strings.Contains(path.Base(c.file), "client") {
			return dst
		}
		c.until, c.quote = until, e.Quote()
		return addFact(dst, facts.Node, "kubelet.certificate-expires", c.printUntil(), e)
	case "read":
		return c.appendExpired(dst, e.Value)
	}
	return dst
}

// printUntil prints the end in the words of the kubelet.
func (c *certificate) printUntil() string { return c.until.Format(time.DateTime + " -0700 MST") }

// appendExpired tells of a certificate that was over when it was read.
func (c *certificate) appendExpired(dst []event.Event, read string) []event.Event {
	at, err := time.Parse(opensslDate, read)
	if err != nil || c.until.IsZero() || !at.After(c.until) {
		return dst
	}
	return append(dst, ExpiredCertificate(c.file, c.until, at, c.quote))
}

// ParseCertificateEnd is the moment in a line of openssl x509: notAfter=… of -dates and -enddate,
// or Not After : … of -text.
func ParseCertificateEnd(line string) (until time.Time, ok bool) {
	line = strings.TrimSpace(line)
	said, ok := strings.CutPrefix(line, "notAfter=")
	if !ok {
		said, ok = strings.CutPrefix(line, "Not After : ")
	}
	until, err := time.Parse(opensslDate, said)
	return until, ok && err == nil
}

// CertificateOf tells by its file whose a certificate is: the client's, which the kubelet shows to
// the API server, or one of the control plane; empty for any other.
func CertificateOf(file string) string {
	name := path.Base(file)
	switch {
	case strings.Contains(name, "kubelet-client"), strings.Contains(name, "client-kubelet"):
		return "client"
	case strings.HasPrefix(file, "/etc/kubernetes/pki/"), strings.Contains(file, "/server/tls/"):
		return "control-plane"
	}
	return ""
}

// ExpiredCertificate is the event of such a certificate that was over at a moment after its end.
func ExpiredCertificate(file string, until, at time.Time, quotes ...event.Quote) event.Event {
	c := certificate{until: until}
	of, text := CertificateOf(file), "the kubelet's client certificate is expired"
	if of == "control-plane" {
		text = "the certificate " + path.Base(file) + " of the control plane is expired"
	}
	e := event.New(event.KindCertificate, text, event.FieldWhat.Text("expired"), event.FieldOf.Text(of), event.FieldSince.Text(c.printUntil()), event.FieldPath.Text(file))
	e.Component, e.Source, e.Evidence = "kubelet", facts.Node, quotes
	e.Start = event.Time{T: until, Prec: time.Second, Known: true}
	e.End, e.Open = event.Time{T: at, Prec: time.Second, Known: true}, true
	return e
}
