package refused

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// layerTexts are how a runtime says that what it knows of its layers and what lies on the disk do
// not agree.
var layerTexts = []struct{ text, besides, what string }{
	{": layer not known", "", "layer"},
	{"recreating the missing symlinks", "", "link"},
	{"can't stat lower layer", "", "layer"},
	{"missing parent ", "bucket: not found", "record"},
	{"failed to stat parent: ", "/snapshots/", "layer"},
	{"/link: no such file or directory", "/overlay", "link"},
	{"/overlay2: invalid argument", "readlink ", "link"},
	{"/overlay2/l: invalid argument", "readlink ", "link"},
	{"/snapshots: no such file or directory", "io.containerd.snapshotter.", "layer"},
	{"parent snapshot ", " does not exist: not found", "record"},
	{"error unpacking image: content digest ", ": not found", "record"},
	{"content store: content digest ", ": not found", "record"},
	{"/lower-id: no such file or directory", "/overlay", "record"},
	{"ailed to load container mount", "not exist", "record"},
	{"ailed to load container mount", "not found", "record"},
	{": layer does not exist", "", "layer"},
	{"error creating overlay mount to ", ": no such file or directory", "layer"},
	{"failed to mount rootfs component", "no such file or directory", "layer"},
	{"locating item named ", "consider removing the image", "record"},
}

// literalsOfLayers are the texts of layerTexts.
func literalsOfLayers() []string {
	var all []string
	for _, t := range layerTexts {
		all = append(all, t.text)
	}
	return all
}

// layersDamaged is a runtime that finds its storage damaged, in its own words or in those of who
// repeats its answer:
//
//	error creating pod sandbox with name "k8s_…": layer not known      (containers/storage, of CRI-O and Podman; so are the next two)
//	failed to mount container …: error recreating the missing symlinks: error reading name of symlink for <layer>: open /var/lib/containers/storage/overlay/<layer>/link: no such file or directory
//	can't stat lower layer "/var/lib/containers/storage/overlay/l/ABC" because it does not exist. Going through storage to recreate the missing symlinks.
//	failed to create snapshot: missing parent "k8s.io/12/sha256:…" bucket: not found      (containerd)
//	failed to prepare sandbox rootfs: failed to stat parent: stat /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/33/fs: no such file or directory
//	failed to create prepare snapshot dir: failed to create temp dir: stat /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots: no such file or directory
//	failed to create snapshot: parent snapshot sha256:… does not exist: not found
//	error unpacking image: content digest sha256:…: not found
//	failed to extract layer sha256:…: failed to get reader from content store: content digest sha256:…: not found
//	open /var/lib/docker/overlay2/<layer>/link: no such file or directory      (dockerd)
//	open /data/docker/overlay/<layer>/lower-id: no such file or directory      (dockerd with the driver overlay, up to 23)
//	readlink /var/lib/docker/overlay2/l: invalid argument      (dockerd; also without the l)
//	Failed to load container mount <id>: mount does not exist      (dockerd; ≥ 20.10 with error="RW layer for container <id> not found")
//	Error response from daemon: layer does not exist      (dockerd)
//	error creating overlay mount to /var/lib/docker/overlay2/<layer>/merged: no such file or directory      (dockerd)
//	failed to mount rootfs component &{overlay overlay [index=off workdir=…]}: no such file or directory      (containerd; ≥ 1.7 … component: mount source: "overlay", …)
//	locating item named "manifest" for image with ID "…" (consider removing the image to resolve the issue): file does not exist      (containers/storage ≥ 1.24)
func layersDamaged(r *event.Record) (event.Event, bool) {
	text := strings.ReplaceAll(r.Raw, `\"`, `"`)
	for _, t := range layerTexts {
		at := strings.Index(text, t.text)
		if at < 0 || !strings.Contains(text, t.besides) || strings.Contains(text[at:], "ransport endpoint is not connected") {
			continue // or a snapshotter of FUSE that has ended: the layer is there
		}
		if t.text[0] == '/' || t.text[0] == 'a' && t.text[1] == 'i' { // the path before it, or a letter of either case
			at = strings.LastIndexAny(text[:at], ` "`) + 1
		}
		e := event.New(
			event.KindLayersDamaged, "the runtime does not find a layer, or what it has written down of one", event.FieldWhat.Text(t.what),
			event.FieldError.Text(scan.Clip(dropMount(strings.Trim(text[at:], ` :"\`)))),
		)
		e.IDs.Pod = r.Value("pod")
		before, _, _ := strings.Cut(text[:at], "extract layer ") // whose id is none of a container
		e.IDs.Container = scan.FindID(before)
		return e, true
	}
	return event.Event{}, false
}

// dropMount takes what a mount is made of, "&{overlay overlay [index=off …]}", out of an error: it
// is longer than a sentence, and names no layer that is not there.
func dropMount(text string) string {
	before, rest, _ := strings.Cut(text, " &{")
	if _, reason, ok := strings.Cut(rest, "}"); ok {
		return before + reason
	}
	return text
}
