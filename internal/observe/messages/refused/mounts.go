package refused

import (
	"regexp"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// mountDead is ENOTCONN, ESTALE or EHOSTDOWN of a call on a file: the process behind a FUSE mount
// has ended, or the file server does not know the directory any more, or is not there. The call
// fails at once:
//
//	lstat /var/lib/kubelet/pods/…/volumes/kubernetes.io~glusterfs/data: transport endpoint is not connected
//	ls: cannot access '/mnt': Transport endpoint is not connected
//	stat /var/lib/kubelet/pods/…/mount: stale NFS file handle      (Go; glibc since 2.18: "Stale file handle")
//	stat /var/lib/kubelet/plugins/kubernetes.io/csi/…/globalmount: host is down      (CIFS)
//	stat /var/lib/kubelet/pods/…/volumes/kubernetes.io~azure-file/x: resource temporarily unavailable      (CIFS)
func mountDead(r *event.Record) (event.Event, bool) {
	what := "disconnected"
	before, _, ok := strings.Cut(strings.ReplaceAll(r.Raw, `\"`, `"`), "ransport endpoint is not connected")
	if !ok {
		for _, words := range [...][2]string{{"stale", "tale NFS file handle"}, {"stale", "tale file handle"}, {"down", "ost is down"}, {"down", "esource temporarily unavailable"}} {
			if before, _, ok = strings.Cut(r.Raw, words[1]); ok {
				what = words[0]
				break
			}
		}
	}
	before, colon := strings.CutSuffix(before[:max(0, len(before)-1)], ": ")
	path := strings.Trim(before[strings.LastIndexByte(before, ' ')+1:], "'‘’\"")
	inVolume := strings.Contains(path, "/volumes/kubernetes.io~") || strings.HasSuffix(path, "/globalmount")
	if !ok || !colon || !strings.HasPrefix(path, "/") || what == "down" && !inVolume {
		return event.Event{}, false
	}
	says := "nobody serves the mount at " + path
	switch what {
	case "stale":
		says = "the file server does not know " + path + " any more"
	case "down":
		says = "the file server of " + path + " does not answer"
	}
	return event.New(event.KindMountDead, says, event.FieldPath.Text(path), event.FieldWhat.Text(what)), true
}

// mountCalls stand before the error of a mount, in the words of dockerd, containerd, mount of
// util-linux, runc (before 1.1 with caused), and systemd, which mounts for a service.
var mountCalls = regexp.MustCompile(`(?:error creating overlay mount to |failed to mount rootfs component|mount\(2\) system call failed|error mounting "[^"]+" to rootfs|mounting "[^"]+" to rootfs .* caused|[Ff]ailed to set up mount namespacing|at step NAMESPACE spawning )`)

// mountRefused is ENOSPC of mount(2), which says so where a namespace has as many mounts as
// fs.mount-max allows (since Linux 4.9; 100000 by default):
//
//	error creating overlay mount to /var/lib/docker/overlay2/…-init/merged: no space left on device      (dockerd)
//	failed to mount rootfs component: no space left on device                                        (containerd)
//	mount: /var/lib/kubelet/pods/…: mount(2) system call failed: No space left on device.               (util-linux ≥ 2.37)
//	error mounting "proc" to rootfs at "/proc": mount proc:/proc (via /proc/self/fd/6), flags: 0xe: no space left on device      (runc)
//	kubelet.service: Failed to set up mount namespacing: No space left on device                      (systemd)
func mountRefused(r *event.Record) (event.Event, bool) {
	text := strings.ReplaceAll(r.Raw, `\`, "")
	end := max(strings.Index(text, "o space left on device"), 0)
	call := mountCalls.FindStringIndex(text[:end])
	if call == nil || end-call[0] > maxMountCall {
		return event.Event{}, false
	}
	said := strings.TrimRight(text[call[0]:end], "nN") + "no space left on device"
	return event.New(event.KindMountRefused, "the kernel refuses a mount: no space left on device", event.FieldError.Text(scan.Clip(said))), true
}

// maxMountCall is how far before its error a call stands: an overlay names its lower directories.
const maxMountCall = 16 << 10

// thinPoolLow is dockerd with the driver devicemapper, which makes no layer any more in a pool that
// is nearly full (dm.min_free_space, 10 % by default), or who repeats it:
//
//	devmapper: Thin Pool has 14237 free data blocks which is less than minimum required 14591 free data blocks. Create more free space in thin pool or use dm.min_free_space option to change behavior
func thinPoolLow(r *event.Record) (event.Event, bool) {
	_, rest, ok := strings.Cut(r.Raw, "Thin Pool has ")
	return event.New(
		event.KindBlockError, "docker's thin pool has only "+scan.Digits(rest)+" blocks left, and docker makes no layers in it any more",
		event.FieldDevice.Text("dm-thin of docker"), event.FieldWhat.Text("full"),
	), ok && scan.Digits(rest) != ""
}

// volumePending is a CSI driver, or the kubelet that repeats it, about a volume of which an earlier
// call has not returned, mostly because its mount or umount hangs:
//
//	rpc error: code = Aborted desc = An operation with the given Volume ID pvc-1 already exists      (most drivers)
//	rpc error: code = Aborted desc = An operation with the given volume="vol-1" is already in progress      (aws-ebs-csi)
//	rpc error: code = Aborted desc = operation for volume fs-1 is already in progress      (aws-fsx-csi)
func volumePending(r *event.Record) (event.Event, bool) {
	text := strings.ReplaceAll(r.Raw, `\"`, `"`)
	volume := scan.After(text, "peration with the given Volume ID ", "peration with the given volume=", "peration for volume ")
	name, _, ok := strings.Cut(volume, " already exists")
	if !ok {
		name, _, ok = strings.Cut(volume, " is already in progress")
	}
	name = strings.Trim(name, `"`)
	return event.New(
		event.KindVolumePending, "an earlier call to the CSI driver about volume "+name+" has not ended", event.FieldVolume.Text(name),
	), ok && name != "" && !strings.Contains(name, " ")
}
