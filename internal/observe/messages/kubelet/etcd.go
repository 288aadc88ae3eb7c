package kubelet

import (
	"regexp"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Etcd is what etcd 3.2 to 3.6 says of being slow, in a log of its own or in that of a program that
// holds it, as k3s; and what kine says, which stands in its place before another database.
var Etcd = table.Table{Component: "etcd", Relays: []string{"", "kubelet", "kernel", table.HostProgram}, Unnamed: "etcd", Rows: []table.Row{
	{[]string{"slow fdatasync", "sync duration of "}, etcdSyncSlow},
	{[]string{"apply request took too long", "took too long (", "apply entries took too long ["}, etcdRequestSlow},
	{[]string{"v3rpc/interceptor.go"}, etcdRequestTold},
	{[]string{"waiting for ReadIndex response took too long"}, etcdReadWaits},
	{[]string{"Txn call completed", "Txn call finished", "Transaction committed"}, etcdTransactionSlow},
	{[]string{"leader failed to send out heartbeat on time", ": failed to send out heartbeat on time", "failed to send out heartbeat on time ("}, etcdHeartbeatLate},
	{[]string{" lost leader ", "stepped down to follower since quorum is not active"}, etcdLeaderLost},
	{[]string{"database space exceeded", "etcdserver: no space", "alarm:NOSPACE", "Active Alarm(s): NOSPACE", "alarm raised"}, etcdDatabaseFull},
	{
		[]string{"etcdserver: request timed out", "etcdserver: leader changed", "etcdserver: no leader", "etcdserver: too many requests", "[-]etcd failed", "etcd-readiness failed", "etcd,etcd-readiness check failed", "Failed to check local etcd status", "Failed to test etcd connection", "Failed to test data store connection", "Auto sync endpoints failed", "is unhealthy: failed to commit proposal", "error creating storage factory: ", "nable to create storage backend"},
		etcdFails,
	},
	{[]string{":2379: connect: connection refused"}, etcdGone},
	{[]string{"prober detected unhealthy status", "rafthttp: health check for peer "}, etcdPeerLost},
	{[]string{"error while range on /registry", "error in txn: ", "database is locked"}, kineFails},
}}

// longRequest is how long a request takes at least to count: etcd complains from 100 ms on, as it
// does on every node that is busy for a moment.
const longRequest = time.Second

func etcdEvent(text string, fields ...event.Field) event.Event {
	e := event.New(event.KindEtcdTrouble, text, fields...)
	e.Component, e.Source = "etcd", "etcd.log" // k3s holds it in the kubelet's process
	return e
}

// etcdSyncSlow is the log that etcd writes before it answers a change, and the disk that took
// seconds for it:
//
//	≤ 3.4  wal: sync duration of 2.133017562s, expected less than 1s
//	       etcd[911]: sync duration of 2.133017562s, expected less than 1s      (in the journal, which names no package)
//	≥ 3.4  {"level":"warn","ts":"…","caller":"wal/wal.go:806","msg":"slow fdatasync","took":"7.454439372s","expected-duration":"1s"}
//	copied slow fdatasync took 1.307701648s expected-duration 1s
func etcdSyncSlow(r *event.Record) (event.Event, bool) {
	took, ok := readTook(r.Raw, "sync duration of ", ",")
	return etcdEvent(
		"etcd's disk took "+took.Round(time.Millisecond).String()+" to write its log", event.FieldWhat.Text("sync"),
		event.FieldTook.Duration(took),
	), ok && (scan.ContainsAny(r.Raw, []string{"slow fdatasync", "wal: sync duration of "}) || r.Unit == "etcd" && strings.HasPrefix(r.Message(), "sync duration of "))
}

// etcdRequestSlow is a request that took etcd a second or more:
//
//	≤ 3.1  apply entries took too long [2.104118725s for 1 entries]
//	≤ 3.4  etcdserver: read-only range request "key:\"/registry/pods\" …" with result "…" took too long (3.419603095s) to execute
//	≥ 3.4  {"level":"warn",…,"msg":"apply request took too long","took":"9.997793255s","expected-duration":"100ms",…}
func etcdRequestSlow(r *event.Record) (event.Event, bool) {
	took, ok := readTook(r.Raw, " took too long (", ")")
	if !ok {
		took, ok = readTook(r.Raw, "apply entries took too long [", " for ")
	}
	return etcdEvent(
		"a request took etcd "+took.Round(time.Millisecond).String(), event.FieldWhat.Text("request"),
		event.FieldTook.Duration(took),
	), ok && took >= longRequest && scan.ContainsAny(r.Raw, []string{"apply request took too long", "apply entries took too long [", "etcdserver: "})
}

// etcdRequestTold is the same in the words of etcd's gRPC server, which warns of a request that
// took 300 ms or more (3.4 to 3.6):
//
//	{"level":"warn",…,"caller":"v3rpc/interceptor.go:197","msg":"request stats","start time":"…","time spent":"2.024605217s",…}
func etcdRequestTold(r *event.Record) (event.Event, bool) {
	took, ok := readTook(r.Raw, `"time spent":"`, `"`)
	return etcdEvent(
		"a request took etcd "+took.Round(time.Millisecond).String(), event.FieldWhat.Text("request"),
		event.FieldTook.Duration(took),
	), ok && took >= longRequest && strings.Contains(r.Raw, "request stats")
}

// etcdReadWaits is a member that asks its leader whether what it is about to read is still true,
// and has no answer after 500 ms (3.4.10 to 3.6):
//
//	{"level":"warn",…,"msg":"waiting for ReadIndex response took too long, retrying","sent-request-id":14176801930146863142,"retry-timeout":"500ms"}
func etcdReadWaits(*event.Record) (event.Event, bool) {
	return etcdEvent("a member of etcd waits for its leader before it answers a read", event.FieldWhat.Text("read")), true
}

// etcdTransactionSlow is one change as the API server, or k3s, traces it (it prints what took half
// a second or more). The store behind it may be etcd or kine. The second of two times in brackets
// is that of the step:
//
//	≤ 1.19  Trace[463620426]: [9.039221883s] [9.036212381s] Transaction committed
//	≤ 1.23  Trace[463620426]: ---"Transaction committed" 9036ms (20:45:00.776)
//	≥ 1.23  Trace[1414586150]:  ---"Txn call completed" 6993ms (13:16:19.823)]
//	        Trace[1414586150]: ---"Txn call finished" err:<nil> 6993ms (13:16:19.823)
func etcdTransactionSlow(r *event.Record) (event.Event, bool) {
	step := tracedStep.FindStringSubmatch(strings.ReplaceAll(r.Raw, `\"`, `"`))
	if step == nil {
		return event.Event{}, false
	}
	took, err := time.ParseDuration(step[1] + step[2])
	return etcdEvent(
		"the store of the API server took "+took.Round(time.Millisecond).String()+" for one change", event.FieldWhat.Text("change"),
		event.FieldTook.Duration(took),
	), err == nil && took >= longRequest
}

// tracedStep is a transaction in a trace, with the time that it took in either form.
var tracedStep = regexp.MustCompile(
	`Trace\[\d+\]: *(?:\[[\w.µ]+\] \[([\w.µ]+)\] Transaction committed|` +
		`--- ?"(?:Transaction committed|Txn call (?:completed|finished))" (?:\S+:.*? )?(\d+ms)\b)`,
)

// etcdHeartbeatLate is the leader that does not come to say that it lives:
//
//	≤ 3.0  failed to send out heartbeat on time (deadline exceeded for 377.70994ms)      (in the journal)
//	≤ 3.4  etcdserver: failed to send out heartbeat on time (exceeded the 100ms timeout for 2.103s, to 8e9e05c52164694d)
//	≥ 3.4  {"level":"warn",…,"msg":"leader failed to send out heartbeat on time; took too long, leader is overloaded likely from slow disk",…}
func etcdHeartbeatLate(*event.Record) (event.Event, bool) {
	return etcdEvent("etcd's leader comes late to say that it lives", event.FieldWhat.Text("heartbeat")), true
}

// etcdLeaderLost is a member that hears nothing of the leader, or a leader that does not hear of
// most of the members and is none any more, so that no change is made until there is one:
//
//	raft2022/05/10 04:41:50 INFO: raft.node: 8e9e05c52164694d lost leader 91bc3c398fb3c146 at term 12
//	{"level":"info",…,"msg":"raft.node: 8e9e05c52164694d lost leader 91bc3c398fb3c146 at term 12"}
//	{"level":"warn",…,"msg":"141adac8c067b6dd stepped down to follower since quorum is not active"}
func etcdLeaderLost(r *event.Record) (event.Event, bool) {
	if strings.Contains(r.Raw, "since quorum is not active") {
		return etcdEvent("etcd's leader steps down: it does not hear of most of the members", event.FieldWhat.Text("leader")), true
	}
	return etcdEvent("a member of etcd has lost its leader", event.FieldWhat.Text("leader")),
		strings.Contains(r.Raw, "raft.node: ") && strings.Contains(r.Raw, " at term ")
}

// etcdDatabaseFull is etcd that takes no more writes, as its database has reached its quota (by
// default 2 GiB): in its own log, in that of whoever asked it, or in etcdctl's list of alarms:
//
//	… "Failed to update lease" err="etcdserver: mvcc: database space exceeded"
//	≤ 3.4  etcdserver: failed to apply request "header:<ID:…>" with response "" took (2.78µs) to execute, err is etcdserver: no space
//	≥ 3.4  {"level":"warn",…,"msg":"failed to apply request",…,"response":"","error":"etcdserver: no space"}
//	{"level":"warn",…,"msg":"alarm raised","alarm":"NOSPACE","raised-by-member-id":"8e9e05c52164694d"}
//	memberID:13803658152347727308 alarm:NOSPACE
//	{"level":"error",…,"msg":"unhealthy cluster","endpoint":"127.0.0.1:2379","error":"Active Alarm(s): NOSPACE"}
func etcdDatabaseFull(r *event.Record) (event.Event, bool) {
	return etcdEvent("etcd's database has reached its quota, and etcd takes no more writes", event.FieldWhat.Text("full")),
		scan.ContainsAny(r.Raw, []string{"mvcc: database space exceeded", "etcdserver: no space", "NOSPACE"})
}

// etcdFails is etcd that gives an answer in vain, or none, in the words of whoever asked it:
//
//	status.go:71] apiserver received an error that is not an metav1.Status: … etcdserver: request timed out
//	Error from server: etcdserver: leader changed
//	… "Failed to update lease" err="etcdserver: too many requests"                          (more changes wait than it takes)
//	≤ 3.4  etcdserver: read-only range request "key:…" with result "error:etcdserver: leader changed" took too long (3.4s) to execute
//	[-]etcd failed: reason withheld                                                        (/readyz and /healthz of the API server)
//	instance.go:290] Error creating leases: error creating storage factory: context deadline exceeded       (kube-apiserver, which ends)
//	≤ 1.20  Unable to create storage backend: config (&{…}), err (context deadline exceeded)
//	127.0.0.1:2379 is unhealthy: failed to commit proposal: context deadline exceeded                       (etcdctl endpoint health)
//	level=error msg="Failed to check local etcd status for learner management: context deadline exceeded"      (k3s and rke2)
//	{"level":"info",…,"logger":"etcd-client","msg":"Auto sync endpoints failed.","error":"… context deadline exceeded"}     (a client of etcd)
//
// A client in a container writes with a logger of Go; what has no level there is of another
// program.
func etcdFails(r *event.Record) (event.Event, bool) {
	if r.Contained && r.Level == event.NoLevel && !strings.Contains(r.Raw, " | ") { // with it, etcd's own until 3.4
		return event.Event{}, false
	}
	said := "" // behind the last one: etcd's own log has its name before the request, too
	if i := strings.LastIndex(r.Raw, "etcdserver: "); i >= 0 {
		said = r.Raw[i+len("etcdserver: "):]
		if end := strings.IndexAny(said, "\"`"); end >= 0 { // or a block of code
			said = said[:end]
		}
	}
	text := "etcd does not answer, or not as it should"
	if said != "" {
		text = `etcd answers a request with "` + scan.Clip(said) + `"`
	}
	return etcdEvent(text, event.FieldWhat.Text("unanswered")), true
}

// etcdGone is a client of etcd that finds nobody at its port:
//
//	logging.go:59] [core] … grpc: addrConn.createTransport failed to connect to {Addr: "127.0.0.1:2379", …}. Err: connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:2379: connect: connection refused"
func etcdGone(r *event.Record) (event.Event, bool) {
	ofEtcd := scan.ContainsAny(r.Raw, []string{"127.0.0.1:2379", "[::1]:2379", "etcd"}) // others use that port, too, as TiDB
	return etcdEvent("nobody listens at etcd's port", event.FieldWhat.Text("gone")), ofEtcd
}

// etcdPeerLost is a member of etcd that does not reach another one, every few seconds:
//
//	≤ 3.4  rafthttp: health check for peer 91bc3c398fb3c146 could not connect: dial tcp 10.0.0.2:2380: connect: connection refused
//	≥ 3.5  {"level":"warn",…,"msg":"prober detected unhealthy status",…,"error":"dial tcp 10.0.0.2:2380: connect: connection refused"}
func etcdPeerLost(*event.Record) (event.Event, bool) {
	return etcdEvent("a member of etcd does not reach another one", event.FieldWhat.Text("peer")), true
}

// kineFails is kine, or k8s-dqlite, whose database does not answer; what it says of one that
// answers late stands with the API server:
//
//	level=error msg="error while range on /registry/health : query (try: 0): context deadline exceeded"
//	level=error msg="error in txn: exec (try: 5): database is locked"
//	status.go:71] apiserver received an error that is not an metav1.Status: sqlite3.Error{Code:5, ExtendedCode:5, err:"database is locked"}
//	controller.go:159] failed to update node lease, error: database is locked      (the API server repeats it)
func kineFails(r *event.Record) (event.Event, bool) {
	late, locked := strings.Contains(r.Raw, "context deadline exceeded"), strings.Contains(r.Raw, "database is locked")
	text := "kine's database does not answer in time"
	if locked {
		text = "kine's database is locked"
	}
	ours := scan.ContainsAny(r.Raw, []string{"error while range on /registry", "error in txn: ", "sqlite3.Error{", "node lease, error: ", "metav1.Status: "})
	return etcdEvent(text, event.FieldWhat.Text("unanswered")), (late || locked) && ours
}

// tookField is how long something took, as a field of etcd's JSON, of its console's form, or copied
// without the signs around it.
var tookField = regexp.MustCompile(`\btook(?:"?[:=] ?"?| )(\d[\d.]*[a-zµ]\w*)`)

// readTook is how long something took, in that field or behind the words of etcd's old text.
func readTook(line, before, behind string) (time.Duration, bool) {
	line = strings.NewReplacer(`\"`, `"`, `""`, `"`).Replace(line) // JSON and CSV around it
	said, ok := scan.Between(line, before, behind)
	if field := tookField.FindStringSubmatch(line); field != nil {
		said, ok = field[1], true
	}
	took, err := time.ParseDuration(said)
	return took, ok && err == nil
}
