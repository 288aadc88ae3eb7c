package engines

import (
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
)

// TestStore holds that what a node sends to a presigned URL of an object store is there whole, and
// that what is copied from the store can be analysed.
func TestStore(t *testing.T) {
	server := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	client, err := minio.New(at.Host, &minio.Options{Creds: credentials.NewStaticV4("key", "secret", ""), BucketLookup: minio.BucketLookupPath, Region: "us-east-1"})
	require.NoError(t, err)
	require.NoError(t, client.MakeBucket(t.Context(), "bundles", minio.MakeBucketOptions{}))
	signed, err := client.PresignedPutObject(t.Context(), "bundles", "node-1.tgz", time.Hour)
	require.NoError(t, err)

	dir := t.TempDir()
	program := buildProgram(t, dir)
	file := filepath.Join(dir, "put-url")
	require.NoError(t, os.WriteFile(file, []byte(signed.String()+"\n"), 0o600))
	kept := filepath.Join(dir, "kept.tgz")
	out, err := exec.Command(program, "collect", "--only", "clock,node", "--min-free", "0", "-o", kept, "--put-url-file", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), signed.Query().Get("X-Amz-Signature"), "the URL is a secret")

	copied := filepath.Join(dir, "bundles", "node-1.tgz")
	require.NoError(t, client.FGetObject(t.Context(), "bundles", "node-1.tgz", copied, minio.GetObjectOptions{}))
	want, err := os.ReadFile(kept)
	require.NoError(t, err)
	got, err := os.ReadFile(copied)
	require.NoError(t, err)
	require.Equal(t, want, got)
	out, err = exec.Command(program, "batch", filepath.Dir(copied), "--out", filepath.Join(dir, "results")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "1 bundle: 1 analysed, 0 done before\n")
}
