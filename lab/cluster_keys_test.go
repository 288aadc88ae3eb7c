//go:build lab

package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// authority signs the certificates of one cluster.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	text []byte // its certificate, as PEM
}

// aDay is how long certificates are good that no scenario lets expire.
const aDay = 24 * time.Hour

// identity is a certificate with its key, both as PEM.
type identity struct{ cert, key []byte }

func newAuthority() (*authority, error) {
	a := &authority{cert: &x509.Certificate{
		Subject: pkix.Name{CommonName: "lab"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}}
	self, err := a.issue(a.cert, aDay)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(self.cert)
	a.text = self.cert
	a.cert, err = x509.ParseCertificate(block.Bytes)
	return a, err
}

// issue makes a certificate of a template. The authority's own is signed by itself.
func (a *authority) issue(template *x509.Certificate, life time.Duration) (id identity, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return id, err
	}
	if a.key == nil {
		a.key = key
	}
	const lateClock = time.Minute
	template.NotBefore, template.NotAfter = time.Now().Add(-lateClock), time.Now().Add(life)
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return id, err
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return id, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return id, err
	}
	id.cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	id.key = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})
	return id, nil
}

// issueClient makes what opens the API server, or a kubelet, as a user who is in a group.
func (a *authority) issueClient(user, group string, life time.Duration) (identity, error) {
	who := pkix.Name{CommonName: user}
	if group != "" {
		who.Organization = []string{group}
	}
	return a.issue(&x509.Certificate{
		Subject: who, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, life)
}

// issueServer makes what a server shows under a name and addresses.
func (a *authority) issueServer(name string, addresses ...string) (identity, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, text := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(text))
	}
	return a.issue(template, aDay)
}

// asUser is how a kubeconfig holds an identity.
func (id identity) asUser() string {
	return fmt.Sprintf("{client-certificate-data: %s, client-key-data: %s}",
		base64.StdEncoding.EncodeToString(id.cert), base64.StdEncoding.EncodeToString(id.key))
}

// apiServerName is in the API server's certificate: each node knows it by another address.
const apiServerName = "kubernetes"

// writeKeys writes the certificates of the control plane, a token for the lab, and what signs the
// tokens of service accounts.
func (c *cluster) writeKeys() error {
	var err error
	if c.authority, err = newAuthority(); err != nil {
		return err
	}
	server, err := c.authority.issueServer(apiServerName, "127.0.0.1")
	if err != nil {
		return err
	}
	client, err := c.authority.issueClient(kubeletClient, "", aDay)
	if err != nil {
		return err
	}
	accounts, err := c.authority.issueServer("accounts")
	if err != nil {
		return err
	}
	var failed []error
	for name, text := range map[string][]byte{
		"ca.crt": c.authority.text, "apiserver.crt": server.cert, "apiserver.key": server.key,
		"kubelet-client.crt": client.cert, "kubelet-client.key": client.key, "accounts.key": accounts.key,
		"tokens.csv": []byte(c.token + ",lab,lab,system:masters\n"),
		"kubeconfig": []byte(c.kubeconfig("127.0.0.1", "{token: "+c.token+"}")),
	} {
		failed = append(failed, os.WriteFile(c.path(name), text, 0o600))
	}
	return errors.Join(failed...)
}

// kubeletClient is the user that the API server is for kubelets. It gets no more rights than
// Kubernetes has for it.
const kubeletClient = "kube-apiserver-kubelet-client"

// kubeconfig is how a user reaches the API server by one of the host's addresses.
func (c *cluster) kubeconfig(address, user string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: lab
  cluster:
    server: "https://%s:%d"
    tls-server-name: %s
    certificate-authority-data: %s
users:
- name: lab
  user: %s
contexts:
- name: lab
  context: {cluster: lab, user: lab}
current-context: lab
`, address, c.port, apiServerName, base64.StdEncoding.EncodeToString(c.authority.text), user)
}
