package runtimes

import (
	"strings"
	"sync"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// Runc is what runc says in the logs of those who run it, or hold its library: 1.0-rc1 to 1.5.
var Runc = table.Table{
	Component: "runc",
	Relays:    []string{"kubelet", "containerd", "dockerd", "crio", "systemd"},
	Rows: []table.Row{
		{[]string{"unable to freeze", "unable to thaw", "cgroup unexpectedly frozen"}, freezeFailed},
		{
			[]string{
				"OCI runtime error: ", "oci runtime error: ", "OCI runtime exec failed", "OCI runtime create failed", "OCI runtime start failed", "OCI runtime state failed",
				"starting container process caused", "unable to start container process", "runc did not terminate s",
				"init seccomp caused", "executable file not found in", "nvidia-container-cli: ", "unable to signal init: ",
			},
			runcFailed,
		},
		{
			[]string{"ailed to remove cgroup", "ailed to remove paths", "unable to remove path", "ailed to destroy cgroup", "unable to destroy cgroup paths"},
			cgroupBusy,
		},
	},
}

// freezeFailed: … caused: unable to freeze (runc ≥ 1.0-rc93, after trying for some seconds). Before
// runc says so it thaws the cgroup again. Into a cgroup that is there already, and frozen, it puts
// no container (≥ 1.1), nor does crun (≥ 1.28): "container's cgroup unexpectedly frozen".
func freezeFailed(r *event.Record) (event.Event, bool) {
	verb, says := "freeze", "runc cannot freeze a cgroup"
	switch {
	case strings.Contains(r.Raw, "unable to thaw"):
		verb, says = "thaw", "runc cannot thaw a cgroup"
	case strings.Contains(r.Raw, "unexpectedly frozen"):
		verb, says = "use", "the cgroup in which runc shall make a container is frozen"
	}
	e := event.New(event.KindFreezeFailed, says, event.FieldVerb.Text(verb))
	e.IDs.Container = scan.FindID(r.Raw)
	return e, true
}

// runcReasons tell from runc's error what it failed at. The first that fits counts. An error that
// none fits is about the container: a program that is not there, a container that has ended, an
// argument that is wrong. Of processes that cannot be made forkFailed tells.
var runcReasons = []struct {
	reason, says string
	texts        []string
}{
	{"missing", "runc is not there: executable file not found in $PATH", []string{`runc\": executable file not found`, `runc": executable file not found`}},
	{"cgroup-driver", "its cgroup driver is not that of the kubelet", []string{"expected cgroupsPath to be of format "}},
	{"cgroup", "a cgroup could not be made", []string{"mkdir /sys/fs/cgroup/"}}, // no space there is no full disk
	{"systemd", "systemd or the bus did not do its part", []string{
		"dbus", "D-Bus", "org.freedesktop", "aiting for systemd", "active connections for UID", "Argument list too long",
		"unable to start unit", "Message recipient disconnected",
	}},
	{"disk", "no space is left", []string{"no space left on device"}},
	{"disk", "a file system is read-only", []string{"read-only file system"}},
	{"state", "its state file could not be written", []string{"unable to store init state"}}, // below its root in /run; 1.1 names no reason
	{"memory", "there is no memory", []string{"cannot allocate memory"}},
	// a requirement error is about the image, which wants a newer driver
	{"driver", "the NVIDIA driver is not there, failed, or did not answer", []string{"nvidia-container-cli: initialization error", "nvidia-container-cli: detection error"}},
	{"hook", "a hook that it runs failed", []string{"error running hook", "running prestart hook", "running poststart hook", "error executing hook"}},
	{"seccomp", "the kernel refuses its seccomp filter", []string{"init seccomp caused", "seccomp filter into kernel"}},
	{"timeout", "it took too long", []string{"context deadline exceeded", "DeadlineExceeded", "imed out"}},
	{"cgroup", "a cgroup could not be made or used", []string{"/sys/fs/cgroup", "cgroup"}},
	// nothing has ended: runc may not signal the process (SELinux, AppArmor, an LSM of its own)
	{"signal", "its signal was refused", []string{"unable to signal init: operation not permitted", "unable to signal init: permission denied"}},
	{"init", "runc init ended early", []string{
		"init-p: broken pipe", "init-p: connection reset", "runc did not terminate s", "unexpected EOF", "read init-p: EOF",
		"reading from parent",
	}},
}

// runcFailed is a command of runc that failed, in the words of whoever ran it:
//
//	OCI runtime exec failed: exec failed: container_linux.go:344: starting container process caused "process_linux.go:113: writing config to pipe caused \"write init-p: broken pipe\"": unknown
//	OCI runtime create failed: container_linux.go:348: starting container process caused "process_linux.go:402: container init caused \"read init-p: connection reset by peer\"": unknown
//	failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: …      (≥ 1.1)
//	runc did not terminate successfully: exit status 137: unknown
//
// What containerd's cleanup says of a container that is gone anyway ("cleanup warnings …") is none.
func runcFailed(r *event.Record) (event.Event, bool) {
	first := findRuncReason(r.Raw)
	if first < 0 || strings.Contains(r.Raw, "cleanup warnings") {
		return event.Event{}, false
	}
	why := &runcReasons[first]
	if inside := why.reason == "missing" && strings.Contains(r.Raw, "container process"); inside { // the image has none
		return event.Event{}, false
	}
	if scan.ContainsAny(r.Raw, []string{": container does not exist", `" does not exist`, `\" does not exist`}) && strings.Contains(r.Raw, "runc did not terminate s") {
		return runcForgot(r)
	}
	verb := "unknown"
	if v := scan.FirstWord(scan.After(r.Raw, "OCI runtime ")); v == "exec" || v == "create" || v == "start" || v == "state" {
		verb = v
	}
	text := r.Message() + " " + table.ErrorOf(r)
	_, reason, _ := strings.Cut(text, "OCI runtime ")
	if reason == "" {
		reason = strings.TrimSpace(text)
	}
	e := event.New(event.KindRuncFailed, "runc "+verb+" failed: "+why.says)
	switch {
	case why.reason == "missing":
		e.Text = why.says
	case verb == "unknown":
		e.Text = "runc failed: " + why.says
	}
	e.Fields = []event.Field{
		event.FieldVerb.Text(verb), event.FieldReason.Text(why.reason), event.FieldError.Text(reason),
	}
	e.IDs.Container = scan.FindID(r.Raw)
	return e, true
}

// runcForgot is a container that is to be killed, and of which runc knows nothing: it was deleted
// after its end, of which containerd does not know. To delete it again is no failure.
//
//	failed to stop container "<id>": failed to kill container "<id>": runc did not terminate successfully: container does not exist
//	… unknown error after kill: runc did not terminate s[…]: container "<id>" does not exist      (runc up to 1.0.0-rc92)
func runcForgot(r *event.Record) (event.Event, bool) {
	of := scan.After(r.Raw, "failed to kill container ")
	e := event.New(
		event.KindRuncFailed, "runc kill failed: runc knows no such container", event.FieldVerb.Text("kill"), event.FieldReason.Text("gone"),
		event.FieldError.Text("container does not exist"),
	)
	e.IDs.Container = scan.FindID(of)
	return e, e.IDs.Container != ""
}

// runcTexts finds the texts of all runcReasons in one look at a line: a probe whose program is
// missing makes runc complain hundreds of times a second.
var runcTexts = sync.OnceValue(func() (x struct {
	literals *lines.Literals
	reason   []int // of each literal
},
) {
	var all []string
	for i := range runcReasons {
		for _, text := range runcReasons[i].texts {
			all, x.reason = append(all, text), append(x.reason, i)
		}
	}
	x.literals = lines.NewLiterals(all)
	return x
})

// findRuncReason is the first of runcReasons with a text in the line; -1 when there is none.
func findRuncReason(line string) int {
	x := runcTexts()
	first := len(runcReasons)
	var room [1024]byte // on the stack, where a copy of most lines costs nothing later
	x.literals.All(append(room[:0], line...), func(id int) { first = min(first, x.reason[id]) })
	if first == len(runcReasons) {
		return -1
	}
	return first
}

// InitError is the event of what runc init wrote to its standard error before it ended, as a trace
// of it shows; ok is false for anything else:
//
//	standard_init_linux.go:207: init seccomp caused: error loading seccomp filter into kernel: loading seccomp filter: invalid argument
func InitError(text string) (e event.Event, ok bool) {
	if !strings.Contains(text, "_linux.go:") {
		return event.Event{}, false
	}
	text = strings.TrimSpace(text)
	e, ok = runcFailed(&event.Record{Text: text, Raw: text})
	e.Component = "runc"
	return e, ok
}

// cgroupBusy is a cgroup that cannot be removed because processes are still in it, which a process
// that cannot die, or a frozen one, keeps so:
//
//	Failed to remove cgroup       error="rmdir /sys/fs/cgroup/memory/kubepods.slice/…/cri-containerd-<id>.scope: device or resource busy"      (runc ≥ 1.1)
//	Failed to remove cgroup (will retry)      error="…"      (1.0-rc93 to 1.0)
//	failed to remove paths: map[memory:/sys/fs/cgroup/memory/…]      (before)
//	cgroups: unable to remove path "/sys/fs/cgroup/…": still contains running processes      (containerd's library)
//	"Failed to delete cgroup paths" … err="unable to destroy cgroup paths for cgroup [kubepods …] : remove /sys/fs/cgroup/kubepods.slice/…: device or resource busy"      (the kubelet)
//	Failed to destroy cgroup /kubepods.slice/…, ignoring: Device or resource busy      (systemd)
func cgroupBusy(r *event.Record) (event.Event, bool) {
	reason := table.ErrorOf(r)
	if reason == "" {
		reason = r.Message()
	}
	busy := scan.ContainsAny(reason, []string{"evice or resource busy", "still contains running processes", "emove paths: map["})
	e := event.New(event.KindCgroupBusy, "a cgroup cannot be removed: processes are still in it")
	if path := scan.FirstWord(scan.After(reason, "/sys/fs/cgroup/")); path != "" {
		path = strings.TrimRight(path, `:,"]\`)
		e.AddFields(event.FieldPath.Text("/sys/fs/cgroup/" + path))
		if controller, _, ok := strings.Cut(path, "/"); ok && !strings.Contains(controller, ".") {
			e.AddFields(event.FieldController.Text(controller))
		}
	}
	e.AddFields(event.FieldError.Text(reason))
	e.IDs.Container = scan.FindID(reason)
	return e, busy
}
