package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net/http"
	"net/http/pprof"
	"os"
	"strings"
	"time"
)

// listen serves /healthz on port 10248 to everybody, and on 10250, as a kubelet with webhook
// authorization, /metrics and /debug/pprof to those who have the token.
func serveHTTP(g *pleg) error {
	secret, err := os.ReadFile(token)
	if err != nil {
		return err
	}
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	health := http.NewServeMux()
	health.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		fmt.Fprintf(w, "# TYPE kubelet_pleg_last_seen_seconds gauge\nkubelet_pleg_last_seen_seconds %d\n", g.relisted.Unix())
	})
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if subtle.ConstantTimeCompare([]byte(got), []byte(strings.TrimSpace(string(secret)))) != 1 {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
	server := &http.Server{Addr: "127.0.0.1:10250", Handler: guarded, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	go func() {
		writeLog('E', "server.go:170", "Failed to listen and serve", "err", server.ListenAndServeTLS("", ""))
	}()
	go func() {
		writeLog('E', "server.go:390", "Failed to start healthz server", "err", http.ListenAndServe("127.0.0.1:10248", health))
	}()
	return nil
}

// selfSigned is what a kubelet without a certificate of the cluster makes for itself.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
