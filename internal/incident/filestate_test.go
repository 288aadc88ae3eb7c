package incident_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules/language"
)

// The state of a cgroup is one fact, whether somebody ran cat or a trace shows what a program read
// or wrote. What was read last counts: runc freezes a cgroup for a moment while it sets its limits.
func TestStateOfCgroupInTrace(t *testing.T) {
	const (
		group = "/sys/fs/cgroup/freezer/kubepods/burstable/x"
		file  = group + "/freezer.state"
	)
	for name, tt := range map[string]struct{ text, frozen, path string }{
		"cat":                      {file + ":FROZEN\n", "true", group},
		"opened before":            {"openat(AT_FDCWD, \"" + file + "\", O_RDONLY|O_CLOEXEC) = 7\nread(7, \"FREEZING\\n\", 512) = 9\nread(7, \"\", 1527) = 0\nclose(7) = 0\n", "true", group},
		"with -f and times":        {"[pid 11] 10:00:01.000000 open(\"" + file + "\", O_RDONLY) = 7 <0.000010>\n[pid 11] 10:00:01.000100 pread64(7, \"FROZEN\\n\", 32, 0) = 7 <0.000010>\n", "true", group},
		"with -y":                  {"11 read(7<" + file + ">, \"FREEZING\\n\", 512) = 9\n11 read(7<" + file + ">, \"\", 503) = 0\n", "true", group},
		"written":                  {"openat(AT_FDCWD, \"" + file + "\", O_WRONLY|O_CLOEXEC) = 7\nwrite(7, \"FROZEN\", 6) = 6\n", "true", group},
		"below a directory":        {"openat(AT_FDCWD, \"/sys/fs/cgroup\", O_RDONLY|O_PATH) = 6\nopenat2(6, \"kubepods/x/cgroup.events\", {flags=O_RDONLY}, 24) = 7\nread(7, \"populated 1\\nfrozen 1\\n\", 4096) = 21\n", "true", "/sys/fs/cgroup/kubepods/x"},
		"another descriptor":       {"openat(AT_FDCWD, \"" + file + "\", O_RDONLY) = 7\nfcntl(7, F_DUPFD_CLOEXEC, 0) = 9\nread(9, \"FROZEN\\n\", 512) = 7\n", "true", group},
		"thawed again":             {"openat(AT_FDCWD, \"" + file + "\", O_RDWR) = 7\nwrite(7, \"FROZEN\", 6) = 6\nread(7, \"FREEZING\\n\", 512) = 9\nread(7, \"FROZEN\\n\", 512) = 7\nwrite(7, \"THAWED\", 6) = 6\n", "", ""},
		"the descriptor is closed": {"openat(AT_FDCWD, \"" + file + "\", O_RDONLY) = 7\nclose(7) = 0\nread(7, \"FROZEN\\n\", 512) = 7\n", "", ""},
		"a file of a container":    {"openat(AT_FDCWD, \"/data/freezer.state\", O_RDONLY) = 7\nread(7, \"FROZEN\\n\", 512) = 7\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte(tt.text), 0o600))
			inc, err := incident.Load(t.Context(), incident.Options{Inputs: incident.Inputs{Paths: []string{dir}}, Catalog: &language.Catalog{}})
			require.NoError(t, err)
			var found []*event.Event
			for _, e := range inc.Timeline.Events {
				if e.Kind == event.KindCgroup {
					found = append(found, e)
				}
			}
			if tt.frozen == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Equal(t, tt.frozen, found[0].FieldText(event.FieldFrozen))
			require.Equal(t, tt.path, found[0].FieldText(event.FieldPath))
		})
	}
}
