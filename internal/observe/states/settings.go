package states

import (
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// setting is one row of a configuration: where it stands, and the fact that it is.
type setting struct {
	path string // its names, blanks in between; * stands for any one
	fact string // the name of the fact; a * in it is what the last * of path stands for
	// value turns what is written into the fact's value, empty for none; nil takes it as it is.
	value func(string) string
}

// matchPath says whether a path is the setting's; last is what its last * stands for.
func (s *setting) matchPath(path []string) (last string, ok bool) {
	i := 0
	for name := range strings.SplitSeq(s.path, " ") {
		if i == len(path) || name != "*" && name != path[i] {
			return "", false
		}
		if name == "*" {
			last = path[i]
		}
		i++
	}
	return last, i == len(path)
}

// tomlSettings: containerd's config.toml, version 1 (plugins.cri), 2 (io.containerd.grpc.v1.cri)
// and 3 (io.containerd.cri.v1.*, containerd 2.x); CRI-O's crio.conf.
var tomlSettings = []setting{
	{"plugins * containerd snapshotter", "containerd.snapshotter", nil},
	{"plugins io.containerd.cri.v1.images snapshotter", "containerd.snapshotter", nil},
	{"plugins * containerd default_runtime_name", "containerd.default-runtime", nil},
	{"plugins * containerd runtimes runc runtime_type", "containerd.runtime-type", nil},
	{"plugins cri systemd_cgroup", "containerd.systemd-cgroup", onlyTrue},
	{"plugins * drain_exec_sync_io_timeout", "containerd.drain-exec-sync-io-timeout", nil},
	{"plugins io.containerd.nri.v1.nri disable", "containerd.nri", enabledOrNot},
	{"grpc max_recv_message_size", "containerd.max-recv-message-size", nil},
	{"grpc max_send_message_size", "containerd.max-send-message-size", nil},
	{"debug level", "containerd.log-level", nil},
	{"timeouts *", "containerd.timeout.*", nil},
	{"root", "containerd.root", onlyNaming("containerd")},
	{"state", "containerd.state", onlyNaming("containerd")},
	{"crio runtime cgroup_manager", "crio.cgroup-manager", nil},
	{"crio runtime log_level", "crio.log-level", nil},
	{"crio runtime pids_limit", "crio.pids-limit", nil},
	{"crio storage_driver", "crio.storage-driver", nil},
}

// onlyTrue leaves out a no: containerd writes systemd_cgroup = false also where the runtime's own
// option says yes.
func onlyTrue(s string) string {
	if s == "true" {
		return s
	}
	return ""
}

func enabledOrNot(s string) string {
	if s == "true" {
		return "disabled"
	}
	return "enabled"
}

// onlyNaming takes a value only where it names the program: root and state are common words.
func onlyNaming(program string) func(string) string {
	return func(s string) string {
		if strings.Contains(s, program) {
			return s
		}
		return ""
	}
}

// timeoutPrefix begins the names of containerd's timeouts.
const timeoutPrefix = "io.containerd.timeout."

// appendSettings appends the facts that the rows of a table make of a datum.
func appendSettings(dst []event.Event, table []setting, e *snapshots.Datum) []event.Event {
	for i := range table {
		s := &table[i]
		last, ok := s.matchPath(e.Path)
		if !ok {
			continue
		}
		value := e.Value
		if s.value != nil {
			value = s.value(value)
		}
		dst = addFact(dst, facts.Config, strings.Replace(s.fact, "*", strings.TrimPrefix(last, timeoutPrefix), 1), value, e)
	}
	return dst
}

// settings reads a configuration of containerd or CRI-O.
type settings struct {
	table    []setting
	runtimes []runtimeOption
	fallback string // default_runtime_name
	version  *snapshots.Datum
	ours     bool // it has plugins of containerd
	options  []string
	optionsQ event.Quote
}

// runtimeOption is SystemdCgroup of one runtime.
type runtimeOption struct {
	runtime, value string
	quote          event.Quote
}

func (s *settings) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	p := e.Path
	if len(p) == 0 {
		return dst
	}
	s.ours = s.ours || p[0] == "plugins" || p[0] == "grpc"
	switch n := len(p); {
	case n == 1 && p[0] == "version":
		version := *e
		s.version = &version
	case n == 7 && p[2] == "containerd" && p[3] == "runtimes" && p[6] == "SystemdCgroup":
		s.runtimes = append(s.runtimes, runtimeOption{p[4], e.Value, e.Quote()})
	case n >= 3 && strings.HasSuffix(p[1], "overlayfs") && p[2] == "mount_options":
		s.optionsQ = e.Quote()
		if n == 4 {
			s.options = append(s.options, strconv.Quote(e.Value))
		}
	case n == 4 && p[2] == "containerd" && p[3] == "default_runtime_name":
		s.fallback = e.Value
	}
	return markConfigured(appendSettings(dst, s.table, e), len(dst))
}

func (s *settings) finishFile(dst []event.Event) []event.Event {
	before := len(dst)
	if s.version != nil && s.ours {
		dst = addFact(dst, facts.Config, "containerd.config-version", s.version.Value, s.version)
	}
	if s.optionsQ.Text != "" {
		dst = facts.Append(
			dst, facts.Config, "containerd.overlay-mount-options", "["+strings.Join(s.options, ", ")+"]",
			s.optionsQ,
		)
	}
	return markConfigured(addRuntime(dst, s.runtimes, s.fallback), before)
}

// markConfigured marks facts of a file, which the running program need not have read, or may
// overrule by a flag.
func markConfigured(dst []event.Event, from int) []event.Event {
	for i := from; i < len(dst); i++ {
		dst[i].AddFields(event.FieldBasis.Text("configured"))
	}
	return dst
}

// addRuntime tells the cgroup driver of the default runtime. That of another one decides nothing.
func addRuntime(dst []event.Event, all []runtimeOption, name string) []event.Event {
	if name == "" {
		name = "runc"
	}
	for _, r := range all {
		if r.runtime == name {
			dst = facts.Append(dst, facts.Config, "containerd.systemd-cgroup", r.value, r.quote)
		}
	}
	return dst
}
