package systemd

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/daemon"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Bus is what dbus-daemon 1.6 to 1.16 and dbus-broker say, and programs when
// the bus or systemd behind it did not serve them: systemd's tools, and runc 1.0-rc6
// to 1.4 in the logs of those who ran it.
var Bus = table.Table{
	Component: "dbus",
	Relays:    []string{"kubelet", "containerd", "dockerd", "crio", "systemd", table.HostProgram},
	Rows: []table.Row{
		{[]string{"maximum number of active connections", "exceeded its ", "disconnected as it does not have the resources", "maximum number of pending replies for "}, busLimit},
		{[]string{"Failed to activate service ", "PolicyKit1 timed out", "systemd1 timed out", "login1 timed out", "StartServiceByName for "}, activationTimeout},
		{[]string{"Argument list too long", "manager has too many units"}, unitsFull},
		{[]string{"destination has a full message queue"}, busQueueFull},
		{[]string{namesFailed + "Connection timed out"}, busSilent},
		{systemdWaits, systemdTimeout},
		{[]string{": Connection timed out", "DBus.Error.NoReply", "DBus.Error.Timeout", "DBus.Error.TimedOut"}, busCallTimeout},
		{[]string{"sd-bus call: "}, crunCallFailed},
		{[]string{"system_bus_socket", "run/systemd/private", "dbus connection failed after", "ailed to connect to bus: ", "ailed to connect to system bus: ", "ailed to get D-Bus connection: "}, busUnreachable},
		{managerWaits, managerWithoutBus},
		{[]string{"Too many concurrent connections, refusing"}, managerRefuses},
		{[]string{"Failed to start message bus: "}, busNotStarted},
	},
}

// systemdWaits are what tools of systemd, runc and the kubelet say of a wait for systemd.
var systemdWaits = []string{
	"Failed to start transient scope unit: ", "Failed to start session scope ",
	"Failed to list units: ", "Failed to reload daemon: ",
	"Failed to get properties: ", "Could not get properties: ", "Failed to list jobs: ", "Failed to list unit files: ",
	"Failed to list sessions: ", namesFailed, "Failed to execute operation: ", "Failed to retrieve unit ", "Failed to get unit ",
	"waiting for systemd to create ", "waiting for systemd to remove ",
	"waiting for StartTransientUnit",
	"waiting for StopUnit", "ailed to create session: ", "Failed to start user service", "Failed to abandon session scope", "Failed to stop session scope",
	"Failed to start unit ", "Failed to wait for response: ",
}

// namesFailed is busctl, which did not get the names of the clients. Only the bus knows them.
const namesFailed = "Failed to list names: "

// busSilent is a question to the bus itself that got no answer in 25 s:
//
//	Failed to list names: Connection timed out      (busctl; src/busctl/busctl.c)
func busSilent(*event.Record) (event.Event, bool) {
	e := event.New(event.KindBusSilent, "the bus itself did not answer in time")
	e.Component, e.Source = "dbus", "dbus.log"
	return e, true
}

// busLimit is the bus refusing what one user asks of it:
//
//	dbus-daemon  [system] The maximum number of active connections for UID 0 has been reached (max_connections_per_user=256)
//	its clients  Failed to open connection to "system" message bus: The maximum number of active connections for UID 0 has been reached
//	dbus-daemon  [system] The maximum number of active connections has been reached (max_completed_connections=2048)
//	dbus-daemon  [system] The maximum number of pending replies for ":1.5" (uid=0 pid=1203 comm="/usr/bin/kubelet") has been reached (max_replies_per_connection=50000)
//	dbus-broker  UID 0 exceeded its 'bytes' quota on UID 0.
//	dbus-broker  Peer :1.24 is being disconnected as it does not have the resources to receive a reply or unicast signal it expects.
func busLimit(r *event.Record) (event.Event, bool) {
	text := r.Raw
	if client, ok := scan.Between(text, "Peer ", " is being disconnected as it does not have the resources"); ok {
		return event.New(
			event.KindBusLimit, "the bus shuts out its client "+client+", which does not read what it is sent", event.FieldLimit.Text("queue"),
			event.FieldOnContainer.Bool(false),
		), daemon.Writer(r.Unit) == "dbus" || r.Unit == ""
	}
	if client, ok := scan.Between(text, "number of pending replies for ", " has been reached"); ok { // who does not answer it is not said
		return event.New(
			event.KindBusLimit, "the bus refuses further calls of "+client+", which waits for too many answers", event.FieldLimit.Text("replies"),
			event.FieldOnContainer.Bool(false),
		), daemon.Writer(r.Unit) == "dbus" || r.Unit == ""
	}
	uid := scan.Digits(scan.After(text, "active connections for UID "))
	limit := "connections"
	if uid == "" {
		quota, rest, ok := strings.Cut(text, " exceeded its '")
		if strings.Contains(text, "number of active connections has been reached") { // of all users together
			return event.New(
				event.KindBusLimit, "the bus takes no more connections, of root as of others: its limit of all is reached",
				event.FieldUID.Text("0"), event.FieldLimit.Text(limit), event.FieldOnContainer.Bool(table.AboutContainer(r)),
			), true
		}
		if !ok || !strings.Contains(rest, "' quota on UID ") {
			return event.Event{}, false
		}
		uid = scan.Digits(quota[strings.LastIndex(quota, " ")+1:])
		limit, _, _ = strings.Cut(rest, "'")
	}
	return event.New(
		event.KindBusLimit, "the bus refuses UID "+uid+": its limit of "+limit+" is reached",
		event.FieldUID.Text(uid), event.FieldLimit.Text(limit), event.FieldOnContainer.Bool(table.AboutContainer(r)),
	), uid != ""
}

