package main

import (
	"fmt"
	"time"
)

// victim is the container of the incident.
const victim = "40585f7349a6b41b84d0fef1dbd3c5d2e2f3e0bd4c3ed1b7c6d6a2f4f6a1c0de"

// exitEvent is a TaskExit as containerd 1.6 prints it.
func exitEvent(exited time.Time, id string) string {
	return fmt.Sprintf("&TaskExit{ContainerID:%s,ID:%s,Pid:2375,ExitStatus:137,ExitedAt:%s +0000 UTC,XXX_unrecognized:[],}",
		id, id, exited.Format("2006-01-02 15:04:05.000000000"))
}

// nodeIncident is what both daemons log of one incident, whose container exits at start. It lasts
// for less than four minutes.
func nodeIncident(start time.Time, id string) (kubelet, containerd []moment) {
	return kubeletIncident(start), containerdIncident(start, id)
}

// containerdIncident is what containerd 1.6.20 logged in a real run of this
// kind: the exit, the update that meets it, the exit handler that fails every
// ten seconds, and the update that fails when the shim is gone.
func containerdIncident(start time.Time, id string) (moments []moment) {
	addMoment := func(after time.Duration, level, rest string) {
		at := start.Add(after)
		moments = append(moments, moment{at, logrusLine(at, level, rest)})
	}
	exit := exitEvent(start, id)
	addMoment(0, "debug", `msg="received exit event `+exit+`"`)
	begins := start.Add(1460 * time.Millisecond)
	moments = append(moments, moment{begins, updateBegins(begins, id)})
	for after := 10 * time.Second; after < 3*time.Minute; after += 13 * time.Second {
		addMoment(after, "error", `msg="failed to handle container TaskExit event `+exit+
			`" error="failed to stop container: failed to delete task: context deadline exceeded: unknown"`)
	}
	addMoment(3*time.Minute+32*time.Second, "error", fmt.Sprintf(`msg="UpdateContainerResources for \"%s\" failed" `+
		`error="failed to update resources: failed to update resources: cannot update a deleted process: unknown"`, id))
	return moments
}

// kubeletIncident is the kubelet's side: relist hangs in ListContainers from 2 s
// on, is unhealthy after three minutes, and recovers with the update.
func kubeletIncident(start time.Time) (moments []moment) {
	addMoment := func(after time.Duration, severity, source, text string) {
		at := start.Add(after)
		moments = append(moments, moment{at, klogLine(at, severity, source, text)})
	}
	const hung = 2 * time.Second
	for after, step := hung+3*time.Minute+100*time.Millisecond, 100*time.Millisecond; after < 3*time.Minute+32*time.Second; after += step {
		addMoment(after, "E", "kubelet.go:2010", fmt.Sprintf(
			`"Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active %s ago; threshold is 3m0s"`, after-hung))
		step = min(2*step, 5*time.Second) // the back-off of the kubelet's sync loop
	}
	addMoment(3*time.Minute+40*time.Second, "I", "kubelet_node_status.go:581",
		`"Recording event message for node" node="node-1" event="NodeReady"`)
	return moments
}
