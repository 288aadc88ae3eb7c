//go:build lab

package lab

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
)

var debianContainerd = flag.Bool("debian-containerd", false, "with -cluster: nodes keep Debian's containerd 1.6")

// member is what makes a booted node a node of a cluster.
type member struct {
	*cluster
	files   string // a directory with what is bound into the node
	inside  string // the node's address
	outside string // the host's address on the same link
	link    string // the host's end
}

// members counts the nodes of this run.
var members atomic.Int32

// newMember writes the files of a node. Each node has a link of its own with the host, a network of
// four addresses out of 198.18.0.0/15, which RFC 2544 sets aside for tests between devices.
func (c *cluster) newMember(name string) (*member, error) {
	at := (os.Getpid()*16 + int(members.Add(1))) % (1 << 15) * 4
	address := func(last int) string {
		return fmt.Sprintf("198.%d.%d.%d", 18+at>>16, at>>8&0xff, at&0xff+last)
	}
	m := &member{cluster: c, files: filepath.Join(c.run.dir, name, "files"), inside: address(2), outside: address(1), link: fmt.Sprintf("lab%d", at)}
	server, err := c.authority.issueServer(name, m.inside)
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		"/etc/hostname":                       name + "\n",
		"/etc/kubernetes/kubelet.conf":        c.kubeconfig(m.outside, "{client-certificate: "+clientCertificate+", client-key: "+clientCertificate+"}"),
		"/etc/kubernetes/pki/ca.crt":          string(c.authority.text),
		"/var/lib/kubelet/pki/kubelet.crt":    string(server.cert),
		"/var/lib/kubelet/pki/kubelet.key":    string(server.key),
		"/etc/kubernetes/lab-token":           c.token + "\n",
		"/etc/systemd/system/kubelet.service": "[Unit]\nStartLimitIntervalSec=0\nAfter=" + runtimeName() + ".service\n[Service]\nRestart=always\nRestartSec=1\nExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml --kubeconfig=/etc/kubernetes/kubelet.conf --hostname-override=" + name + " --node-ip=" + m.inside + " --v=2\n",
		"/var/lib/kubelet/config.yaml":        kubeletConfig + "cpuManagerReconcilePeriod: " + reconcilePeriod.String() + "\ncontainerRuntimeEndpoint: unix://" + runtimeSocket() + "\n" + scenariosOfMembers()[name].kubelet,
	}
	switch {
	case *onCRIO:
		maps.Copy(files, crioFiles)
	case !*debianContainerd:
		files["/etc/containerd/config.toml"] = containerdConfig
	}
	for path, text := range files {
		file := filepath.Join(m.files, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			return nil, err
		}
	}
	return m, m.writeClientCertificate(name, cmp.Or(scenariosOfMembers()[name].life, aDay))
}

// clientCertificate is where a kubelet has its certificate and key for the API server, in one file.
const clientCertificate = "/var/lib/kubelet/pki/kubelet-client-current.pem"

// writeClientCertificate gives the node's kubelet a certificate for the API server, in the place of
// an older one.
func (m *member) writeClientCertificate(name string, life time.Duration) error {
	id, err := m.authority.issueClient("system:node:"+name, "system:nodes", life)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.files, clientCertificate), append(id.cert, id.key...), 0o600)
}

// reconcilePeriod is how often the kubelet's CPU manager looks for containers to update.
const reconcilePeriod = 5 * time.Second

// kubeletConfig lets the kubelet run on cgroup version 1 and on a host with swap, and gives
// nobody's pods away for the host's lack of disk. The static CPU manager updates containers that
// run. The logs are what collect --node asks for; nothing renews certificates.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: systemd
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: /etc/kubernetes/pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: /var/lib/kubelet/pki/kubelet.crt
tlsPrivateKeyFile: /var/lib/kubelet/pki/kubelet.key
rotateCertificates: false
enableSystemLogHandler: true
enableSystemLogQuery: true
makeIPTablesUtilChains: false
cpuManagerPolicy: static
reservedSystemCPUs: "0"
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 1Mi, nodefs.available: 0%, nodefs.inodesFree: 0%, imagefs.available: 0%, imagefs.inodesFree: 0%}
`

// containerdConfig is nodeFiles' configuration in the words of containerd 2.
const containerdConfig = `version = 3
[debug]
  level = "debug"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "registry.k8s.io/pause:3.6"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = true