// activationTimeout is the bus that does not know who serves a name. For
// systemd's own name it means that PID 1 has lost its connection to the bus.
//
//	[system] Failed to activate service 'org.freedesktop.systemd1': timed out (service_start_timeout=25000ms)
//	Activation of org.freedesktop.PolicyKit1 timed out      (dbus ≤ 1.10)
//	Error calling StartServiceByName for org.freedesktop.PolicyKit1: Timeout was reached (g-io-error-quark, 24)      (GLib, in pkttyagent and others)
//	Failed to get properties: Failed to activate service 'org.freedesktop.systemd1': timed out (…)      (systemctl)
//	Cannot start container <id>: [8] System error: Activation of org.freedesktop.systemd1 timed out      (docker 1.6 to 1.8)
func activationTimeout(r *event.Record) (event.Event, bool) {
	text := r.Raw
	const failed = "Failed to activate service '"
	service, ok := scan.Between(text, failed, "'")
	asked := scan.ContainsAny(text, []string{": " + failed, ": Activation of "})
	switch daemon.Writer(r.Unit) {
	case "dbus", "systemd": // they say so of somebody else's request
		asked = false
	}
	if !ok {
		service, ok = scan.Between(text, "Activation of ", " ")
	}
	if !ok {
		service, ok = scan.Between(text, "StartServiceByName for ", ": ")
	}
	if !ok || !scan.ContainsAny(text, []string{"timed out", "Timeout was reached"}) {
		return event.Event{}, false
	}
	e := event.New(event.KindActivationTimeout, "nobody answers for "+service+" on the bus")
	e.Fields = []event.Field{event.FieldService.Text(service), event.FieldOnContainer.Bool(table.AboutContainer(r))}
	if asked {
		e.AddFields(event.FieldAsked.Bool(true))
	}
	return e, true
}

// busQueueFull is a message for PID 1 that the bus drops because PID 1 does not read:
//
//	Rejected: destination has a full message queue, 0 matched rules; type="method_call", sender=":1.24" (uid=0 pid=1609 comm="…")
//	interface="…" member="StartTransientUnit" … destination="org.freedesktop.systemd1" (uid=0 pid=1 comm="/usr/lib/systemd/systemd …")
//
// Most such lines are about signals for a client that sleeps (systemd/systemd#21227).
func busQueueFull(r *event.Record) (event.Event, bool) {
	receiver := scan.After(r.Raw, ` destination="`, ` destination=\"`)
	if !strings.Contains(receiver, "(uid=0 pid=1 ") {
		return event.Event{}, false
	}
	e := event.New(event.KindQueueFull, "PID 1 does not read its messages: its queue is full")
	member, ok := scan.Between(r.Raw, `member="`, `"`)
	if !ok {
		member, _ = scan.Between(r.Raw, `member=\"`, `\"`)
	}
	e.Fields = []event.Field{event.FieldMember.Text(member), event.FieldOnContainer.Bool(table.AboutContainer(r))}
	return e, true
}

