//go:build linux

package collect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/collect/held"
)

// dumpFile is a file that a daemon wrote because it was sent SIGUSR1.
type dumpFile struct {
	bundle.DumpFile
	Dir  string // of a daemon, as it sees it
	File held.File
	// Caused says that the file is there because of this collection: it was not before the signal.
	Caused bool
}

// openDumpDir opens a directory as a process sees it.
func openDumpDir(p *process, dir string) (*held.Dir, error) {
	return held.Open(fmt.Sprintf("/proc/%d/root", p.PID), dir, p.fileUser())
}

// fileUser is the user whom the files of a process belong to.
func (p *process) fileUser() uint32 {
	status, _, _ := readFile(fmt.Sprintf("/proc/%d/status", p.PID), 16<<10)
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); len(words) == 5 && words[0] == "Uid:" {
			return uint32(parseNumber(words[4])) //nolint:gosec,nolintlint // the kernel's own uid_t
		}
	}
	return 0
}

// removeDumps removes files that daemons wrote for this collection. It writes a list of what it
// did.
func removeDumps(t *task, out itemWriter) result {
	var g guard
	for i := range t.Dumps {
		f := &t.Dumps[i]
		r := g.try(t.Bound, func() error {
			dir, err := openDumpDir(&process{PID: f.PID}, f.Dir)
			if err != nil {
				return err
			}
			defer dir.Close()
			return dir.Remove(&f.File)
		})
		said := "removed"
		if f.Removed = r.outcome == ""; !f.Removed {
			f.Why, said = r.why, "not removed: "+r.why
		}
		fmt.Fprintf(out, "%s of %s (PID %d): %s\n", f.Path, f.Writer, f.PID, said)
		out.sendNote(note{Dump: f})
	}
	return result{}
}

// collectRemovals removes what the signals of this collection left on the node, as far as the
// bundle has it.
func collectRemovals(c *collector, s *step) {
	t := &task{Do: "remove", Bound: fileBound, Items: []want{{Name: "dumps/removed.txt", Source: "unlink"}}}
	for i := range c.dumpFiles {
		if f := &c.dumpFiles[i]; f.Caused && (f.Item == "" || c.isWhole(f.Item)) {
			t.Dumps = append(t.Dumps, *f)
		}
	}
	why := ""
	if len(t.Dumps) == 0 {
		why = "no file is there because of this collection"
	}
	c.runUnless(why, t, s)
}

// isWhole says that the bundle has all of an item.
func (c *collector) isWhole(name string) bool {
	return slices.ContainsFunc(c.manifest.Items, func(i bundle.Item) bool {
		return strings.TrimSuffix(i.Name, ".gz") == name && i.Outcome == bundle.OK && i.SHA256 != ""
	})
}

// noteDump keeps what a helper found out about a dump file. A daemon can write the same file again.
func (c *collector) noteDump(f *dumpFile) {
	same := func(g dumpFile) bool { return g.PID == f.PID && g.Path == f.Path }
	if i := slices.IndexFunc(c.dumpFiles, same); i >= 0 {
		c.dumpFiles[i] = *f
		return
	}
	c.dumpFiles = append(c.dumpFiles, *f)
}
