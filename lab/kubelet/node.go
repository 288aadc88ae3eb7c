package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
	_ "unsafe" // for go:linkname

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// serve is a kubelet's life: PLEG, the CPU manager, the sync loop, the node's status, each in a
// loop of its own.
func serve(r *remoteRuntime) error {
	writeLog('I', "server.go:467", "Kubelet version", "kubeletVersion", "v1.26.15")
	g := &pleg{runtime: r, states: map[string]cri.ContainerState{}}
	if err := serveHTTP(g); err != nil {
		return err
	}
	writeLog('I', "server.go:1186", "Started kubelet")
	writeLog('I', "cpu_manager.go:214", "Starting CPU manager", "policy", "static")
	writeLog('I', "cpu_manager.go:215", "Reconciling", "reconcilePeriod", "10s")
	writeLog('I', "kubelet.go:2127", "Starting kubelet main sync loop")
	go func() {
		for {
			relist(g)
			time.Sleep(relistPeriod)
		}
	}()
	go func() {
		for done := map[string]bool{}; ; time.Sleep(10 * time.Second) {
			reconcileState(r, done)
		}
	}()
	go nodeStatus(g)
	go probeManager(r)
	syncLoop(g)
	return nil
}

//go:linkname syncLoop k8s.io/kubernetes/pkg/kubelet.(*Kubelet).syncLoop
//go:noinline
func syncLoop(g *pleg) {
	// base and max of the kubelet's back-off
	const first, last = 100 * time.Millisecond, 5 * time.Second
	for wait := first; ; {
		err := g.healthy()
		if err == nil {
			wait = first
			time.Sleep(first)
			continue
		}
		writeLog('E', "kubelet.go:2151", "Skipping pod synchronization", "err", fmt.Errorf("PLEG is not healthy: %w", err))
		time.Sleep(wait)
		wait = min(2*wait, last)
	}
}

// reconcileState is the static CPU manager after a pinned pod came: every container of the shared
// pool gets the CPUs that are left, one after the other, and again in ten seconds where that
// failed.
//
//go:linkname reconcileState k8s.io/kubernetes/pkg/kubelet/cm/cpumanager.(*manager).reconcileState
//go:noinline
func reconcileState(r *remoteRuntime, done map[string]bool) {
	text, err := os.ReadFile(pins)
	if err != nil {
		return // nobody came
	}
	for id := range strings.FieldsSeq(string(text)) {
		if done[id] {
			continue
		}
		if err := updateContainerResources(r, id); err != nil {
			writeLog('E', "remote_runtime.go:436", "UpdateContainerResources from runtime service failed", "err", err, "containerID", id)
			writeLog('E', "cpu_manager.go:470", "ReconcileState: failed to update container", "pod", "default/web", "containerName", "main", "containerID", id, "cpuSet", "0", "err", err)
			continue
		}
		done[id] = true
	}
}

//go:linkname updateContainerResources k8s.io/kubernetes/pkg/kubelet/cri/remote.(*remoteRuntimeService).UpdateContainerResources
//go:noinline
func updateContainerResources(r *remoteRuntime, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	_, err := r.client.UpdateContainerResources(ctx, &cri.UpdateContainerResourcesRequest{
		ContainerId: id, Linux: &cri.LinuxContainerResources{CpusetCpus: "0"},
	})
	return err
}

// nodeStatus tells every ten seconds what a kubelet would tell the API server, where it has
// changed.
func nodeStatus(g *pleg) {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	ready := true
	for ; ; time.Sleep(10 * time.Second) {
		err := g.healthy()
		if now := err == nil; now == ready {
			continue
		}
		if ready = !ready; ready {
			writeLog('I', "kubelet_node_status.go:696", "Recording event message for node", "node", name, "event", "NodeReady")
			continue
		}
		writeLog('I', "kubelet_node_status.go:696", "Recording event message for node", "node", name, "event", "NodeNotReady")
		since := time.Now()
		writeLog('I', "setters.go:552", "Node became not ready", "node", name, "condition",
			raw(fmt.Sprintf("{Type:Ready Status:False LastHeartbeatTime:%v LastTransitionTime:%v Reason:KubeletNotReady Message:PLEG is not healthy: %v}", since, since, err)))
	}
}
