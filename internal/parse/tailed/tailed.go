// Package tailed knows the line that minikube logs and tail print before each of several logs:
//
//	==> kubelet <==
//	==> storage-provisioner [fe3b3c9de004] <==
//	==> /var/log/messages <==
package tailed

import (
	"bytes"
	"path"
	"strings"
)

// CutName takes the name out of such a line; ok is false for any other.
func CutName(b []byte) (name string, ok bool) {
	const longest = 300
	if len(b) > longest || !bytes.HasPrefix(b, []byte("==> ")) {
		return "", false
	}
	name, ok = strings.CutSuffix(strings.TrimRight(string(b[len("==> "):]), " \t"), " <==")
	return name, ok && name != ""
}

// Writer is the unit of lines that name none, below a line with such a name: that of a daemon by
// its name or its file, or "container" for one; empty where the name does not tell.
func Writer(name string) string {
	switch name {
	case "kubelet", "containerd":
		return name
	case "Docker":
		return "dockerd"
	case "CRI-O":
		return "crio"
	case "dmesg":
		return "kernel"
	}
	if !strings.Contains(name, "/") {
		if strings.HasSuffix(name, "]") && strings.Contains(name, " [") {
			return "container"
		}
		return ""
	}
	if strings.Contains(name, "/containers/") || strings.Contains(name, "/pods/") {
		return "container"
	}
	base, _, _ := strings.Cut(path.Base(name), ".")
	switch base {
	case "kubelet", "containerd", "dockerd", "crio":
		return base
	case "docker":
		return "dockerd"
	case "dmesg", "kern":
		return "kernel"
	}
	return ""
}