// systemdTimeout is a program that waited for systemd in vain:
//
//	Failed to start transient scope unit: Connection timed out         (systemd-run, in the kubelet's log: it mounts with it)
//	Failed to list units: Connection timed out                         (systemctl; the others of loginctl, localectl, older systemctl)
//	Failed to reload daemon: No buffer space available
//	pam_systemd(sshd:session): Failed to create session: Connection timed out      (of anybody's login)
//	Timeout waiting for systemd to create cri-containerd-<id>.scope    (runc ≥ 1.0-rc93, after 30 s, an error)
//	Timed out while waiting for StartTransientUnit(x.scope) completion signal from dbus. Continuing...     (rc6 to rc92, after 1 s)
//
// The kubelet makes the slices of pods itself, by runc's library.
func systemdTimeout(r *event.Record) (event.Event, bool) {
	text := r.Raw
	asked := scan.After(text, "Timeout waiting for systemd to ", "imed out while waiting for ")
	unit, _, _ := strings.Cut(asked, ".slice")
	runc := asked != "" && (unit == asked || strings.Contains(unit, ".scope"))
	if asked == "" && !scan.ContainsAny(
		text,
		[]string{": Connection timed out", ": No buffer space available", ": Transport endpoint is not connected"},
	) {
		return event.Event{}, false
	}
	e := event.New(event.KindSystemdTimeout, "systemd did not answer in time")
	if r.Unit == "" && strings.HasPrefix(text, "Failed to ") { // as a prompt shows it
		e.Component, e.Source = "systemctl", "dbus.log"
	}
	e.IDs.Container = scan.FindID(text)
	e.Fields = []event.Field{event.FieldRunc.Bool(runc), event.FieldOnContainer.Bool(asked != "" || table.AboutContainer(r))}
	return e, true
}

// busCallTimeout is a tool whose call over the bus got no answer, in words that say less:
//
//	Failed to get credentials: Connection timed out                       busctl, systemctl and others of systemd
//	Call failed: Connection timed out                                     busctl call
//	Error org.freedesktop.DBus.Error.NoReply: Did not receive a reply. …  dbus-send, gdbus and programs that print their error
//
// A peer that has left the bus is NoReply, too, and no wait.
func busCallTimeout(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	before, tool := strings.CutSuffix(strings.TrimRight(text, "."), ": Connection timed out")
	tool = tool && (r.Unit == "" || table.WriterOf(r.Unit) == table.HostProgram) && (strings.HasPrefix(before, "Failed to ") || before == "Call failed") &&
		!scan.ContainsAny(text, []string{"connect to", "resolve", "download", "fetch"})
	mute := strings.Contains(text, "DBus.Error.") && !strings.Contains(text, "disconnected from message bus")
	if scan.ContainsAny(text, systemdWaits) || strings.Contains(text, "Failed to introspect object") {
		return event.Event{}, false // it is told by those words
	}
	e := event.New(event.KindSystemdTimeout, "a call over the bus got no answer in time", event.FieldRunc.Bool(false), event.FieldOnContainer.Bool(table.AboutContainer(r)))
	e.IDs.Container = scan.FindID(text)
	return e, tool || mute
}

// crunCallFailed is crun (all releases with systemd), in the words of who ran it: systemd did not
// answer in 25 s, or the connection to the bus broke:
//
//	Container creation error: sd-bus call: Connection timed out
//	sd-bus call: Transport endpoint is not connected      (also: Connection reset by peer)
//
// or has not the slice any more that the kubelet had it make:
//
//	sd-bus call: Unit kubepods-burstable-pod1864dd05….slice not found.: I/O error
func crunCallFailed(r *event.Record) (event.Event, bool) {
	reason := strings.TrimSpace(scan.After(r.Raw, "sd-bus call: "))
	e := event.New(event.KindSystemdTimeout, "systemd did not answer crun in time", event.FieldRunc.Bool(true), event.FieldOnContainer.Bool(true))
	broke, _, _ := strings.Cut(reason, `"`)
	if !strings.HasPrefix(reason, "Connection timed out") {
		e = event.New(
			event.KindBusUnreachable, "crun's connection to the bus broke", event.FieldError.Text(strings.TrimRight(broke, ` \n`)),
			event.FieldRunc.Bool(true), event.FieldAgain.Bool(false), event.FieldOnContainer.Bool(true),
		)
	}
	if slice, _, ok := strings.Cut(broke, " not found."); ok {
		e = event.New(
			event.KindRuncFailed, "crun create failed: systemd does not know "+strings.TrimPrefix(slice, "Unit "), event.FieldVerb.Text("create"),
			event.FieldReason.Text("systemd"), event.FieldError.Text(strings.TrimRight(broke, ` \n`)),
		)
		e.IDs.Container = scan.FindID(r.Raw)
		return e, strings.HasPrefix(slice, "Unit ")
	}
	e.IDs.Container = scan.FindID(r.Raw)
	return e, scan.ContainsAny(reason, []string{"Connection timed out", "Transport endpoint is not connected", "Connection reset by peer"})
}

