package refused

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// mountDead is ENOTCONN or ESTALE of a call on a file: the process behind a FUSE mount has ended, or the
// file server does not know the directory any more. The call fails at once:
//
//	lstat /var/lib/kubelet/pods/…/volumes/kubernetes.io~glusterfs/data: transport endpoint is not connected
//	ls: cannot access '/mnt': Transport endpoint is not connected
//	stat /var/lib/kubelet/pods/…/mount: stale NFS file handle      (Go; glibc since 2.18: "Stale file handle")
func mountDead(r *event.Record) (event.Event, bool) {
	what := "disconnected"
	before, _, ok := strings.Cut(strings.ReplaceAll(r.Raw, `\"`, `"`), "ransport endpoint is not connected")
	if !ok {
		what = "stale"
		for _, words := range [...]string{"tale NFS file handle", "tale file handle"} {
			if before, _, ok = strings.Cut(r.Raw, words); ok {
				break
			}
		}
	}
	before, colon := strings.CutSuffix(before[:max(0, len(before)-1)], ": ")
	path := strings.Trim(before[strings.LastIndexByte(before, ' ')+1:], "'‘’\"")
	if !ok || !colon || !strings.HasPrefix(path, "/") {
		return event.Event{}, false
	}
	says := "nobody serves the mount at " + path
	if what == "stale" {
		says = "the file server does not know " + path + " any more"
	}
	return event.New(event.KindMountDead, says, event.FieldPath.Text(path), event.FieldWhat.Text(what)), true
}

// volumePending is a CSI driver, or the kubelet that repeats it, about a volume of which an earlier call
// has not returned, mostly because its mount or umount hangs:
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
