package collect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/parse/logs"
)

// journalDirs are where journald keeps its files: in memory, and on a disk.
var journalDirs = []string{"/run/log/journal", "/var/log/journal"}

// maxJournals bounds the files of journals that are read: the youngest.
const maxJournals = 16

// collectJournals asks journalctl, which reads the files of the journal itself and no daemon. Where it fails, or hangs, and where
// --journal names files, they are read without it.
func collectJournals(c *collector, s *step) {
	if c.opt.Journal != "" {
		c.journalFiles(s, []string{c.opt.Journal})
		return
	}
	before := len(c.manifest.Items)
	since := fmt.Sprintf("--since=@%d", now().Add(-c.opt.Since).Unix())
	for _, j := range journals {
		argv := append([]string{"journalctl", "--no-pager", "-q", "-o", "export", "--output-fields=" + strings.Join(journalFields, ","), since}, j.args...)
		c.run(&task{Do: "exec", Argv: argv, Items: []want{{Name: "journal/" + j.name + ".export", Source: strings.Join(argv, " ")}}}, s, nil)
	}
	if journalLost(c.manifest.Items[before:]) {
		c.journalFiles(s, journalDirs)
	}
}

// journalLost says that journalctl did not do its work.
func journalLost(items []bundle.Item) bool {
	return slices.ContainsFunc(items, func(i bundle.Item) bool {
		return slices.Contains([]bundle.Outcome{bundle.Timeout, bundle.Stuck, bundle.Failed, bundle.Absent}, i.Outcome)
	})
}

func (c *collector) journalFiles(s *step, dirs []string) {
	t := &task{Do: "journals", Bound: fileBound, Since: now().Add(-c.opt.Since)}
	for _, dir := range dirs {
		t.Items = append(t.Items, want{Name: "journal/files", Source: filepath.Join(dir, "*")})
	}
	c.run(t, s, nil)
}

// exportJournals writes what the files of journals hold as journalctl -o export does, the oldest file first: a file that
// journald keeps cannot be redacted, and the newest part of it cannot be cut out.
func exportJournals(t *task, out *frames) {
	var g guard
	var files []journalFile
	for _, w := range t.Items {
		found := make(chan []journalFile, 1)
		r := g.try(t.Bound, func() error {
			all, err := findJournals(strings.TrimSuffix(w.Source, "/*"), t.Since)
			found <- all
			return err
		})
		if r.outcome != "" {
			out.begin(w.Name, w.Source)
			out.end(w.Name, r)
			continue
		}
		files = append(files, <-found...)
	}
	slices.SortStableFunc(files, func(a, b journalFile) int { return a.changed.Compare(b.changed) })
	for _, f := range files[max(0, len(files)-maxJournals):] {
		name := "journal/files/" + strings.TrimSuffix(filepath.Base(f.path), ".journal") + ".export"
		out.begin(name, f.path)
		out.end(name, resultOf(f.export(t.Since, writerOf{out, name})))
	}
}

// journalFile is a file of a journal.
type journalFile struct {
	path    string
	changed time.Time
}

// findJournals are the files of the system's journal that were written to since a moment, in a directory and those below it.
func findJournals(dir string, since time.Time) ([]journalFile, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, unpathed(err)
	}
	var all []journalFile
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".journal") || strings.HasPrefix(d.Name(), "user-") {
			return nil //nolint:nilerr // one that cannot be looked at is none
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().After(since) {
			all = append(all, journalFile{path, info.ModTime()})
		}
		return nil
	})
	return all, err
}

// export writes the entries of the units of interest. The file is mapped, and what was looked at is let go of: it may be larger than the memory
// that this process should have.
func (f *journalFile) export(since time.Time, out writerOf) error {
	fd, err := unix.Open(f.path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOATIME, 0)
	if errors.Is(err, unix.EPERM) {
		fd, err = unix.Open(f.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	file, err := unix.Mmap(fd, 0, int(info.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Munmap(file) }()
	text := make([]byte, 0, 64<<10)
	for e, err := range logs.JournalEntries(file, since, func(uint64) { _ = unix.Madvise(file, unix.MADV_DONTNEED) }) {
		if err != nil {
			out.data(out.name, text)
			return err
		}
		if !wantedEntry(e.Fields) {
			continue
		}
		if text = appendEntry(text, &e); len(text) > 60<<10 {
			out.data(out.name, text)
			text = text[:0]
		}
	}
	out.data(out.name, text)
	return nil
}

// wantedEntry says that an entry is one of those that collect asks journalctl for.
func wantedEntry(fields [][]byte) bool {
	for _, f := range fields {
		name, value, _ := bytes.Cut(f, []byte{'='})
		switch string(name) {
		case "_PID":
			if string(value) == "1" {
				return true
			}
		case "_TRANSPORT":
			if string(value) == "kernel" {
				return true
			}
		case "SYSLOG_IDENTIFIER":
			if string(value) == "sudo" {
				return true
			}
		case "_SYSTEMD_UNIT", "UNIT":
			if slices.Contains(journalUnits, strings.TrimSuffix(string(value), ".service")) {
				return true
			}
		}
	}
	return false
}

// appendEntry writes an entry in journald's export format: a field of one line as it is, any other with its length.
func appendEntry(dst []byte, e *logs.JournalEntry) []byte {
	dst = fmt.Appendf(dst, "__CURSOR=b=%s;m=%x\n__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n", e.Boot, e.Monotonic, e.Time.UnixMicro(), e.Monotonic, e.Boot)
	for _, f := range e.Fields {
		name, value, _ := bytes.Cut(f, []byte{'='})
		if !slices.Contains(journalFields, string(name)) || string(name) == "_BOOT_ID" {
			continue
		}
		if !bytes.ContainsRune(value, '\n') {
			dst = append(append(dst, f...), '\n')
			continue
		}
		dst = append(append(dst, name...), '\n')
		dst = binary.LittleEndian.AppendUint64(dst, uint64(len(value)))
		dst = append(append(dst, value...), '\n')
	}
	return append(dst, '\n')
}