// busUnreachable is a program that could not connect to the bus, or to PID 1's own socket:
//
//	dial unix /run/systemd/private: connect: resource temporarily unavailable      (its backlog is full: PID 1 accepts nothing)
//	dial unix /run/dbus/system_bus_socket: connect: connection refused
//	dbus connection failed after several retries: …      (runc ≥ 1.4, after seven tries and some 13 s)
//	Failed to connect to bus: Connection refused      (systemctl, busctl; logind "to system bus")
//	Failed to get D-Bus connection: Connection refused      (systemctl up to 229)
func busUnreachable(r *event.Record) (event.Event, bool) {
	text := r.Raw
	again := strings.Contains(text, "dbus connection failed after several retries")
	reason, _, _ := strings.Cut(scan.After(text, "dbus connection failed after several retries: "), `"`)
	if !again {
		if !scan.ContainsAny(text, []string{"dial unix ", "ailed to connect to bus: ", "ailed to connect to system bus: ", "ailed to get D-Bus connection: "}) || !scan.ContainsAny(text, connectErrors) {
			return event.Event{}, false
		}
		reason, _, _ = strings.Cut(scan.After(text, "dial unix ", "ailed to connect to bus: ", "ailed to connect to system bus: ", "ailed to get D-Bus connection: "), `"`)
	}
	e := event.New(event.KindBusUnreachable, "nobody takes a connection to the bus")
	if strings.Contains(reason, "systemd/private") {
		e.Text = "PID 1 takes no connection"
	}
	e.Fields = []event.Field{
		event.FieldError.Text(strings.TrimRight(reason, `\ `)), event.FieldRunc.Bool(again), event.FieldAgain.Bool(again),
		event.FieldOnContainer.Bool(again || table.AboutContainer(r)),
	}
	e.IDs.Container = scan.FindID(text)
	return e, true
}

// managerRefuses is PID 1 with as many connections to its own socket as it takes, 512 up to 232 and
// 4096 since: it takes none from systemctl or from a runtime that asks it there.
//
//	Too many concurrent connections, refusing
func managerRefuses(r *event.Record) (event.Event, bool) {
	return event.New(
		event.KindBusUnreachable, "PID 1 takes no more connections: too many are open", event.FieldError.Text(strings.TrimSpace(r.Message())),
		event.FieldRunc.Bool(false), event.FieldAgain.Bool(false), event.FieldOnContainer.Bool(false),
	), table.FromServiceManager(r) || r.Unit == ""
}

// managerWaits are what PID 1 says of a call to the bus.
var managerWaits = []string{
	"ailed to set up API bus: ", "ailed to get initial list of names: ", "ailed to subscribe to activation signal: ", "ailed to register name: ",
	"ailed to register match for Disconnected", "ailed to subscribe to NameOwnerChanged",
}

// managerWithoutBus is PID 1 itself, to which the bus does not answer when it registers there
// (core/dbus.c); it waits 25 s for each:
//
//	Failed to get initial list of names: Connection timed out      (229 to 237)
//	Failed to set up API bus: Connection timed out
//	Failed to subscribe to activation signal: Connection timed out      (238 to 241)
//	Failed to register name: Connection timed out
func managerWithoutBus(r *event.Record) (event.Event, bool) {
	text := strings.TrimSpace(r.Message())
	e := event.New(
		event.KindBusUnreachable, "the bus does not serve PID 1", event.FieldError.Text(text), event.FieldRunc.Bool(false),
		event.FieldAgain.Bool(false), event.FieldOnContainer.Bool(false),
	)
	return e, table.FromServiceManager(r) && strings.HasPrefix(text, "Failed to ") && scan.ContainsAny(text, connectErrors)
}

// busNotStarted is the last word of a dbus-daemon that cannot start (bus/main.c):
//
//	dbus-daemon[3048]: Failed to start message bus: Failed to open "/etc/selinux/targeted/contexts/dbus_contexts"
func busNotStarted(r *event.Record) (event.Event, bool) {
	reason := scan.After(r.Message(), "Failed to start message bus: ")
	return event.New(event.KindCrash, "the bus does not start: "+reason, event.FieldReason.Text(reason)),
		reason != "" && daemon.Writer(r.Unit) == "dbus"
}

// connectErrors are the errors of connect(2) that speak of a daemon that is gone or does not
// listen; that there is no such file is what a container without a bus says, too.
var connectErrors = []string{
	"onnection refused", "esource temporarily unavailable", "onnection timed out", "ransport endpoint is not connected",
	"i/o timeout",
}
