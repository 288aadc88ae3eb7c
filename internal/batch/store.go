//go:build linux

package batch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/plegdiag/plegdiag/internal/report/rows"
)

// Names below the directory for results.
const (
	rowsDir    = "rows"    // SHA256.jsonl: the rows of one bundle; unread-….jsonl of one that could not be read
	reportsDir = "reports" // SHA256.json
	lockName   = ".lock"
	runPattern = ".run-*" // what is not finished, of one run
)

// store is the directory for results. A bundle is done when its rows are there: they get their name
// last, and at once. Runs that share the directory exclude each other only for moments.
type store struct {
	dir    string
	labels map[string]string
	pages  bool // every report has a page of HTML beside it
	Identity
	temp  string   // the directory of this run
	alive *os.File // is locked as long as the run lives
}

// openStore makes what is missing of the directory, and removes what runs left that were killed.
func openStore(o *Options) (*store, error) {
	s := &store{dir: o.Out, labels: maps.Clone(o.Labels), pages: o.Pages, Identity: o.Identity}
	if s.labels == nil {
		s.labels = map[string]string{}
	}
	for _, dir := range []string{rowsDir, reportsDir} {
		if err := os.MkdirAll(filepath.Join(s.dir, dir), 0o755); err != nil {
			return nil, err
		}
	}
	err := s.changeLocked(func() (err error) {
		if err = s.removeDeadRuns(); err != nil {
			return err
		}
		if s.temp, err = os.MkdirTemp(s.dir, runPattern); err != nil {
			return err
		}
		s.alive, err = os.OpenFile(filepath.Join(s.temp, lockName), os.O_CREATE|os.O_RDWR, 0o644)
		if err == nil {
			err = flock(s.alive, unix.LOCK_SH)
		}
		return err
	})
	return s, err
}

// flock locks a file until it is closed. A file system without locks is no reason to stop: only
// runs at the same time would miss them.
func flock(file *os.File, how int) error {
	for {
		err := unix.Flock(int(file.Fd()), how)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EINVAL):
			return nil
		}
		return err
	}
}

// changeLocked calls change while no other run changes names in the directory.
func (s *store) changeLocked(change func() error) error {
	lock, err := os.OpenFile(filepath.Join(s.dir, lockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := flock(lock, unix.LOCK_EX); err != nil {
		return fmt.Errorf("%s: %w", lock.Name(), err)
	}
	return change()
}

// removeDeadRuns removes the directories of runs that do not live any more. On a file system
// without locks nothing tells, and they stay.
func (s *store) removeDeadRuns() error {
	dirs, err := filepath.Glob(filepath.Join(escapeGlob(s.dir), runPattern))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if isAlive(dir) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// isAlive says that the run of a directory lives. One without the file that it locks was killed
// when it removed the directory, or at its start: nobody is there now, while this run excludes the
// others.
func isAlive(dir string) bool {
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

var globbed = regexp.MustCompile(`[\\*?\[]`)

// escapeGlob makes a pattern that matches a path alone.
func escapeGlob(path string) string { return globbed.ReplaceAllString(path, `\$0`) }

// close removes what is not finished. What has its name by now survives a loss of power then.
func (s *store) close() error {
	err := os.RemoveAll(s.temp)
	for _, dir := range []string{rowsDir, reportsDir, "."} {
		err = errors.Join(err, syncDir(filepath.Join(s.dir, dir)))
	}
	return errors.Join(err, s.alive.Close())
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, unix.EINVAL) { // not every file system can
		return err
	}
	return nil
}

// workDir is an empty directory for the results of one bundle.
func (s *store) workDir(slot int) (string, error) {
	dir := filepath.Join(s.temp, strconv.Itoa(slot))
	return dir, errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755))
}

func (s *store) rowsPath(name string) string { return filepath.Join(s.dir, rowsDir, name+".jsonl") }

// readKnown reads the rows of a bundle that are there; nil if there are none, or none that can be
// read, or a report of them is missing.
func (s *store) readKnown(name string) []rows.Row {
	text, err := os.ReadFile(s.rowsPath(name))
	if err != nil {
		return nil
	}
	known, err := rows.Read(bytes.NewReader(text))
	if err != nil {
		return nil
	}
	for i := range known {
		if known[i].Report == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(s.dir, string(known[i].Report))); err != nil {
			return nil
		}
	}
	return known
}

// isMadeAlike says that rows were made by this version, with these rules and settings.
func (s *store) isMadeAlike(row *rows.Row) bool {
	return Identity{string(row.Version), string(row.Catalog), string(row.Settings)} == s.Identity
}

// hasPages says that every report of a bundle has its page, where this run makes them.
func (s *store) hasPages(known []rows.Row) bool {
	return !s.pages || !slices.ContainsFunc(known, func(row rows.Row) bool {
		_, err := os.Stat(filepath.Join(s.dir, pagePath(string(row.Report))))
		return row.Report != "" && err != nil
	})
}

