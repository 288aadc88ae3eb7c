package states

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/boots"
	"github.com/plegdiag/plegdiag/internal/observe/facts"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
	"github.com/plegdiag/plegdiag/internal/parse/snapshots"
)

// mounts reads mountinfo, /proc/mounts and the output of mount.
type mounts struct {
	all, overlay, volatile, network int
	first                           event.Quote
	masks                           masks
}

// masks are the paths of CPUs that a container masks, one for each CPU: in its settings under
// maskedPaths, or as mounts. Up to runc 1.3.5 each is a tmpfs of its own.
type masks struct {
	paths map[string]bool
	first event.Quote
}

func (m *masks) notePath(target string, e *snapshots.Datum) {
	if !strings.HasPrefix(target, "/sys/devices/system/cpu/cpu") || !strings.HasSuffix(target, "/thermal_throttle") || len(m.paths) == maxListed {
		return
	}
	if m.paths == nil {
		m.paths, m.first = map[string]bool{}, e.Quote()
	}
	m.paths[target] = true
}

func (m *masks) finishFile(dst []event.Event, source string) []event.Event {
	if len(m.paths) == 0 {
		return dst
	}
	return facts.Append(dst, source, "mounts.masked-cpus", strconv.Itoa(len(m.paths)), m.first)
}

// networkTypes are file systems that wait for another machine or another process.
var networkTypes = []string{"nfs", "ceph", "cifs", "smb3", "fuse", "glusterfs", "lustre", "9p", "virtiofs", "gpfs", "afs"}

func isNetworkType(fstype string) bool {
	for _, t := range networkTypes {
		if strings.HasPrefix(fstype, t) && fstype != "fusectl" {
			return true
		}
	}
	return false
}

// ofProcess says that a file is about a process with mounts of its own, perhaps a container's:
// those of the node are PID 1's.
func ofProcess(file string) bool {
	dir, name := path.Split(file)
	dir, pid := path.Split(strings.TrimSuffix(dir, "/"))
	return (name == "mountinfo" || name == "mounts") && pid != "1" && pid != "" &&
		strings.Trim(pid, "0123456789") == "" && strings.HasSuffix(dir, "proc/")
}

func (m *mounts) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	if len(e.Path) == 0 {
		return dst
	}
	m.masks.notePath(e.Path[0], e)
	if ofProcess(e.Pos.File) {
		return dst
	}
	if m.all++; m.all == 1 {
		m.first = e.Quote()
	}
	fstype, _ := e.Field("fstype")
	options, _ := e.Field("options")
	source, _ := e.Field("source")
	if name, ok := brokenMount(e.Path[0], source, fstype, options); ok && len(dst) < maxListed {
		ev := event.New(
			event.KindReadOnly, "the file system at "+e.Path[0]+" ("+name+") is read-only",
			event.FieldDevice.Text(name), event.FieldTarget.Text(e.Path[0]),
		)
		ev.Component, ev.Source, ev.Evidence = "node", facts.Mounts, []event.Quote{e.Quote()}
		ev.Open = true // until somebody mounts it again
		dst = append(dst, ev)
	}
	overlay, network := fstype == "overlay", isNetworkType(fstype)
	if !overlay && !network {
		return dst
	}
	// Linux 5.10 writes volatile, 6.12.80 and later fsync=volatile (fs/overlayfs/params.c).
	volatile := overlay && (strings.Contains(options, ",volatile") || strings.Contains(options, "fsync=volatile"))
	if overlay {
		m.overlay++
	} else {
		m.network++
	}
	if volatile {
		m.volatile++
	}
	if m.overlay+m.network > maxListed {
		return dst
	}
	target := e.Path[0]
	ev := event.Event{
		Kind: event.KindMount, Component: "node", Source: facts.Mounts, Evidence: []event.Quote{e.Quote()},
		Text: fstype + " at " + target,
	}
	ev.Fields = []event.Field{
		event.FieldFSType.Text(fstype), event.FieldTarget.Text(target), event.FieldSource.Text(source),
		event.FieldVolatile.Bool(volatile), event.FieldNetwork.Bool(network),
	}
	if server, _, named := strings.Cut(source, ":"); named && network {
		ev.AddFields(event.FieldServer.Text(server))
	}
	// /var/lib/kubelet/pods/UID/volumes/kubernetes.io~nfs/NAME
	if _, rest, ok := strings.Cut(target, "/pods/"); ok {
		uid, _, _ := strings.Cut(rest, "/volume")
		ev.IDs.PodUID = scan.UID(uid)
	}
	// docker's and CRI-O's paths hold the id of a layer
	if strings.Contains(target, "/io.containerd.runtime.") {
		ev.IDs.Container = scan.FindID(target)
	}
	return append(dst, ev)
}

