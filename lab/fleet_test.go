//go:build lab

package lab

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Of the fleet's bundles.
const (
	fleetBundles = 300
	fleetMemory  = "300M" // --memory; the bundle hog needs more
)

// TestFleet runs the Job of fleet/kubernetes on two nodes of a real cluster, over bundles of which
// three are bad. One pod is killed, one node is drained meanwhile. In the end the rows are those
// that one machine makes.
func TestFleet(t *testing.T) {
	if !*onCluster || *onCRIO || *debianContainerd {
		t.Skip("it runs with -cluster alone")
	}
	shared := filepath.Join(theRun.dir, "shared")
	writeBundles(t, filepath.Join(shared, "bundles"))
	require.NoError(t, os.Mkdir(filepath.Join(shared, "results"), 0o777))
	require.NoError(t, os.Chmod(filepath.Join(shared, "results"), 0o777)) // the pods are not root
	one, two := bootFleetNode(t, "fleet-1"), bootFleetNode(t, "fleet-2")
	c := theRun.cluster

	began := time.Now()
	_, err := c.kubectl("apply", "-k", writeOverlay(t))
	require.NoError(t, err)
	rows := func() int { done, _ := os.ReadDir(filepath.Join(shared, "results", "rows")); return len(done) }
	one.waitFor(3*time.Minute, "rows", func() bool { return rows() >= 10 })
	killed := one
	one.waitFor(time.Minute, "process of a pod", func() bool { // of the node that has one
		for _, killed = range []*node{one, two} {
			if _, err := killed.runCommand("pkill", "-KILL", "-o", "-f", "^/plegdiag batch"); err == nil {
				return true
			}
		}
		return false
	})
	t.Logf("%s: the process of a pod on %s is killed, %d rows are there", time.Since(began).Round(time.Second), killed.name, rows())
	_, err = c.kubectl("drain", two.name, "--force", "--ignore-daemonsets", "--timeout=60s", "--grace-period=5")
	require.NoError(t, err)
	t.Logf("%s: %s is drained, %d rows are there", time.Since(began).Round(time.Second), two.name, rows())
	var job jobStatus
	one.waitFor(8*time.Minute, "end of the Job", func() bool { job = c.readJob(t); return job.is("Complete") || job.is("Failed") }, func() string {
		out, _ := c.kubectl("get", "pods", "-o", "wide")
		return out
	})
	t.Logf("%s: %+v", time.Since(began).Round(time.Second), job)
	require.True(t, job.is("Complete"))
	require.Equal(t, "0-3", job.CompletedIndexes)
	require.GreaterOrEqual(t, job.Failed, 1, "the pod whose process was killed")

	alone := filepath.Join(t.TempDir(), "alone")
	began = time.Now()
	out, err := exec.Command("nice", filepath.Join(theRun.binDir(), "plegdiag"), "batch", filepath.Join(shared, "bundles"), "--out", alone, "--memory", fleetMemory, "--label", "cluster=lab").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("on one machine: %s\n%s", time.Since(began).Round(time.Second), out)
	got, want := readFleetRows(t, filepath.Join(shared, "results", "rows.jsonl")), readFleetRows(t, filepath.Join(alone, "rows.jsonl"))
	require.Len(t, want, fleetBundles)
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)), "the bundles")
	for bundle := range want {
		require.Equal(t, want[bundle], got[bundle])
	}
	failed := 0
	for _, all := range got {
		if all[0]["state"] == "failed" {
			t.Log(all[0]["reason"])
			failed++
		}
	}
	require.Equal(t, 3, failed, "the bomb, the one that is cut, the one that needs too much memory")
}

// bootFleetNode boots a node of the cluster that has the image of plegdiag.
func bootFleetNode(t *testing.T, name string) *node {
	n := theRun.boot(t, name, "")
	n.mustRun("ctr", "-n", "k8s.io", "images", "import", "/opt/lab/plegdiag.tar")
	return n
}

// writeOverlay writes what of fleet/kubernetes/base is the lab's: where the bundles are, and the
// image.
func writeOverlay(t *testing.T) (dir string) {
	dir = t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "base"), os.DirFS(filepath.Join(root, "fleet", "kubernetes", "base"))))
	name, tag, _ := strings.Cut(plegdiagImage, ":")
	overlay := fmt.Sprintf(`resources: [base]
images: [{name: registry.example.com/plegdiag, newName: %s, newTag: "%s"}]
patches:
  - target: {kind: Job}
    patch: |
      - {op: replace, path: /spec/template/spec/volumes/0, value: {name: bundles, hostPath: {path: %s/bundles}}}
      - {op: replace, path: /spec/template/spec/volumes/1, value: {name: results, hostPath: {path: %s/results}}}
      - {op: replace, path: /spec/template/spec/containers/0/resources, value: {requests: {cpu: 100m}}}
      - {op: add, path: /spec/template/spec/containers/0/args/-, value: --memory=%s}
      - {op: add, path: /spec/template/spec/containers/0/args/-, value: --label=cluster=lab}
`, name, tag, sharedDir, sharedDir, fleetMemory)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(overlay), 0o644))
	return dir
}

