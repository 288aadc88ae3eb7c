//go:build linux

package collect

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"strings"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// certificateFiles hold certificates of the node, some together with their keys.
var certificateFiles = []string{
	"/var/lib/kubelet/pki/kubelet-client-current.pem", "/var/lib/kubelet/pki/kubelet-server-current.pem",
	"/var/lib/kubelet/pki/kubelet.crt", "/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/pki/apiserver.crt",
	"/var/lib/rancher/k3s/agent/client-kubelet.crt", "/var/lib/rancher/rke2/agent/client-kubelet.crt",
}

// certificateTask reads who the certificates are for, and until when they are good.
func certificateTask() *task {
	return &task{
		Do: "certificates", Bound: fileBound, Names: certificateFiles,
		Items: []want{{Name: "config/certificates.txt", Source: strings.Join(certificateFiles, " ")}},
	}
}

// readCertificates writes the dates of certificates in the words of openssl x509 -noout -subject
// -issuer -dates, and when they were read. What else stands in the files, as keys do, is left out.
func readCertificates(t *task, out itemWriter) result {
	var g guard
	r := result{outcome: bundle.Absent, why: "no certificate in any of the usual files"}
	for _, path := range t.Names {
		const limit = 1 << 20
		text, got := g.tryFile(t.Bound, path, limit)
		if got.outcome != "" {
			if got.outcome != bundle.Absent && r.outcome != "" {
				r = got
				r.why = path + ": " + got.why
			}
			continue
		}
		if writeCertificates(out, path, text) > 0 {
			r = result{}
		}
	}
	return r
}

// writeCertificates writes the certificates of one file, and returns how many there are.
func writeCertificates(out io.Writer, path string, text []byte) (count int) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			continue
		}
		count++
		const style = "Jan _2 15:04:05 2006 GMT"
		for _, line := range [...][2]string{
			{"file", path},
			{"subject", cert.Subject.String()},
			{"issuer", cert.Issuer.String()},
			{"notBefore", cert.NotBefore.UTC().Format(style)},
			{"notAfter", cert.NotAfter.UTC().Format(style)},
			{"read", now().Format(style)},
		} {
			fmt.Fprintf(out, "%s=%s\n", line[0], strings.ReplaceAll(line[1], "\n", " ")) // a name can hold a line break
		}
	}
	return count
}