// relabelRows gives the rows of a bundle that are still good the labels of this run, and the first
// of the names that it has. It returns them; nil if there are none.
func (s *store) relabelRows(sum, path string) (known []rows.Row, err error) {
	if known = s.readKnown(sum); known == nil || !s.isMadeAlike(&known[0]) || !s.hasPages(known) {
		return nil, nil
	}
	if s.chooseName(known, path) == known[0].Path && maps.Equal(known[0].Labels, s.labels) {
		return known, nil
	}
	return known, s.publishRows(sum, path, known)
}

// commit gives the results of a bundle their names: first the reports, then the rows. The reports
// are in dir, and on the disk.
func (s *store) commit(sum, path, dir string, found []rows.Row) error {
	names := map[rows.Text]rows.Text{"": ""}
	for i := range found {
		row := &found[i]
		if _, seen := names[row.Report]; !seen {
			ending := ".json"
			if n := len(names); n > 1 { // one bundle can hold several nodes
				ending = fmt.Sprintf("-%d.json", n)
			}
			names[row.Report] = rows.Text(reportsDir + "/" + sum + ending)
		}
	}
	for temp, name := range names {
		if temp == "" {
			continue
		}
		if err := s.moveReport(filepath.Join(dir, string(temp)), filepath.Join(s.dir, string(name))); err != nil {
			return err
		}
	}
	for i := range found {
		found[i].Bundle, found[i].Report = rows.Text(sum), names[found[i].Report]
	}
	if err := s.publishRows(sum, path, found); err != nil {
		return err
	}
	return errors.Join(s.removeOldReports(sum, len(names)-1), removeIfThere(s.rowsPath(unreadName(path))))
}

// moveReport gives a report its name, and its page, too. A page of an earlier report goes.
func (s *store) moveReport(from, to string) error {
	err := removeIfThere(pagePath(to))
	if s.pages && err == nil {
		err = os.Rename(pagePath(from), pagePath(to))
	}
	return errors.Join(err, os.Rename(from, to))
}

// removeOldReports removes the reports that an earlier version made of more nodes.
func (s *store) removeOldReports(sum string, made int) error {
	ending := ".json"
	for n := made + 1; ; n++ {
		if n > 1 {
			ending = fmt.Sprintf("-%d.json", n)
		}
		name := filepath.Join(s.dir, reportsDir, sum+ending)
		if err := removeIfThere(pagePath(name)); err != nil {
			return err
		}
		switch err := os.Remove(name); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
	}
}

func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// unreadName stands for the sum of a bundle that could not be read.
func unreadName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return "unread-" + hex.EncodeToString(sum[:])
}

// commitUnread notes that a bundle could not be read.
func (s *store) commitUnread(path string, failed []rows.Row) error {
	return s.publishRows(unreadName(path), path, failed)
}

// publishRows writes rows under their name, with what all rows of a run have.
func (s *store) publishRows(name, path string, all []rows.Row) error {
	for {
		at := s.chooseName(s.readKnown(name), path)
		temp, err := s.writeRows(at, all)
		if err != nil {
			return err
		}
		late := false
		err = s.changeLocked(func() error {
			if late = s.chooseName(s.readKnown(name), path) != at; late { // another run knows the bundle, too
				return os.Remove(temp)
			}
			return os.Rename(temp, s.rowsPath(name))
		})
		if err != nil || !late {
			return err
		}
	}
}

// chooseName is the name of a bundle, of which several can be known: the first one that is still
// there.
func (s *store) chooseName(known []rows.Row, path string) rows.Text {
	at := rows.NewPath(path)
	if known == nil || known[0].Path == "" || known[0].Path >= at {
		return at
	}
	if _, err := os.Lstat(string(known[0].Path)); err != nil {
		return at
	}
	return known[0].Path
}

// writeRows writes rows to the disk, into a file without its name yet.
func (s *store) writeRows(at rows.Text, all []rows.Row) (temp string, err error) {
	for i := range all {
		row := &all[i]
		row.Path, row.Labels = at, s.labels
		row.Version, row.Catalog, row.Settings = rows.Text(s.Version), rows.Text(s.Catalog), rows.Text(s.Settings)
	}
	file, err := os.CreateTemp(s.temp, "rows-*")
	if err != nil {
		return "", err
	}
	return file.Name(), errors.Join(rows.Write(file, all), file.Chmod(0o644), file.Sync(), file.Close())
}

// mergeRows writes the rows of all bundles into one file, in the order of their sums. It counts
// them.
func (s *store) mergeRows() (lines, bundles int, err error) {
	err = s.changeLocked(func() error {
		lines, bundles = 0, 0
		names, err := filepath.Glob(filepath.Join(escapeGlob(s.dir), rowsDir, "*.jsonl")) // in order
		if err != nil {
			return err
		}
		temp, err := os.CreateTemp(s.temp, "merged-*")
		if err != nil {
			return err
		}
		out := newLineWriter(temp)
		for _, name := range names {
			if err := copyFile(out, name); err != nil {
				return errors.Join(err, temp.Close())
			}
			bundles++
		}
		lines = out.lines
		if err := errors.Join(out.Flush(), temp.Chmod(0o644), temp.Sync(), temp.Close()); err != nil {
			return err
		}
		return os.Rename(temp.Name(), filepath.Join(s.dir, Merged))
	})
	return lines, bundles, err
}

func copyFile(w io.Writer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}