// jobStatus is the status of a Job.
type jobStatus struct {
	Succeeded, Failed int
	CompletedIndexes  string
	Conditions        []condition
}

func (j *jobStatus) is(kind string) bool {
	return slices.ContainsFunc(j.Conditions, func(c condition) bool { return c.Type == kind && c.Status == "True" })
}

func (c *cluster) readJob(t *testing.T) jobStatus {
	var job struct{ Status jobStatus }
	out, err := c.kubectl("get", "job", "plegdiag-batch", "-o", "json")
	if err == nil {
		require.NoError(t, json.Unmarshal([]byte(out), &job))
	}
	return job.Status
}

// readFleetRows reads rows by their bundle, without what tells the machines apart: the path.
func readFleetRows(t *testing.T, file string) map[string][]map[string]any {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	all := map[string][]map[string]any{}
	for dec := json.NewDecoder(bytes.NewReader(text)); ; {
		var row map[string]any
		if err := dec.Decode(&row); err == io.EOF {
			return all
		} else {
			require.NoError(t, err)
		}
		bundle, _ := row["bundle"].(string)
		path, _ := row["path"].(string)
		reason, _ := row["reason"].(string)
		row["path"], row["reason"] = filepath.Base(path), strings.ReplaceAll(reason, filepath.Dir(path)+"/", "")
		all[bundle] = append(all[bundle], row)
	}
}

// writeBundles writes the bundles of a fleet: incidents of the repository, each often, on nodes
// with other versions; a bomb, one that is cut, and one that needs more memory than it may have.
func writeBundles(t *testing.T, dir string) {
	require.NoError(t, os.MkdirAll(dir, 0o755))
	random := rand.New(rand.NewPCG(19, 5))
	var incidents [][]file
	for _, pattern := range []string{"lab-*/bundle.tgz", "tickets/*/bundle"} {
		found, err := filepath.Glob(filepath.Join(root, "testdata", pattern))
		require.NoError(t, err)
		for _, path := range found {
			incidents = append(incidents, readFiles(t, path))
		}
	}
	require.NotEmpty(t, incidents)
	for i := range fleetBundles - 3 {
		version := fmt.Sprintf("Linux node-%d 5.10.0-%d-amd64 #1 SMP Debian x86_64 GNU/Linux\n", i, 10+random.IntN(12))
		zone := fmt.Sprintf(`{"fleet":{"zone":"zone-%c","bundle":%d}}`, 'a'+rune(random.IntN(3)), i)
		files := append(slices.Clone(incidents[i%len(incidents)]), file{name: "versions/uname.txt", text: []byte(version)}, file{name: "fleet.json", text: []byte(zone)})
		writeBundle(t, filepath.Join(dir, fmt.Sprintf("bundle-%03d.tgz", i)), files, 0)
	}
	writeBundle(t, filepath.Join(dir, "cut.tgz"), incidents[0], 30)
	var goroutines bytes.Buffer
	for i := range 400_000 {
		fmt.Fprintf(&goroutines, "goroutine %d [semacquire, %d minutes]:\nsync.runtime_SemacquireMutex(0xc%09x, 0x0, 0x1)\n\t/usr/local/go/src/runtime/sema.go:77 +0x26\nmain.f%d(0xc000000000)\n\t/src/main%d.go:1 +0x1\n\n", i+1, i%90+1, i, i, i)
	}
	writeBundle(t, filepath.Join(dir, "hog.tgz"), []file{{name: "dumps/containerd.stacks.log", text: goroutines.Bytes()}}, 0)
	bomb, err := os.Create(filepath.Join(dir, "bomb.tgz"))
	require.NoError(t, err)
	zip := gzip.NewWriter(bomb)
	_, err = io.CopyN(zip, zeros{}, 300<<20)
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	require.NoError(t, bomb.Close())
}

// writeBundle writes files as a bundle; of one that is cut only so many bytes.
func writeBundle(t *testing.T, path string, files []file, cut int) {
	text, err := packTar(files)
	require.NoError(t, err)
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, err = zip.Write(text)
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	if cut > 0 {
		b.Truncate(cut)
	}
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// readFiles reads a bundle of the repository, an archive or a directory.
func readFiles(t *testing.T, path string) (files []file) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		require.NoError(t, filepath.WalkDir(path, func(name string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(name)
			files = append(files, file{name: strings.TrimPrefix(name, path+"/"), text: text})
			return err
		}))
		return files
	}
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	zip, err := gzip.NewReader(f)
	require.NoError(t, err)
	for in := tar.NewReader(zip); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		if head.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(in)
		require.NoError(t, err)
		files = append(files, file{name: head.Name, text: text})
	}
}
