package main

import (
	"fmt"
	"time"
)

// victim is the container of the incident.
const victim = "40585f7349a6b41b84d0fef1dbd3c5d2e2f3e0bd4c3ed1b7c6d6a2f4f6a1c0de"

// exitEvent is a TaskExit as containerd 1.6 prints it.
func exitEvent() string {
	exited := incidentStart.Format("2006-01-02 15:04:05.000000000")
	return fmt.Sprintf("&TaskExit{ContainerID:%s,ID:%s,Pid:2375,ExitStatus:137,ExitedAt:%s +0000 UTC,XXX_unrecognized:[],}", victim, victim, exited)
}

// containerdIncident is what containerd 1.6.20 logged in a real run of this
// kind: the exit, the update that meets it, the exit handler that fails every
// ten seconds, and the update that fails when the shim is gone.
var containerdIncident = func() []moment {
	moments := []moment{
		{0, func(t time.Time) string { return logrusLine(t, "debug", `msg="received exit event `+exitEvent()+`"`) }},
		{1460 * time.Millisecond, func(t time.Time) string { return updateBegins(t, victim) }},
	}
	for after := 10 * time.Second; after < 3*time.Minute; after += 13 * time.Second {
		moments = append(moments, moment{after, func(t time.Time) string {
			return logrusLine(t, "error", `msg="failed to handle container TaskExit event `+exitEvent()+`" error="failed to stop container: failed to delete task: context deadline exceeded: unknown"`)
		}})
	}
	return append(moments, moment{3*time.Minute + 32*time.Second, func(t time.Time) string {
		return logrusLine(t, "error", fmt.Sprintf(`msg="UpdateContainerResources for \"%s\" failed" error="failed to update resources: failed to update resources: cannot update a deleted process: unknown"`, victim))
	}})
}()

// kubeletIncident is the kubelet's side: relist hangs in ListContainers from 2 s
// on, is unhealthy after three minutes, and recovers with the update.
var kubeletIncident = func() []moment {
	const hung = 2 * time.Second
	var moments []moment
	for after, step := hung+3*time.Minute+100*time.Millisecond, 100*time.Millisecond; after < 3*time.Minute+32*time.Second; after += step {
		age := after - hung
		moments = append(moments, moment{after, func(t time.Time) string {
			return klogLine(t, "E", "kubelet.go:2010", fmt.Sprintf(`"Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active %s ago; threshold is 3m0s"`, age))
		}})
		step = min(2*step, 5*time.Second) // the back-off of the kubelet's sync loop
	}
	return append(moments, moment{3*time.Minute + 40*time.Second, func(t time.Time) string {
		return klogLine(t, "I", "kubelet_node_status.go:581", `"Recording event message for node" node="node-1" event="NodeReady"`)
	}})
}()
