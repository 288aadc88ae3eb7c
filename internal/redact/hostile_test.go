package redact

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A long line of one piece again and again takes no longer than its length.
func TestHostileLines(t *testing.T) {
	pieces := []string{
		`env:{`, `"env":[`, `Env:[]EnvVar{`, `Env:[A=`, `env:[a:"`, "-----BEGIN X-----", "-----BEGIN X----- ", "mysql '", "mysql a ", "curl -u ", "docker login ",
		"eyJ-", "eyJ.", "eyJa ", ".atlasv1.", "a.atlasv1. ", "T3BlbkFJ", "://a:b", "://a@", "://", "@tcp(", "a:@tcp(", `"kind":"Secret"`, `"data":{"kind":"Secret",`, "password=(", "password='", `password=\"`,
		"token is ", "password for ", "Cookie: a=b; ", "cookie: ", "Authorization: Bearer ", "basic ", "auth: ", "sudo -S ", "echo a | chpasswd ", "echo | passwd ", "LS0tLS1CRUdJTi",
		"name: password value: ", `"password","value":`, "key", "key=", "pass", "a.acc_", "1Q~", "-us1", ":AA", "t1.", "\\", `\"`, "'", "<password>", `password">`,
	}
	for _, tc := range planted {
		pieces = append(pieces, strings.NewReplacer("«", "", "»", "", "\n", " ").Replace(tc.text))
	}
	const size = 128 << 10
	for _, piece := range pieces {
		line := []byte(strings.Repeat(piece, size/len(piece)) + "\n")
		began := time.Now()
		New([]byte("k")).Line(line)
		require.Less(t, time.Since(began), 10*time.Second, piece) // where each piece looks at all of the line it takes minutes
	}
}
