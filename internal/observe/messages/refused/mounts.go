package refused

import (
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
