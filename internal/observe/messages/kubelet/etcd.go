package kubelet

import (
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// Etcd is what etcd 3.2 to 3.6 says of being slow, in a log of its own or in that of a program that
// holds it, as k3s.
var Etcd = table.Table{Component: "etcd", Relays: []string{"", "kubelet", "kernel", table.HostProgram}, Unnamed: "etcd", Rows: []table.Row{
	{[]string{"slow fdatasync", "sync duration of "}, syncSlow},
	{[]string{"apply request took too long", "took too long ("}, requestSlow},
	{[]string{"leader failed to send out heartbeat on time", ": failed to send out heartbeat on time"}, heartbeatLate},
	{[]string{" lost leader "}, leaderLost},
	{[]string{"database space exceeded", "alarm:NOSPACE", "alarm raised"}, databaseFull},
}}

// longRequest is how long a request takes at least to count: etcd complains from 100 ms on, as it
// does on every node that is busy for a moment.
const longRequest = time.Second

func etcdEvent(text string, fields ...event.Field) event.Event {
	e := event.New(event.KindEtcdTrouble, text, fields...)
	e.Component, e.Source = "etcd", "etcd.log" // k3s holds it in the kubelet's process
	return e
}

// syncSlow is the log that etcd writes before it answers a change, and the disk that took seconds
// for it:
//
//	≤ 3.4  wal: sync duration of 2.133017562s, expected less than 1s
//	≥ 3.4  {"level":"warn","ts":"…","caller":"wal/wal.go:806","msg":"slow fdatasync","took":"7.454439372s","expected-duration":"1s"}
func syncSlow(r *event.Record) (event.Event, bool) {
	took, ok := tookOf(r.Raw, "sync duration of ", ",")
	return etcdEvent(
		"etcd's disk took "+took.Round(time.Millisecond).String()+" to write its log", event.FieldWhat.Text("sync"),
		event.FieldTook.Duration(took),
	), ok && scan.ContainsAny(r.Raw, []string{"slow fdatasync", "wal: sync duration of "})
}

// requestSlow is a request that took etcd a second or more:
//
//	≤ 3.4  etcdserver: read-only range request "key:\"/registry/pods\" …" with result "…" took too long (3.419603095s) to execute
//	≥ 3.4  {"level":"warn",…,"msg":"apply request took too long","took":"9.997793255s","expected-duration":"100ms",…}
func requestSlow(r *event.Record) (event.Event, bool) {
	took, ok := tookOf(r.Raw, " took too long (", ")")
	return etcdEvent(
		"a request took etcd "+took.Round(time.Millisecond).String(), event.FieldWhat.Text("request"),
		event.FieldTook.Duration(took),
	), ok && took >= longRequest && scan.ContainsAny(r.Raw, []string{"apply request took too long", "etcdserver: "})
}

// heartbeatLate is the leader that does not come to say that it lives:
//
//	≤ 3.4  etcdserver: failed to send out heartbeat on time (exceeded the 100ms timeout for 2.103s, to 8e9e05c52164694d)
//	≥ 3.4  {"level":"warn",…,"msg":"leader failed to send out heartbeat on time; took too long, leader is overloaded likely from slow disk",…}
func heartbeatLate(*event.Record) (event.Event, bool) {
	return etcdEvent("etcd's leader comes late to say that it lives", event.FieldWhat.Text("heartbeat")), true
}

// leaderLost is a member that hears nothing of the leader, so that no change is made until there is
// one:
//
//	raft2022/05/10 04:41:50 INFO: raft.node: 8e9e05c52164694d lost leader 91bc3c398fb3c146 at term 12
//	{"level":"info",…,"msg":"raft.node: 8e9e05c52164694d lost leader 91bc3c398fb3c146 at term 12"}
func leaderLost(r *event.Record) (event.Event, bool) {
	return etcdEvent("a member of etcd has lost its leader", event.FieldWhat.Text("leader")),
		strings.Contains(r.Raw, "raft.node: ") && strings.Contains(r.Raw, " at term ")
}

// databaseFull is etcd that takes no more writes, as its database has reached its quota (by default
// 2 GiB): in its own log, in that of whoever asked it, or in etcdctl's list of alarms:
//
//	… "Failed to update lease" err="etcdserver: mvcc: database space exceeded"
//	{"level":"warn",…,"msg":"alarm raised","alarm":"NOSPACE","raised-by-member-id":"8e9e05c52164694d"}
//	memberID:13803658152347727308 alarm:NOSPACE
func databaseFull(r *event.Record) (event.Event, bool) {
	return etcdEvent("etcd's database has reached its quota, and etcd takes no more writes", event.FieldWhat.Text("full")),
		scan.ContainsAny(r.Raw, []string{"mvcc: database space exceeded", "NOSPACE"})
}

// tookOf is how long something took, in etcd's JSON or behind the words of its old text.
func tookOf(line, before, behind string) (time.Duration, bool) {
	line = strings.ReplaceAll(line, `\"`, `"`)
	said, ok := scan.Between(line, `"took":"`, `"`)
	if !ok {
		said, ok = scan.Between(line, `took="`, `"`)
	}
	if !ok {
		said, ok = scan.Between(line, before, behind)
	}
	took, err := time.ParseDuration(said)
	return took, ok && err == nil
}
