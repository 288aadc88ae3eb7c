//go:build lab

package lab

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// image is an image of one layer, under all its names.
type image struct {
	names      []string
	layer      []byte
	entrypoint []string
}

// busyboxNames are the names under which busybox is imported: containerd's default for sandboxes,
// and the containers'.
var busyboxNames = []string{"registry.k8s.io/pause:3.6", "lab.example/busybox:1"}

// plegdiagImage is what --debug-pod runs, as docs/collecting.md says it is built.
const plegdiagImage = "lab.example/plegdiag:1"

// file is one file of a tar archive; a link where it has a target.
type file struct {
	name, target string
	text         []byte
}

func packTar(files []file) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.text)), Typeflag: tar.TypeReg}
		if f.target != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.target
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// writeImages writes busybox as an OCI layout, for containerd and CRI-O, and as a plain root file
// system, for docker import; and the built plegdiag as an image of its own.
func writeImages(dir string) error {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return err
	}
	busybox, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	layer, err := packTar([]file{
		{name: "bin/busybox", text: busybox},
		{name: "bin/sh", target: "busybox"},
		{name: "bin/sleep", target: "busybox"},
		{name: "etc/passwd", text: []byte("root:x:0:0::/:/bin/sh\n")},
		{name: "etc/group", text: []byte("root:x:0:\n")},
	})
	if err != nil {
		return err
	}
	plegdiag, err := os.ReadFile(filepath.Join(dir, "plegdiag"))
	if err != nil {
		return err
	}
	collector, err := packTar([]file{{name: "plegdiag", text: plegdiag}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "rootfs.tar"), layer, 0o644); err != nil {
		return err
	}
	for name, is := range map[string]image{
		"image.tar":    {busyboxNames, layer, []string{"/bin/busybox", "sleep", "1000000"}},
		"plegdiag.tar": {[]string{plegdiagImage}, collector, []string{"/plegdiag"}},
	} {
		layout, err := is.ociLayout()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), layout, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ociLayout is an archive in the layout of the OCI image specification.
func (is *image) ociLayout() ([]byte, error) {
	files := []file{{name: "oci-layout", text: []byte(`{"imageLayoutVersion":"1.0.0"}`)}}
	add := func(kind string, v any) (map[string]any, error) {
		blob, ok := v.([]byte)
		if !ok {
			var err error
			if blob, err = json.Marshal(v); err != nil {
				return nil, err
			}
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(blob))
		files = append(files, file{name: "blobs/sha256/" + sum, text: blob})
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": "sha256:" + sum, "size": len(blob)}, nil
	}
	l, err := add("layer.v1.tar", is.layer)
	if err != nil {
		return nil, err
	}
	config, err := add("config.v1+json", map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": is.entrypoint},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []any{l["digest"]}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := add("manifest.v1+json", map[string]any{"schemaVersion": 2, "config": config, "layers": []any{l}})
	if err != nil {
		return nil, err
	}
	var named []any
	for _, name := range is.names {
		named = append(named, map[string]any{
			"mediaType": manifest["mediaType"], "digest": manifest["digest"], "size": manifest["size"],
			"platform": map[string]string{"architecture": runtime.GOARCH, "os": "linux"}, "annotations": map[string]string{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name},
		})
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": named})
	if err != nil {
		return nil, err
	}
	return packTar(append(files, file{name: "index.json", text: index}))
}
