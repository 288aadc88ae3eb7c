package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	_ "unsafe" // for go:linkname, which gives functions the names that a kubelet's goroutines show

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// relistPeriod lies between the end of a relist and the next (pkg/kubelet/kubelet.go).
	relistPeriod = time.Second
	// relistThreshold is the age of the last relist from which PLEG is unhealthy
	// (pkg/kubelet/pleg/generic.go).
	relistThreshold = 3 * time.Minute
)

// remoteRuntime is the client of the runtime, with a kubelet's deadline on every call.
type remoteRuntime struct{ client cri.RuntimeServiceClient }

// pleg relists: it alone sees that containers came and went.
type pleg struct {
	runtime *remoteRuntime
	states  map[string]cri.ContainerState

	mu       sync.Mutex
	relisted time.Time // when the last relist that got its lists began
}

// healthy says what is wrong with the age of the last relist.
func (g *pleg) healthy() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.relisted.IsZero() {
		return errors.New("pleg has yet to be successful")
	}
	if age := time.Since(g.relisted); age > relistThreshold {
		return fmt.Errorf("pleg was last seen active %v ago; threshold is %v", age, relistThreshold)
	}
	return nil
}

//go:linkname relist k8s.io/kubernetes/pkg/kubelet/pleg.(*GenericPLEG).Relist
//go:noinline
func relist(g *pleg) {
	began := time.Now()
	containers, err := getPods(g.runtime)
	if err != nil {
		writeLog('E', "generic.go:205", "GenericPLEG: Unable to retrieve pods", "err", err)
		return
	}
	g.mu.Lock()
	g.relisted = began
	g.mu.Unlock()
	seen := map[string]cri.ContainerState{}
	for _, c := range containers {
		if seen[c.Id] = c.State; g.states[c.Id] == c.State {
			continue
		}
		updateCache(g, c)
		change := "ContainerStarted"
		if c.State != cri.ContainerState_CONTAINER_RUNNING {
			change = "ContainerDied"
		}
		pod := c.Labels["io.kubernetes.pod.namespace"] + "/" + c.Labels["io.kubernetes.pod.name"]
		event := fmt.Sprintf("&{ID:%s Type:%s Data:%s}", c.Labels["io.kubernetes.pod.uid"], change, c.Id)
		writeLog('I', "kubelet.go:2219", "SyncLoop (PLEG): event for pod", "pod", pod, "event", raw(event))
	}
	g.states = seen
}

// raw is printed as it is.
type raw string

//go:linkname updateCache k8s.io/kubernetes/pkg/kubelet/pleg.(*GenericPLEG).updateCache
//go:noinline
func updateCache(g *pleg, c *cri.Container) {
	if err := podSandboxStatus(g.runtime, c.PodSandboxId); err != nil {
		writeLog('E', "kuberuntime_manager.go:1086", "PodSandboxStatus of sandbox for pod", "err", err, "podSandboxID", c.PodSandboxId, "pod", c.Labels["io.kubernetes.pod.name"])
		return
	}
	if err := containerStatus(g.runtime, c.Id); err != nil {
		writeLog('E', "remote_runtime.go:415", "ContainerStatus from runtime service failed", "err", err, "containerID", c.Id)
	}
}

//go:linkname getPods k8s.io/kubernetes/pkg/kubelet/kuberuntime.(*kubeGenericRuntimeManager).GetPods
//go:noinline
func getPods(r *remoteRuntime) ([]*cri.Container, error) {
	if err := listPodSandbox(r); err != nil {
		writeLog('E', "remote_runtime.go:269", "ListPodSandbox with filter from runtime service failed", "err", err, "filter", "nil")
		writeLog('E', "kuberuntime_sandbox.go:285", "Failed to list pod sandboxes", "err", err)
		return nil, err
	}
	containers, err := listContainers(r)
	if err != nil {
		writeLog('E', "remote_runtime.go:377", "ListContainers with filter from runtime service failed", "err", err, "filter", "&ContainerFilter{Id:,State:nil,PodSandboxId:,LabelSelector:map[string]string{},}")
		writeLog('E', "kuberuntime_container.go:479", "ListContainers failed", "err", err)
	}
	return containers, err
}

//go:linkname listPodSandbox k8s.io/kubernetes/pkg/kubelet/cri/remote.(*remoteRuntimeService).ListPodSandbox
//go:noinline
func listPodSandbox(r *remoteRuntime) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	_, err := r.client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	return err
}

//go:linkname listContainers k8s.io/kubernetes/pkg/kubelet/cri/remote.(*remoteRuntimeService).ListContainers
//go:noinline
func listContainers(r *remoteRuntime) ([]*cri.Container, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	answer, err := r.client.ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return nil, err
	}
	return answer.Containers, nil
}

//go:linkname containerStatus k8s.io/kubernetes/pkg/kubelet/cri/remote.(*remoteRuntimeService).ContainerStatus
//go:noinline
func containerStatus(r *remoteRuntime, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	_, err := r.client.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id})
	return err
}

//go:linkname podSandboxStatus k8s.io/kubernetes/pkg/kubelet/cri/remote.(*remoteRuntimeService).PodSandboxStatus
//go:noinline
func podSandboxStatus(r *remoteRuntime, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	_, err := r.client.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: id})
	return err
}
