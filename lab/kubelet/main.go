// Command kubelet plays a kubelet's part on the lab's node. It speaks CRI to the runtime, relists
// and updates resources as a kubelet does, with a kubelet's deadlines, and its log and its
// goroutines are spelled like those of Kubernetes 1.26, as far as this repository's observers read
// them. It knows no API server and restarts nothing.
//
//	kubelet run              relist, reconcile, probe, serve /healthz, /metrics and /debug/pprof
//	kubelet pod [FLAG] NAME  start a pod of one container, and print its ids as JSON
//	                         -network gives it a network of its own, -mount a directory of the node
//	kubelet stop CONTAINER   stop a container, within ten seconds
//	kubelet list             ask the runtime for all pods, once
//	kubelet network          ask the runtime whether the network of pods is ready
//	kubelet --version
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	socket = "unix:///run/containerd/containerd.sock"
	// requestTimeout is a kubelet's runtimeRequestTimeout.
	requestTimeout = 2 * time.Minute
	// probes lists containers with an exec probe, one a line: the id, then the command.
	probes = "/var/lib/kubelet/lab-probes"
	// pins lists containers, one id a line, that reconcile gives a new CPU set.
	pins = "/var/lib/kubelet/lab-pins"
	// token opens port 10250.
	token = "/etc/kubernetes/lab-token"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kubelet:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "--version" {
		fmt.Println("Kubernetes v1.26.15")
		return nil
	}
	conn, err := grpc.NewClient(socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	r := &remoteRuntime{client: cri.NewRuntimeServiceClient(conn)}
	switch {
	case len(args) == 1 && args[0] == "run":
		return serve(r)
	case len(args) > 1 && args[0] == "pod":
		return startPod(r, args[1:])
	case len(args) == 1 && args[0] == "list":
		_, err := getPods(r)
		return err
	case len(args) == 1 && args[0] == "network":
		return checkNetwork(r)
	case len(args) == 2 && args[0] == "stop":
		return stopContainer(r, args[1])
	}
	return errors.New("run, pod [FLAG] NAME, stop CONTAINER, list, network, or --version")
}

// startPod starts a pod in the way of a kubelet: sandbox, container, start.
func startPod(r *remoteRuntime, args []string) error {
	flags := flag.NewFlagSet("pod", flag.ContinueOnError)
	network := flags.Bool("network", false, "a network of its own, by the network plugin of the node")
	mount := flags.String("mount", "", "a directory of the node that the container has at /data")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("pod takes one name")
	}
	name := flags.Arg(0)
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	uid := fmt.Sprintf("%08x-1ab0-4000-8000-%012x", os.Getpid(), time.Now().UnixNano()&0xffffffffffff)
	linux := &cri.LinuxPodSandboxConfig{
		CgroupParent:    "kubepods-besteffort.slice",
		SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: &cri.NamespaceOption{Network: cri.NamespaceMode_NODE}},
	}
	if *network {
		linux.SecurityContext.NamespaceOptions.Network = cri.NamespaceMode_POD
	}
	var mounts []*cri.Mount
	if *mount != "" {
		mounts = []*cri.Mount{{HostPath: *mount, ContainerPath: "/data"}}
	}
	labels := map[string]string{"io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": uid, "io.kubernetes.container.name": "main"}
	sandbox := &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Name: name, Uid: uid, Namespace: "default"},
		LogDirectory: "/var/log/pods/default_" + name + "_" + uid, Labels: labels, Linux: linux,
	}
	box, err := r.client.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: sandbox})
	if err != nil {
		return err
	}
	created, err := r.client.CreateContainer(ctx, &cri.CreateContainerRequest{
		PodSandboxId: box.PodSandboxId, SandboxConfig: sandbox,
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "main"}, Image: &cri.ImageSpec{Image: "lab.example/busybox:1"},
			Command: []string{"/bin/busybox", "sh", "-c", "trap 'exit 0' TERM; while :; do busybox sleep 1; done"},
			LogPath: "main/0.log", Labels: labels, Mounts: mounts,
			Linux: &cri.LinuxContainerConfig{Resources: &cri.LinuxContainerResources{CpuShares: 2}},
		},
	})
	if err != nil {
		return err
	}
	if _, err := r.client.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: created.ContainerId}); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]string{"sandbox": box.PodSandboxId, "container": created.ContainerId})
}

// checkNetwork says why the network of pods is not ready.
func checkNetwork(r *remoteRuntime) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	answer, err := r.client.Status(ctx, &cri.StatusRequest{})
	if err != nil {
		return err
	}
	for _, c := range answer.Status.Conditions {
		if c.Type == cri.NetworkReady && !c.Status {
			return errors.New(c.Message)
		}
	}
	return nil
}

func stopContainer(r *remoteRuntime, id string) error {
	const grace = 10 // seconds
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout+grace*time.Second)
	defer cancel()
	_, err := r.client.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: id, Timeout: grace})
	return err
}
