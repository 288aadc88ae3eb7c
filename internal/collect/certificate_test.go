package collect

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Of a file with a certificate and its key, only who it is for and its dates are written.
func TestWriteCertificates(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "system:node:node-1\nnotAfter=never", Organization: []string{"system:nodes"}},
		NotBefore: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC), NotAfter: time.Date(2026, 11, 2, 9, 5, 1, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	text := append(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	var out bytes.Buffer
	require.Equal(t, 1, writeCertificates(&out, "/var/lib/kubelet/pki/kubelet-client-current.pem", text))
	require.Regexp(t, `^file=/var/lib/kubelet/pki/kubelet-client-current.pem
subject=CN=system:node:node-1 notAfter=never,O=system:nodes
issuer=CN=system:node:node-1 notAfter=never,O=system:nodes
notBefore=Nov 20 08:00:00 2026 GMT
notAfter=Nov  2 09:05:01 2026 GMT
read=\w{3} [ \d]\d \d\d:\d\d:\d\d 20\d\d GMT
$`, out.String())
	require.Zero(t, writeCertificates(&out, "x", []byte("no certificate")))
}
