//go:build lab

package lab

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var onCluster = flag.Bool("cluster", false, "nodes of a real cluster: a kubelet and a control plane of today, containerd 2")

// cluster is a control plane on the host, of which booted nodes are a part.
type cluster struct {
	run   *run
	bin   string // its programs
	crio  string // those of CRI-O; empty where nodes have containerd
	dir   string // its data
	token string // opens the API server and kubelets, as a member of system:masters
	port  int    // of the API server

	authority *authority
}

// startCluster starts etcd, the API server, the controller manager and the scheduler, and waits
// until the API server is ready. They end with the run.
func (r *run) startCluster() (*cluster, error) {
	bin, err := r.buildCluster()
	if err != nil {
		return nil, err
	}
	var crio string
	if *onCRIO {
		if crio, err = r.buildCRIO(); err != nil {
			return nil, err
		}
	}
	c := &cluster{run: r, bin: bin, crio: crio, dir: filepath.Join(r.dir, "plane"), token: fmt.Sprintf("lab-%d-%d", os.Getpid(), time.Now().UnixNano())}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	var ports [5]int
	for i := range ports {
		if ports[i], err = freePort(); err != nil {
			return nil, err
		}
	}
	c.port = ports[0]
	if err := c.writeKeys(); err != nil {
		return nil, err
	}
	etcd, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[1]), fmt.Sprintf("http://127.0.0.1:%d", ports[2])
	for _, argv := range [][]string{
		{
			"etcd", "--data-dir=" + c.path("etcd"), "--unsafe-no-fsync", "--listen-client-urls=" + etcd, "--advertise-client-urls=" + etcd,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		},
		{
			"kube-apiserver", "--etcd-servers=" + etcd, "--secure-port=" + strconv.Itoa(c.port), "--bind-address=0.0.0.0", "--advertise-address=198.18.0.1",
			"--tls-cert-file=" + c.path("apiserver.crt"), "--tls-private-key-file=" + c.path("apiserver.key"),
			"--client-ca-file=" + c.path("ca.crt"), "--token-auth-file=" + c.path("tokens.csv"), "--authorization-mode=Node,RBAC",
			"--kubelet-client-certificate=" + c.path("kubelet-client.crt"), "--kubelet-client-key=" + c.path("kubelet-client.key"),
			"--kubelet-certificate-authority=" + c.path("ca.crt"), "--kubelet-preferred-address-types=InternalIP", "--allow-privileged=true",
			"--service-cluster-ip-range=10.96.0.0/16", "--service-account-issuer=https://lab.example",
			"--service-account-key-file=" + c.path("accounts.key"), "--service-account-signing-key-file=" + c.path("accounts.key"),
		},
		{
			"kube-controller-manager", "--kubeconfig=" + c.path("kubeconfig"), "--leader-elect=false", "--cert-dir=" + c.path("controllers"),
			"--service-account-private-key-file=" + c.path("accounts.key"), "--use-service-account-credentials=false", "--secure-port=" + strconv.Itoa(ports[3]),
		},
		{"kube-scheduler", "--kubeconfig=" + c.path("kubeconfig"), "--leader-elect=false", "--cert-dir=" + c.path("scheduler"), "--secure-port=" + strconv.Itoa(ports[4])},
	} {
		if err := c.startProgram(argv); err != nil {
			return nil, err
		}
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		// the account is made by the controller manager, and no pod is accepted without it
		_, err := c.kubectl("get", "serviceaccount", "default")
		if err == nil {
			return c, c.grantRights()
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(c.path("kube-apiserver.log"))
			return nil, fmt.Errorf("the control plane does not come up: %w: %s", err, lastOutput(log))
		}
	}
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

// startProgram starts a program of the control plane in a cgroup of the run.
func (c *cluster) startProgram(argv []string) error {
	log, err := os.Create(c.path(argv[0] + ".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := c.run.commandInGroup(argv[0], append([]string{filepath.Join(c.bin, argv[0])}, argv[1:]...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // what needs it says that it is gone
	return nil
}

// kubectl runs kubectl and returns what it printed.
func (c *cluster) kubectl(args ...string) (string, error) { return c.kubectlWith("", args...) }

// kubectlWith runs kubectl with a text on its standard input.
func (c *cluster) kubectlWith(input string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, "kubectl"), append([]string{"--kubeconfig=" + c.path("kubeconfig")}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+c.dir)
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, complaints.String())
	}
	return string(out), err
}

// grantRights gives the API server its rights at kubelets, and those who collect the ones that the
// documents give them.
func (c *cluster) grantRights() error {
	_, err := c.kubectl("create", "clusterrolebinding", kubeletClient, "--clusterrole=system:kubelet-api-admin", "--user="+kubeletClient)
	if err != nil {
		return err
	}
	_, err = c.kubectl("apply", "-f", filepath.Join(root, "docs", "collect", "rbac.yaml"))
	return err
}

// condition is a condition of a node as the API has it.
type condition struct{ Type, Status, Reason, Message string }

// readyCondition returns the condition Ready of a node; its zero when the API has none.
func (c *cluster) readyCondition(node string) condition {
	out, err := c.kubectl("get", "node", node, "-o", "json")
	if err != nil {
		return condition{}
	}
	var n struct {
		Status struct{ Conditions []condition }
	}
	if err := json.Unmarshal([]byte(out), &n); err != nil {
		return condition{}
	}
	for _, is := range n.Status.Conditions {
		if is.Type == "Ready" {
			return is
		}
	}
	return condition{}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