// brokenMount is the device of a file system that lets nobody write although a node has to: one
// below which the runtime, the kubelet or the logs are, or one that the kernel has shut down itself
// (emergency_ro and shutdown of ext4, since 6.15). A root that is read-only by design is none.
func brokenMount(target, source, fstype, options string) (device string, ok bool) {
	switch fstype {
	case "ext3", "ext4", "xfs", "btrfs":
	default:
		return "", false
	}
	device = path.Base(source)
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "emergency_ro", "shutdown":
			return device, true
		case "ro":
			ok = ok || slices.Contains(writtenTargets, target)
		}
	}
	return device, ok
}

// writtenTargets are mount points without whose file system no pod can run.
var writtenTargets = []string{
	"/var", "/var/lib", "/var/log", "/var/lib/containerd", "/var/lib/docker", "/var/lib/containers", "/var/lib/kubelet", "/var/lib/rancher",
}

func (m *mounts) finishFile(dst []event.Event) []event.Event {
	for _, n := range [...]struct {
		name  string
		count int
	}{
		{"mounts.count", m.all},
		{"mounts.overlay", m.overlay},
		{"mounts.overlay-volatile", m.volatile},
		{"mounts.network", m.network},
	} {
		if m.all > 0 {
			dst = facts.Append(dst, facts.Mounts, n.name, strconv.Itoa(n.count), m.first)
		}
	}
	return m.masks.finishFile(dst, facts.Mounts)
}

// bootList reads a list of the starts of the machine.
type bootList struct{ boots.List }

func (b *bootList) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	b.Take(e)
	return dst
}

func (b *bootList) finishFile(dst []event.Event) []event.Event { return b.AppendLatest(dst) }

// packages reads lists of installed packages.
type packages struct{}

// packageFacts are the packages that matter, by the component that they install.
var packageFacts = map[string]string{
	"containerd": "containerd", "containerd.io": "containerd", "runc": "runc", "systemd": "systemd",
	"dbus": "dbus", "dbus-daemon": "dbus",
	"kubelet": "kubelet", "docker-ce": "docker", "docker.io": "docker", "docker-engine": "docker",
	"moby-engine": "docker", "docker": "docker",
	"cri-o": "crio", "moby-containerd": "containerd", "moby-runc": "runc", "kubernetes-node": "kubelet",
	"libseccomp": "libseccomp", "libseccomp2": "libseccomp",
}

func (packages) takeDatum(dst []event.Event, e *snapshots.Datum) []event.Event {
	if len(e.Path) != 1 {
		return dst
	}
	component := packageFacts[e.Path[0]]
	if component == "" {
		return dst
	}
	dst = addFact(dst, facts.Packages, component+".package", e.Path[0]+" "+e.Value, e)
	if v := packageVersion(e.Value); v != "" || component == "systemd" {
		if v == "" {
			v = scan.Digits(e.Value)
		}
		before := len(dst)
		dst = addFact(dst, facts.Packages, component+".version", v, e)
		for i := before; i < len(dst); i++ {
			dst[i].AddFields(event.FieldBasis.Text(facts.Installed))
		}
	}
	return dst
}

// packageVersion is the version of the program. Red Hat writes runc 1.0.0-rc95 as 1.0.0-73.rc95.
func packageVersion(s string) string {
	v, release, _ := strings.Cut(s, "-")
	for part := range strings.SplitSeq(release, ".") {
		if rc, ok := strings.CutPrefix(part, "rc"); ok && rc != "" && scan.Digits(rc) == rc {
			return scan.Version(v + "-" + part)
		}
	}
	return scan.Version(s)
}

func (packages) finishFile(dst []event.Event) []event.Event { return dst }
