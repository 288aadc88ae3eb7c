package redact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// heldFile is a file that comes last, because it names the others with their sums.
type heldFile struct {
	file    bundle.File
	content []byte
}

const (
	sumsName    = "SHA256SUMS"
	maxManifest = 64 << 20
)

// isManifest says that a file is the manifest of a bundle that collect wrote, or its list of sums.
func isManifest(name string, head []byte) bool {
	switch path.Base(name) {
	case bundle.ManifestName:
		return bytes.HasPrefix(head, []byte(`{"schema":"`+bundle.ManifestSchema+`"`))
	case sumsName:
		first, _, _ := bytes.Cut(head, []byte(" "))
		return len(first) == 2*sha256.Size
	}
	return false
}

// hold keeps a manifest until the other files are written.
func (w *writer) hold(f *bundle.File, in io.Reader) error {
	content, err := io.ReadAll(io.LimitReader(in, maxManifest))
	if err != nil {
		w.note(f.Path, "cut: "+err.Error())
	}
	w.last = append(w.last, heldFile{*f, content})
	return nil
}

// writeHeld writes a manifest or a list of sums with what became of the files.
func (w *writer) writeHeld(held *heldFile) error {
	root := path.Dir(held.file.Path)
	text := held.content
	if path.Base(held.file.Path) == sumsName {
		text = w.renewSums(root, text)
	} else {
		text = w.renewManifest(root, text)
	}
	r := New(w.opt.Key)
	var clean bytes.Buffer
	r.Filter(&clean, text, true)
	w.count(&r.counts)
	w.spool.reset()
	if _, err := w.spool.Write(clean.Bytes()); err != nil {
		return err
	}
	w.sums[held.file.Path] = sum{hash: w.spool.sum(), bytes: w.spool.size}
	return w.writeSpool(w.headerOf(&held.file, held.file.Path))
}

// renewManifest gives the items of a manifest their sums. A manifest that cannot be read stays.
func (w *writer) renewManifest(root string, text []byte) []byte {
	var m bundle.Manifest
	if json.Unmarshal(text, &m) != nil {
		return text
	}
	ran := Counts{}
	for i := range m.Items {
		item := &m.Items[i]
		now, ok := w.sums[path.Join(root, item.Name)]
		switch {
		case !ok || item.SHA256 == "":
		case now.leftOut != "":
			item.Outcome, item.Why, item.Bytes, item.SHA256 = bundle.Skipped, now.leftOut, 0, ""
		default:
			item.SHA256, item.Bytes = now.hash, now.bytes
			item.Redacted += now.counts.Total()
			ran.Add(&now.counts)
		}
	}
	m.Redaction = true
	if m.Replaced == nil {
		m.Replaced = map[string]int{}
	}
	for rule, n := range ran.ByName() {
		m.Replaced[rule] += n
	}
	now, err := m.Encode()
	if err != nil {
		return text
	}
	return now
}

// renewSums gives every line of a list of sums the sum of today.
func (w *writer) renewSums(root string, text []byte) []byte {
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		was, name, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "  ")
		now, known := w.sums[path.Join(root, name)]
		switch _, err := hex.DecodeString(was); {
		case !ok || !known || err != nil || now.leftOut != "":
			out.WriteString(line)
		default:
			fmt.Fprintf(&out, "%s  %s\n", now.hash, name)
		}
	}
	return out.Bytes()
}
