//go:build lab

package lab

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// module is a module below lab/cluster, out of which programs of a cluster are built.
type module struct {
	dir      string
	packages []string // after flags of go build, where there are any
	flags    string   // of the linker
	links    []string // names of the one program, where there is one for all
}

// modules are the programs of a cluster. The linker is told the version that each says it is, which
// the releases get in the same way: kubectl does not talk to a server without one.
func modules() ([]module, error) {
	kube, err := requiredVersion("kube", "k8s.io/kubernetes")
	if err != nil {
		return nil, err
	}
	const runtime = "github.com/containerd/containerd/v2"
	containerd, err := requiredVersion("runtime", runtime)
	if err != nil {
		return nil, err
	}
	return []module{
		{
			dir: "runtime", packages: []string{runtime + "/cmd/containerd", runtime + "/cmd/containerd-shim-runc-v2", runtime + "/cmd/ctr"},
			flags: "-s -w -X " + runtime + "/version.Version=" + containerd,
		},
		{
			dir: "kube", packages: []string{"."},
			flags: "-s -w -X k8s.io/component-base/version.gitVersion=" + kube,
			links: []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"},
		},
	}, nil
}

// requiredVersion is the version of a dependency that a module below lab/cluster asks for.
func requiredVersion(dir, dependency string) (string, error) {
	text, err := os.ReadFile(filepath.Join("cluster", dir, "go.mod"))
	if err != nil {
		return "", err
	}
	words := strings.Fields(string(text))
	at := slices.Index(words, "require")
	for i := max(at, 0); i+1 < len(words); i++ {
		if words[i] == dependency && strings.HasPrefix(words[i+1], "v") {
			return words[i+1], nil
		}
	}
	return "", fmt.Errorf("%s/go.mod requires no %s", dir, dependency)
}

// buildCluster builds the programs of a cluster, unless they are there from an earlier run, and
// returns the directory that has them.
func (r *run) buildCluster() (string, error) {
	all, err := modules()
	if err != nil {
		return "", err
	}
	return r.buildModules("cluster", all, func(string) error { return nil })
}

// buildModules builds the programs of modules, unless they are there from an earlier run, and
// returns the directory that has them. more adds to it what is not built by Go.
func (r *run) buildModules(what string, all []module, more func(dir string) error) (string, error) {
	lock, err := os.OpenFile(filepath.Join(r.place, what+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, m := range all {
		fmt.Fprint(sum, m)
		for _, name := range []string{"go.mod", "go.sum", "main.go"} {
			// not every module has every file
			text, _ := os.ReadFile(filepath.Join("cluster", m.dir, name))
			sum.Write(text)
		}
	}
	made := filepath.Join(r.place, fmt.Sprintf("%s-%x", what, sum.Sum(nil)[:4]))
	if _, err := os.Stat(made); err == nil {
		return made, nil
	}
	fmt.Fprintln(os.Stderr, "lab: "+what+" is built, for the first time; it takes minutes")
	dir := filepath.Join(r.dir, what)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, m := range all {
		cmd := exec.Command("nice", append([]string{"go", "build", "-trimpath", "-ldflags", m.flags, "-o", dir + "/"}, m.packages...)...)
		cmd.Dir = filepath.Join("cluster", m.dir)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build in lab/cluster/%s: %w: %s", m.dir, err, lastOutput(out))
		}
		for _, link := range m.links {
			// A hard link: /proc/PID/exe then has this name.
			if err := os.Link(filepath.Join(dir, m.dir), filepath.Join(dir, link)); err != nil {
				return "", err
			}
		}
	}
	if err := more(dir); err != nil {
		return "", err
	}
	return made, os.Rename(dir, made)
}