`

// binds are the mounts that put the programs and files of a cluster into a node.
func (m *member) binds() (flags []string, err error) {
	programs := []string{filepath.Join(m.bin, "kubelet")}
	switch {
	case *onCRIO:
		for _, name := range []string{"crio", "pinns", "copyimg"} {
			programs = append(programs, filepath.Join(m.crio, name))
		}
	case !*debianContainerd:
		for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr"} {
			programs = append(programs, filepath.Join(m.bin, name))
		}
	}
	for _, program := range programs {
		flags = append(flags, "--bind-ro="+program+":/usr/bin/"+filepath.Base(program))
	}
	return flags, filepath.WalkDir(m.files, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			flags = append(flags, "--bind-ro="+path+":"+strings.TrimPrefix(path, m.files))
		}
		return err
	})
}

// tunables are what a kubelet wants of the kernel. It would write them, for the host, too.
var tunables = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

// join links the booted node with the host, and gives it what a kubelet looks for. The link goes
// with the node.
func (m *member) join(n *node) {
	n.t.Helper()
	for _, argv := range [][]string{
		{"ip", "link", "add", m.link, "type", "veth", "peer", "name", "host0", "netns", strconv.Itoa(n.leader)},
		{"ip", "addr", "add", m.outside + "/30", "dev", m.link},
		{"ip", "link", "set", m.link, "up"},
	} {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		require.NoError(n.t, err, "%s: %s", strings.Join(argv, " "), out)
	}
	n.mustRun("ip", "addr", "add", m.inside+"/30", "dev", "host0")
	n.mustRun("ip", "link", "set", "host0", "up")
	n.configureNetwork("work") // a node that has none is not ready
	n.mustRun("mknod", "/dev/kmsg", "c", "1", "11")
	n.mustRun("mkdir", "-p", "/run/lab")
	for name, value := range tunables {
		file := "/run/lab/" + strings.ReplaceAll(name, "/", "-")
		n.writeFile(file, value+"\n")
		n.mustRun("mount", "--bind", file, "/proc/sys/"+name)
	}
}

// startPod starts a pod by the API, and waits until the API says that it runs.
func (m *member) startPod(n *node, name string, with podOptions) pod {
	n.t.Helper()
	m.createPod(n, name, with, "{}")
	var id string
	n.waitFor(2*time.Minute, "running pod "+name, func() bool {
		out, err := m.kubectl("get", "pod", podName(n, name), "-o", "json")
		if err != nil {
			return false
		}
		var is struct {
			Status struct {
				Phase             string
				ContainerStatuses []struct {
					ContainerID string
					State       struct{ Running *struct{} }
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &is); err != nil || len(is.Status.ContainerStatuses) == 0 || is.Status.ContainerStatuses[0].State.Running == nil {
			return false
		}
		_, id, _ = strings.Cut(is.Status.ContainerStatuses[0].ContainerID, "://")
		return id != ""
	})
	p := pod{Name: name, Container: id}
	if !*onCRIO { // which has no shims, of which a scenario would want the sandbox
		p.Sandbox = n.sandboxOf(id)
	}
	return p
}

// sandboxOf is the sandbox of a container, as its specification says.
func (n *node) sandboxOf(container string) string {
	n.t.Helper()
	var is struct {
		Spec struct{ Annotations map[string]string }
	}
	_, info, _ := strings.Cut("\n"+n.mustRun("ctr", "-n", "k8s.io", "containers", "info", container), "\n{") // behind a warning
	require.NoError(n.t, json.Unmarshal([]byte("{"+info), &is))
	return is.Spec.Annotations["io.kubernetes.cri.sandbox-id"]
}

// podName is the name of a pod in the API, which has the pods of all nodes.
func podName(n *node, name string) string { return n.name + "-" + name }

// createPod asks the API for a pod on the node.
func (m *member) createPod(n *node, name string, with podOptions, resources string) {
	n.t.Helper()
	_, err := m.kubectlWith(manifestOf(n, name, with, "resources: "+resources), "apply", "-f", "-")
	require.NoError(n.t, err)
}

// manifestOf is a pod of one container on the node. Its deletion takes a second or two, and no
// taint evicts it.
func manifestOf(n *node, name string, with podOptions, container string) string {
	volumes := "[]"
	if with.volume != "" {
		volumes = "[{name: data, hostPath: {path: " + with.volume + "}}]"
		container += "\n    volumeMounts: [{name: data, mountPath: /data}]"
	}
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default, labels: {node: %s}}
spec:
  hostNetwork: %t
  volumes: %s
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 10
  nodeSelector: {kubernetes.io/hostname: %s}
  tolerations: [{operator: Exists}]
  containers:
  - name: main
    image: lab.example/busybox:1
    imagePullPolicy: Never
    command: [/bin/busybox, sh, -c, "trap 'exit 0' TERM; while :; do busybox sleep 1; done"]
    %s
`, podName(n, name), n.name, !with.network, volumes, n.name, container)
}

