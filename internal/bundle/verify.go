package bundle

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Verification is what Verify found.
type Verification struct {
	Root     string    // the root folder
	Files    int       // members that were checked
	Bytes    int64     // of them
	Manifest *Manifest // nil when the bundle was cut before it
	// Problems are sums that differ and files that are missing, unknown or cut. Empty means that
	// every byte is as it was written.
	Problems []string
}

// maxManifest bounds a manifest: a few hundred bytes an item.
const maxManifest = 64 << 20

// Verify compares the files of a collected bundle with the sums of its manifest, or of the members'
// headers where the manifest is missing. An error means that r is no bundle of this program.
func Verify(r io.Reader) (*Verification, error) {
	head := newHead(r)
	if !head.isTar() {
		return nil, errors.New("not a bundle: no tar archive")
	}
	v := &Verification{}
	sums := map[string]string{}
	members := tar.NewReader(head.content(Limits{}.orDefault()))
	for {
		h, err := members.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			v.addProblem("cut after %d files: %v", v.Files, err)
			break
		}
		if !v.checkMember(h, members, sums) {
			break
		}
	}
	if v.Files == 0 && v.Manifest == nil {
		return nil, errors.New("not a bundle of plegdiag collect: no member with a sum, no manifest")
	}
	v.compareSums(sums)
	return v, nil
}

// checkMember computes the sum of one file and compares it with that of its header. False ends the
// reading.
func (v *Verification) checkMember(h *tar.Header, r io.Reader, sums map[string]string) bool {
	root, name, ok := strings.Cut(h.Name, "/")
	if v.Root == "" {
		v.Root = root
	}
	if !ok || root != v.Root || h.Typeflag != tar.TypeReg {
		v.addProblem("%.200q is no file of the bundle", h.Name)
		return true
	}
	if _, twice := sums[name]; twice {
		v.addProblem("%.200q stands in the bundle twice", name)
		return true
	}
	var text []byte
	hash := sha256.New()
	var err error
	if name == ManifestName && h.Size <= maxManifest {
		text, err = io.ReadAll(r)
		hash.Write(text)
	} else {
		_, err = io.Copy(hash, r)
	}
	if err != nil {
		v.addProblem("%.200q is cut: %v", name, err)
		return false
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	sums[name] = sum
	if name == ManifestName {
		v.readManifest(text)
	}
	if want := h.PAXRecords[paxSHA256]; want != "" {
		v.Files++
		v.Bytes += h.Size
		if want != sum {
			v.addProblem("%.200q has changed: its sum is %s, its header says %.80q", name, sum, want)
		}
	}
	return true
}

func (v *Verification) readManifest(text []byte) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil || m.Schema != ManifestSchema {
		v.addProblem("%s cannot be read: schema %.40q, %v", ManifestName, m.Schema, err)
		return
	}
	v.Manifest = &m
}

// compareSums compares the sums of the files with those of the manifest.
func (v *Verification) compareSums(sums map[string]string) {
	if v.Manifest == nil {
		v.addProblem("no manifest: the collection did not come to its end")
		return
	}
	known := map[string]bool{ManifestName: true, "SHA256SUMS": true}
	for _, item := range v.Manifest.Items {
		if item.SHA256 == "" {
			continue
		}
		known[item.Name] = true
		switch sum, ok := sums[item.Name]; {
		case !ok:
			v.addProblem("%.200q is missing", item.Name)
		case sum != item.SHA256:
			v.addProblem("%.200q has changed: its sum is %s, the manifest says %.80q", item.Name, sum, item.SHA256)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if !known[name] {
			v.addProblem("%.200q is not in the manifest", name)
		}
	}
}

func (v *Verification) addProblem(format string, args ...any) {
	const enough = 1000
	if len(v.Problems) < enough {
		v.Problems = append(v.Problems, fmt.Sprintf(format, args...))
	}
}
