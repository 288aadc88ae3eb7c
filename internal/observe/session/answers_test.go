package session

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/observe/observetest"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// takeSession returns the events of a session, one on each line.
func takeSession(t *testing.T, text string) string {
	var got strings.Builder
	var c Commands
	all := parse.NewSections(lines.Input{Path: "f", R: strings.NewReader(text)})
	for s := all.Next(); s != nil; s = all.Next() {
		_, err := io.Copy(io.Discard, s.R)
		require.NoError(t, err)
		for _, e := range c.Take(s) {
			got.WriteString(observetest.Describe(t, &e) + "\n")
		}
	}
	for _, e := range c.Finish() {
		got.WriteString(observetest.Describe(t, &e) + "\n")
	}
	return got.String()
}

// TestAnswers: what the commands print that a report asks for, of a node that is ill, and of one
// that is well.
func TestAnswers(t *testing.T) {
	var got strings.Builder
	for _, text := range []string{
		"# busctl list --no-legend | awk '{print $3}' | sort | uniq -c | sort -n | tail\n      3 systemd\n     12 -\n    246 kubelet\n",
		"# busctl list --no-legend | awk '{print $3}' | sort | uniq -c | sort -n | tail\n      3 systemd\n      9 kubelet\n",
		"# ss -xp | grep system_bus_socket | grep -o 'users:((\"[^\"]*\",pid=[0-9]*' | sort | uniq -c | sort -n | tail\n    248 users:((\"dbus-daemon\",pid=812\n",
		"# find /proc/[0-9]*/fd -lname 'anon_inode:inotify' | cut -d/ -f3 | sort | uniq -c | sort -n | tail; sysctl fs.inotify.max_user_instances\n    127 20313\nfs.inotify.max_user_instances = 128\n",
		"# ps -eo stat,ppid | grep ^Z | sort | uniq -c | sort -n | tail -5\n      3 Z 2211\n  28111 Z 40231\n",
		"# ps -eo nlwp,pid,comm | head -3; ps -eo stat,ppid | grep ^Z | sort | uniq -c\n 900 40231 java\n   3 Z 2211\n",
		"# systemctl list-units --all | awk '{print $3}' | sed 's/[0-9a-f]\\{8,\\}/x/g; s/[0-9]\\+/0/g' | sort | uniq -c | sort -n | tail\n  60112 active running run-rx.scope\n",
		"# for p in $(pidof containerd); do echo \"$p $(cat /proc/$p/comm) $(ls /proc/$p/fd | wc -l) of $(awk '/Max open files/ {print $4}' /proc/$p/limits)\"; done\n1234 containerd 1048569 of 1048576\n2345 kubelet 200 of 1000000\n",
		"# for c in $(ctr -n k8s.io containers ls -q); do timeout 3 ctr -n k8s.io tasks metrics \"$c\" >/dev/null 2>&1; [ $? = 124 ] && echo \"$c does not answer\"; done\n0b1c2d3e4f5061728394a5b6c7d8e9f00112233445566778899aabbccddeeff0 does not answer\n",
		"# for p in $(grep -ls ^fanotify /proc/[0-9]*/fdinfo/* | cut -d/ -f3 | sort -u); do echo \"$p $(cat /proc/$p/comm) $(grep ^State /proc/$p/status) $(cat /proc/$p/wchan)\"; done\n2201 ds_am State:\tT (stopped) do_signal_stop\n812 auditd State:\tS (sleeping) ep_poll\n",
		"# for c in $(ls /var/lib/docker/containers); do timeout 5 docker inspect -f '{{.State.Status}}' $c >/dev/null 2>&1 || echo \"$? ${c:0:12}\"; done\n124 93c1f0a5d07e\n",
		"# for i in $(crictl ps -q | cut -c1-13); do timeout 5 crictl inspect $i >/dev/null; echo $i $?; done\n777f6cbc13f7d 0\ndde13af4c8c83 124\n34b401a559821 0\na9c5c0a724879 1\n",
		"# for i in $(docker ps -aq); do timeout 20 docker inspect $i >/dev/null; echo \"$i rc=$?\"; done\n06b3ca218891 rc=0\nac535c8163f5 rc=124\n",
		"# for p in $(crictl pods -q); do timeout 5 crictl inspectp $p >/dev/null 2>&1; echo rc=$?; done | sort | uniq -c\n     21 rc=0\n      1 rc=124\n",
		"# for p in $(crictl pods -q); do timeout 5 crictl inspectp $p >/dev/null 2>&1; echo rc=$?; done | sort | uniq -c\n     22 rc=0\n",
		"# kubectl get pods --field-selector spec.nodeName=node-1 -o json | jq -r '.items[].status.containerStatuses[0].state.terminated.finishedAt // empty' | cut -c1-16 | sort | uniq -c\n    397 2025-02-03T04:00\n      5 2025-02-03T04:01\n",
		"# ps -e -o comm | sort | uniq -c | sort -rn | head -3\n   4988 host-local\n   2494 bridge\n     61 containerd-shim\n",
		"# dmsetup info -c --noheadings -o name,suspended\nvg0-root:Active\nvg0-containerd:Suspended\n",
		"# find /sys/fs/cgroup -path '*kubepods*' -name cgroup.events -exec grep -l '^frozen 1' {} +\n/sys/fs/cgroup/kubepods.slice/kubepods-pod12ab34cd_1111_2222_3333_444455556666.slice/cgroup.events\n# uptime\n",
		"# uname -r; nproc\n5.4.217-126.408.amzn2.x86_64\n8\n",
		"# busctl get-property org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager NNames\nu 162218\n",
		"# busctl get-property org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager NNames\nu 618\n",
		"# for m in $(awk '$3 ~ /^nfs/ {print $2}' /proc/mounts); do timeout -s KILL 4 stat -f $m || echo \"$m  rc=$?\"; done\n/var/lib/kubelet/pods/3b0c/volumes/kubernetes.io~nfs/reports  rc=137\n/mnt/x  rc=1\n",
		"# dig +short api.example.net\n;; communications error to 10.99.0.2#53: timed out\n;; no servers could be reached\n",
		"# nslookup kubernetes.default\n** server can't find kubernetes.default: NXDOMAIN\n",
		"# timeout 10 ss -xlp | grep -e containerd -e dockerd -e crio\nu_str LISTEN 0      4096               /run/containerd/containerd.sock.ttrpc 30117            * 0    users:((\"containerd\",pid=1120,fd=8))\nu_str LISTEN 0      4096                     /run/containerd/containerd.sock 30118            * 0    users:((\"containerd\",pid=1120,fd=9))\nu_str LISTEN 0 4096 /run/docker.sock 30119 * 0 users:((\"systemd\",pid=1,fd=43))\n",
		"# lsof -nP -p 9077 | grep docker.sock\ndockerd 9077 root    8u     unix 0xffff9d1c2f8e6c00       0t0     60118 /var/run/docker.sock\n",
		"# lsof -U | grep containerd.sock\ncontainerd 1120 root 9u unix 0xffff9d1c2f8e6c00 0t0 30118 /run/containerd/containerd.sock type=STREAM (LISTEN)\n",
		"# ls -l /run/docker.sock\nls: cannot access '/run/docker.sock': No such file or directory\n",
		"# ls -l /run/docker.sock\nls: cannot access '/run/docker.sock': No such file or directory\n# systemctl start docker\n",
		"# for i in {1..60}; do grep -H FROZEN /sys/fs/cgroup/freezer/kubepods.slice/*/freezer.state; sleep 1; done | sort | uniq -c\n     60 /sys/fs/cgroup/freezer/kubepods.slice/kubepods-besteffort.slice/freezer.state:FROZEN\n      1 /sys/fs/cgroup/freezer/kubepods.slice/kubepods-burstable.slice/freezer.state:FROZEN\n",
		"# journalctl -u rke2-agent -o cat | grep -o 'dial tcp .*' | sed 's/\".*//' | sort | uniq -c | sort -rn\n    412 dial tcp 10.0.0.10:6443: connect: no route to host\n     37 dial tcp 10.0.0.10:9345: connect: no route to host\n",
		"# kubectl get events -n default --sort-by=.lastTimestamp -o custom-columns=TIME:.lastTimestamp,TYPE:.type,REASON:.reason,FROM:.source.component,MESSAGE:.message\nTIME                   TYPE      REASON         FROM              MESSAGE\n2026-11-20T09:20:31Z   Normal    NodeNotReady   node-controller   Node node-1 status is now: NodeNotReady\n2026-11-20T09:23:34Z   Warning   Rebooted       kubelet           Node node-1 has been rebooted, boot id: a90e54f2-c6af-4f0a-9b5e-8a3b94be0d17\n",
		"# kubectl get ev -A -o custom-columns=T:.lastTimestamp,OBJ:.involvedObject.name,MSG:.message\nT                      OBJ      MSG\n2026-11-20T09:20:31Z   node-1   Node node-1 status is now: NodeNotReady\n",
		"# perf trace -p $(pidof containerd) -e fdatasync,fsync --duration 500 -- sleep 60\n  2113.402 (4120.771 ms): containerd/1190 fdatasync(fd: 8</var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db>) = 0\n  2513.402 (520.771 ms): containerd/1190 fdatasync(fd: 8</var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db>) = 0\n",
		"# /usr/share/bcc/tools/ext4slower 1000\nTIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME\n13:07:02 containerd     1010   S 0       0        4802.11 meta.db\n13:07:09 postgres       2290   S 0       0        6011.30 000000010000\n",
		"# for p in $(pgrep runc); do sed -n 2p /proc/$p/stack; done | sort | uniq -c | sort -rn\n     61 [<0>] register_shrinker_prepared+0x25/0x70\n      9 [<0>] futex_wait+0x151/0x240\n",
		"# for p in $(ps -eo pid,stat | awk '$2 ~ /^D/ {print $1}'); do echo \"$(cat /proc/$p/comm) $(grep -m1 -oE 'copy_net_ns|rtnl_lock' /proc/$p/stack)\"; done | sort | uniq -c\n      5 runc copy_net_ns\n      1 ip rtnl_lock\n",
		"# for t in /proc/$(pidof kubelet)/task/*; do head -1 $t/stack; done | grep -c request_wait_answer\n6\n",
		"# grep -H . /proc/$(pidof kubelet)/task/*/wchan | awk -F: '{print $2}' | sort | uniq -c\n     21 futex_wait_queue\n      5 rpc_wait_bit_killable\n",
		"# ps --ppid $(pgrep -f 'containerd-shim-runc-v2.*3dd3175e7ab8') -o args= | sort | uniq -c | sort -rn\n   1388 /bin/bash -c /scripts/ready.sh\n      1 /pause\n",
		"# ps --ppid $(pgrep -f 'containerd-shim-runc-v2.*3dd3175e7ab8') -o args= | sort | uniq -c | sort -rn\n      2 /bin/bash -c /scripts/ready.sh\n      1 /pause\n",
		"# timeout 20 docker ps >/dev/null; echo $?\n124\n",
		"# curl -s -m 5 -w '%{http_code} %{time_connect} %{errormsg}' http://127.0.0.1:10259/readyz\n000 0.000000 Failed to connect to 127.0.0.1 port 10259\n",
		"# grep -hs . /proc/*/wchan | sort | uniq -c\n     12 register_shrinker_prepared\n",
		"# ps -eo args --no-headers | sort | uniq -c | sort -rn | head -3\n   3911 redis-cli -h localhost ping\n   3911 grep -q PONG\n     57 /pause\n",
		"# ps -eo args --no-headers | sort | uniq -c | sort -rn | head -3\n    391 nginx: worker process\n     57 /pause\n",
		"# for p in $(pgrep -f 'runc init' | head -30); do sed -n '1,3p' /proc/$p/stack | tr '\\n' ';'; echo; done | sort | uniq -c | sort -rn\n     28 [<0>] rwsem_down_write_slowpath+0x370/0x570;[<0>] register_shrinker_prepared+0x25/0x70;[<0>] sget_fc+0x20d/0x2f0;\n      2 [<0>] futex_wait_queue_me+0xbb/0x120;[<0>] futex_wait+0x105/0x240;[<0>] do_futex+0x143/0x4b0;\n",
		"# crictl images | grep -iE 'pause|IMAGE'\nIMAGE                 TAG       IMAGE ID        SIZE\n# docker images | grep -e pause -e REPO\nREPOSITORY          TAG       IMAGE ID       SIZE\nk8s.gcr.io/pause    3.2       80d28bedfe5d   683kB\n",
		"# uname -r\n5.15.63-flatcar\n# uname -r\nno such command\n",
		"# grep . /sys/fs/fuse/connections/*/waiting\n/sys/fs/fuse/connections/49/waiting:0\n/sys/fs/fuse/connections/62/waiting:2\n# cat /sys/fs/fuse/connections/62/waiting\n3\n",
		"# for c in /sys/fs/fuse/connections/*; do echo \"${c##*/} $(cat $c/waiting)\"; done\n49 1\n62 5\n# for c in /sys/fs/fuse/connections/*; do echo \"${c##*/} $(cat $c/waiting)\"; done\n49 0\n62 5\n",
		"# kubectl -n web exec cart-0 -- sh -c 'ps -eo args | sort | uniq -c | sort -rn | head -3'\n    640 /bin/sh /probe/live.sh\n    320 wget -qO- http://127.0.0.1:9000/live\n      1 node server.js\n",
		"# ps -eo ppid,args --no-headers | awk '{p=$1; $1=\"\"; print p $0}' | sort | uniq -c | sort -rn | head -3\n    907 2771 mysqladmin ping -h 127.0.0.1\n     36 2 [kworker/u33:1-events_unbound]\n",
		"# ps -eo ppid,args --no-headers | sort | uniq -c | sort -rn | head -3\n    260 2771 postgres: app shop 10.0.4.7 idle\n   1036 2 [kworker/u33:1-events_unbound]\n",
		"# for p in /proc/[0-9]*; do s=$(sed -n 's/^State:\\t//p' $p/status); case $s in D*) echo \"${p#/proc/} $(<$p/comm) $(<$p/wchan)\";; esac; done\n3107 kubelet fanotify_handle_event\n50233 runc fanotify_handle_event\n50300 sshd fanotify_handle_event\n50411 tail inotify_read\n",
		"# for p in $(pgrep -x runc); do echo \"$p $(awk '/^State/{print $2}' /proc/$p/status) $(cat /proc/$p/comm) $(cat /proc/$p/wchan)\"; done\n50233 D runc rpc_wait_bit_killable\n",
		"# for p in $(pgrep -x runc); do echo \"$(cat /proc/$p/comm) $p $(cat /proc/$p/wchan)\"; done\nrunc 50233 fanotify_handle_event\nrunc 50234 pipe_read\n",
		"# for t in /proc/7712/task/*; do echo \"$(basename $t) $(cat $t/comm) $(awk '/State/{print $2}' $t/status) $(cat $t/wchan)\"; done\n7712 node S ep_poll\n7720 libuv-worker D request_wait_answer\n",
		"# for t in /proc/$(pidof containerd)/task/*/status; do awk '/^State|^TracerPid/ {printf \"%s \", $2} END {print \"\"}' $t; done | sort | uniq -c\n     31 t 2290417 \n",
		"# ss -xlp | grep 'pid=1033' | awk '{print $1,$2,$5,$NF}'\nu_str LISTEN /run/containerd/containerd.sock users:((\"containerd\",pid=1033,fd=11))\n",
		"# for i in 1 2; do date +%T; egrep 'nr_|thrott' /sys/fs/cgroup/system.slice/containerd.service/cpu.stat; sleep 10; done\n09:49:03\nnr_periods 2402117\nnr_throttled 2391840\nthrottled_usec 3921774018893\n09:49:13\nnr_periods 2402217\nnr_throttled 2391940\nthrottled_usec 3921930112407\n",
		"# grep nr_ /sys/fs/cgroup/system.slice/kubelet.service/cpu.stat\nnr_periods 2402117\nnr_throttled 0\n",
		"# dmesg -T | grep 'blocked for more' | sed 's/.*INFO: //' | sort | uniq -c | sort -rn | head -5\n      9 task jbd2/nvme1n1p1-:1160 blocked for more than 122 seconds.\n      4 task containerd:2019 blocked for more than 122 seconds.\n",
		"# systemctl show containerd -p ActiveState,SubState,FreezerState\nActiveState=active\nSubState=running\nFreezerState=frozen\n",
		"# timeout 10 crictl info | grep -i -A4 networkready\n        \"type\": \"NetworkReady\",\n        \"status\": false,\n        \"reason\": \"NetworkPluginNotReady\",\n        \"message\": \"Network plugin returns error: cni plugin not initialized\"\n      }\n",
		"# timeout 10 crictl info | grep -i -A4 networkready\n        \"type\": \"NetworkReady\",\n        \"status\": true,\n        \"reason\": \"\",\n        \"message\": \"\"\n      }\n",
		"# ssh node-7 'bash -s' <<'X'\ncurl -sk -o /dev/null -m 5 -w '%{http_code} %{time_connect} %{errormsg}' https://10.0.0.1:6443/readyz\nnc -vz -w 4 10.61.12.91 443\nX\n000 0.000000 Connection timed out after 5001 milliseconds\nNcat: TIMEOUT.\n",
		"# timeout 5 busctl call org.freedesktop.systemd1 / org.freedesktop.DBus.Peer Ping; echo \"exit status $?\"\nexit status 124\n",
		"# timeout 5 busctl call org.freedesktop.systemd1 / org.freedesktop.DBus.Peer Ping; echo \"exit status $?\"\nexit status 0\n",
		"# [ -e f ] && openssl x509 -noout -dates -in /var/lib/kubelet/pki/kubelet-client-current.pem; date -u\n/var/lib/kubelet/pki/kubelet-client-current.pem\nnotAfter=Mar 31 22:10:45 2024 GMT\nTue Apr  2 07:33:51 UTC 2024\n",
	} {
		command, answer, _ := strings.Cut(text, "\n")
		prompted := "[root@node-1 ~]" + command + "\n" + strings.ReplaceAll(answer, "# ", "[root@node-1 ~]# ")
		got.WriteString(command + "\n")
		for line := range strings.Lines(takeSession(t, prompted)) {
			got.WriteString("  -> " + line)
		}
	}
	observetest.Golden(t, "answers.golden", got.String())
}