// startProbedPods starts pods whose containers are probed by exec every five seconds, and waits
// until all run.
func (m *member) startProbedPods(n *node, count int, command []string) {
	n.t.Helper()
	words, err := json.Marshal(command)
	require.NoError(n.t, err)
	var all []string
	for i := range count {
		probe := fmt.Sprintf("readinessProbe: {exec: {command: %s}, periodSeconds: 5, timeoutSeconds: 5}", words)
		all = append(all, manifestOf(n, fmt.Sprintf("probed-%d", i), podOptions{}, probe))
	}
	_, err = m.kubectlWith(strings.Join(all, "---\n"), "apply", "-f", "-")
	require.NoError(n.t, err)
	n.waitFor(3*time.Minute, "running pods", func() bool { return m.countPods(n, "Running") == count })
}

// countPods counts the pods of the node of which the API says a word: Running, or True of the
// condition Ready.
func (m *member) countPods(n *node, word string) int {
	n.t.Helper()
	out, err := m.kubectl("get", "pods", "-l", "node="+n.name, "-o", `jsonpath={range .items[*]}{.status.phase} {.status.conditions[?(@.type=="Ready")].status} {end}`)
	if err != nil {
		return 0
	}
	return strings.Count(out, word+" ")
}

// deletePod asks the API to delete a pod, and does not wait for its end.
func (m *member) deletePod(n *node, name string) {
	n.t.Helper()
	_, err := m.kubectl("delete", "pod", podName(n, name), "--wait=false")
	require.NoError(n.t, err)
}

// pin makes a pod that has a CPU of its own. The kubelet then takes this CPU from the containers of
// all others.
func (m *member) pin(n *node) {
	n.t.Helper()
	m.createPod(n, "pinned", podOptions{}, "{requests: {cpu: 1, memory: 32Mi}, limits: {cpu: 1, memory: 32Mi}}")
}

// saveObjects writes what the API says of the node into the directory of its artifacts.
func (m *member) saveObjects(n *node) {
	n.t.Helper()
	dir := filepath.Join(n.t.ArtifactDir(), n.name+"-api")
	require.NoError(n.t, os.MkdirAll(dir, 0o755))
	for name, args := range map[string][]string{
		"node.yaml":         {"get", "node", n.name, "-o", "yaml"},
		"node-describe.txt": {"describe", "node", n.name},
		"pods.txt":          {"get", "pods", "-A", "-o", "wide", "--field-selector=spec.nodeName=" + n.name},
		"events.yaml":       {"get", "events", "-A", "-o", "yaml"},
		"events.txt":        {"get", "events", "-A", "-o", "wide", "--sort-by=.lastTimestamp"},
	} {
		out, err := m.kubectl(args...)
		require.NoError(n.t, err)
		require.NoError(n.t, os.WriteFile(filepath.Join(dir, name), []byte(out), 0o644))
	}
}

// waitUntilNotReady waits until the API says that the node is not ready, for the scenario's reason.
func (m *member) waitUntilNotReady(n *node) {
	n.t.Helper()
	because := cmp.Or(scenariosOfMembers()[n.name].because, "PLEG is not healthy: pleg was last seen active")
	const patience = 6 * time.Minute
	var last condition
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Second) {
		is := m.readyCondition(n.name)
		if is != last {
			n.t.Logf("%s Ready is %s, %s: %s", time.Now().UTC().Format(time.TimeOnly), is.Status, is.Reason, is.Message)
		}
		last = is
		if is.Status != "True" && strings.Contains(is.Message, because) {
			return
		}
		if time.Now().After(deadline) {
			n.t.Errorf("the API does not say %q of the node within %s", because, patience) // its bundle shows why
			return
		}
	}
}
