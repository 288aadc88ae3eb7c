//go:build linux

package collect

import (
	"bufio"
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
	"github.com/plegdiag/plegdiag/internal/parse/journal"
)

// journalDirs are where journald keeps its files: in memory, and on a disk.
var journalDirs = []string{"/run/log/journal", "/var/log/journal"}

// maxJournals is how many journal files are read at most: the youngest.
const maxJournals = 16

// collectJournals runs journalctl, which reads the journal's files and asks no daemon. Where it
// fails or hangs, and where --journal names files, they are read without it.
func collectJournals(c *collector, s *step) {
	if c.opt.Journal != "" {
		c.collectJournalFiles(s, []string{c.opt.Journal})
		return
	}
	before := len(c.manifest.Items)
	since := c.journalStart()
	silent := ""
	for _, j := range journals {
		c.runUnless(silent, journalTask("journal/"+j.name+".export", since, j.args...), s)
		if i := len(c.manifest.Items) - 1; i >= 0 && isSilent(&c.manifest.Items[i]) {
			silent = "journalctl gave nothing for " + c.manifest.Items[i].Name
		}
	}
	if journalctlFailed(c.manifest.Items[before:]) {
		c.collectJournalFiles(s, journalDirs)
	}
}

// journalTask exports the entries of the journal since a moment that args select, as the item name.
func journalTask(name string, since time.Time, args ...string) *task {
	fields := "--output-fields=" + strings.Join(journalFields, ",")
	argv := []string{"journalctl", "--no-pager", "-q", "-o", "export", fields, fmt.Sprintf("--since=@%d", since.Unix())}
	return execTask(name, append(argv, args...)...)
}

// isSilent says that a program was waited for in vain. Waiting for it again would cost the time of
// later steps.
func isSilent(i *bundle.Item) bool {
	return i.Bytes == 0 && (i.Outcome == bundle.Timeout || i.Outcome == bundle.Stuck)
}

// journalctlFailed says that an export of journalctl is missing.
func journalctlFailed(items []bundle.Item) bool {
	return slices.ContainsFunc(items, func(i bundle.Item) bool {
		return slices.Contains([]bundle.Outcome{bundle.Timeout, bundle.Stuck, bundle.Failed, bundle.Absent}, i.Outcome)
	})
}

func (c *collector) collectJournalFiles(s *step, dirs []string) {
	t := &task{Do: "journals", Bound: fileBound, Since: c.journalStart()}
	for _, dir := range dirs {
		t.Items = append(t.Items, want{Name: "journal/files", Source: filepath.Join(dir, "*")})
	}
	c.runTask(t, s)
}

// exportJournals writes the entries of journal files as journalctl -o export does, the newest file
// first: there can be more than there is time for. journald's own files cannot be redacted, nor cut
// to their newest part.
func exportJournals(t *task, out *frames) {
	var g guard
	var files []journalFile
	for _, w := range t.Items {
		found, r := tryFor(&g, t.Bound, func() ([]journalFile, error) {
			return findJournals(strings.TrimSuffix(w.Source, "/*"), t.Since)
		})
		if r.outcome != "" {
			out.beginItem(w.Name, w.Source)
			out.endItem(w.Name, r)
			continue
		}
		files = append(files, found...)
	}
	slices.SortStableFunc(files, func(a, b journalFile) int { return a.changed.Compare(b.changed) })
	for _, f := range slices.Backward(files[max(0, len(files)-maxJournals):]) {
		name := "journal/files/" + strings.TrimSuffix(filepath.Base(f.path), ".journal") + ".export"
		out.beginItem(name, f.path)
		out.endItem(name, resultOf(f.exportEntries(t.Since, itemWriter{out, name}.buffered())))
	}
}

// journalFile is a file of a journal.
type journalFile struct {
	path    string
	changed time.Time
}

// findJournals returns the files of the system's journal below a directory that were written since
// a moment.
func findJournals(dir string, since time.Time) ([]journalFile, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, withoutPath(err)
	}
	var all []journalFile
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".journal") || strings.HasPrefix(d.Name(), "user-") {
			return nil //nolint:nilerr // one that cannot be read does not count
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() && info.ModTime().After(since) {
			all = append(all, journalFile{path, info.ModTime()})
		}
		return nil
	})
	return all, err
}

// exportEntries writes the entries of the wanted units. The file is mapped, and pages that were
// read are released: it can be larger than this process's memory limit.
func (f *journalFile) exportEntries(since time.Time, w *bufio.Writer) error {
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
	defer w.Flush()
	for e, err := range journal.Entries(file, since, func(uint64) { _ = unix.Madvise(file, unix.MADV_DONTNEED) }) {
		if err != nil {
			return err
		}
		if isWantedEntry(e.Fields) {
			_, _ = w.Write(appendEntry(w.AvailableBuffer(), &e))
		}
	}
	return nil
}

// isWantedEntry says that an entry is one that journalctl would be asked for.
func isWantedEntry(fields [][]byte) bool {
	return slices.ContainsFunc(fields, func(f []byte) bool {
		switch name, value, _ := bytes.Cut(f, []byte{'='}); string(name) {
		case "_PID":
			return string(value) == "1"
		case "_TRANSPORT":
			return string(value) == "kernel"
		case "SYSLOG_IDENTIFIER":
			return string(value) == "sudo"
		case "_SYSTEMD_UNIT", "UNIT":
			return slices.Contains(journalUnits, strings.TrimSuffix(string(value), ".service"))
		}
		return false
	})
}

// appendEntry writes an entry in journald's export format: a field of one line as it is, any other
// with its length.
func appendEntry(dst []byte, e *journal.Entry) []byte {
	dst = fmt.Appendf(dst, "__CURSOR=b=%s;m=%x\n__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n",
		e.Boot, e.Monotonic, e.Time.UnixMicro(), e.Monotonic, e.Boot)
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
