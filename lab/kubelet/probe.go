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

const (
	probePeriod  = 10 * time.Second
	probeTimeout = time.Second
)

// probeManager gives every container that is listed in probes a worker, as a kubelet does.
func probeManager(r *remoteRuntime) {
	for known := map[string]bool{}; ; time.Sleep(time.Second) {
		text, err := os.ReadFile(probes)
		if err != nil {
			continue // no container has a probe
		}
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); len(words) > 1 && !known[words[0]] {
				known[words[0]] = true
				go runWorker(r, words[0], words[1:])
			}
		}
	}
}

//go:linkname runWorker k8s.io/kubernetes/pkg/kubelet/prober.(*worker).run
//go:noinline
func runWorker(r *remoteRuntime, container string, command []string) {
	for ; ; time.Sleep(probePeriod) {
		answer, err := execSync(r, container, command)
		switch {
		case err != nil:
			writeLog('E', "remote_runtime.go:496", "ExecSync cmd from runtime service failed", "err", err, "containerID", container, "cmd", raw(fmt.Sprint(command)))
			writeLog('E', "prober.go:111", "Probe errored", "err", err, "probeType", "Liveness", "pod", "default/probed", "containerName", "main")
		case answer.ExitCode != 0:
			writeLog('I', "prober.go:114", "Probe failed", "probeType", "Liveness", "pod", "default/probed", "containerName", "main", "probeResult", "failure", "output", string(answer.Stderr))
		}
	}
}

// execSync waits, as a kubelet does, for the probe's time and for that of any request.
//
//go:linkname execSync k8s.io/kubernetes/pkg/kubelet/cri/remote.(*remoteRuntimeService).ExecSync
//go:noinline
func execSync(r *remoteRuntime, container string, command []string) (*cri.ExecSyncResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout+probeTimeout)
	defer cancel()
	return r.client.ExecSync(ctx, &cri.ExecSyncRequest{ContainerId: container, Cmd: command, Timeout: int64(probeTimeout / time.Second)})
}
