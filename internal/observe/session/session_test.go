package session

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// TestTake: what each session shows beside its output, as kinds and texts of events.
func TestTake(t *testing.T) {
	for text, want := range map[string][]string{
		"[root@node-1 ~]# timeout 30 docker ps; echo $?\n124\n":             {"command.hung docker ps does not come back"},
		"[root@node-1 ~]# timeout 30 docker ps; echo $?\nCONTAINER ID\n0\n": nil,
		"[root@node-1 ~]# docker ps; echo $?\n124\n":                        nil,
		"# pidof kubelet\n# pidof containerd\n1201\n":                       {"daemon.absent no process of kubelet is there"},
		"# pidof kubelet\n":               nil, // the paste may end before the answer
		"# pidof kubelet\n^C\n# uptime\n": nil,
		"# ps -ef | grep kubelet\nroot 7 5 0 14:22 pts/0 0:00 grep kubelet\n":  {"daemon.absent no process of kubelet is there"},
		"# systemctl is-active containerd kubelet\nactive\nfailed\n# uptime\n": {"systemd.unit containerd.service is active", "systemd.unit kubelet.service is failed"},
		"[root@n pki]# cat kubelet-client-current.txt | grep Not\n            Not Before: Mar 27 06:57:00 2019 GMT\n            Not After : Mar 28 06:39:47 2019 GMT\n[root@n pki]# date\nvr 29 mrt 2019  5:21:18 UTC\n":                                                                                                                                                             {"kubelet.certificate the kubelet's client certificate is expired"},
		"[root@n ~]# timedatectl | head -3\n               Local time: Thu 2024-02-01 10:00:00 CET\n           Universal time: Thu 2024-02-01 09:00:00 UTC\n                 RTC time: Thu 2024-02-01 09:00:00\n[root@n ~]# openssl x509 -noout -dates -in /var/lib/kubelet/pki/kubelet-client-current.pem\nnotBefore=Jan  3 10:11:12 2023 GMT\nnotAfter=Jan  3 10:11:12 2024 GMT\n": {"kubelet.certificate the kubelet's client certificate is expired"},
		"[root@n ~]# for i in /etc/kubernetes/pki/*.crt; do echo $i; openssl x509 -enddate -noout -in $i; done\n/etc/kubernetes/pki/apiserver.crt\nnotAfter=Jan  3 10:11:12 2024 GMT\n/etc/kubernetes/pki/ca.crt\nnotAfter=Jan  3 10:11:12 2033 GMT\n[root@n ~]# date\nThu Feb  1 09:00:00 UTC 2024\n":                                                                               {"kubelet.certificate the certificate apiserver.crt of the control plane is expired"},
		"[root@n ~]# openssl x509 -enddate -noout -in /etc/ssl/certs/web.crt\nnotAfter=Jan  3 10:11:12 2024 GMT\n[root@n ~]# date\nThu Feb  1 09:00:00 UTC 2024\n":                                                                                                                                                                                                                   nil,
		"[root@n ~]# openssl x509 -noout -dates -in /var/lib/kubelet/pki/kubelet-client-current.pem\nnotBefore=Jan  3 10:11:12 2023 GMT\nnotAfter=Jan  3 10:11:12 2024 GMT\n[root@n ~]# date\nThu Feb  1 09:00:00 UTC 2024\n":                                                                                                                                                        {"kubelet.certificate the kubelet's client certificate is expired"},
		"[root@n ~]# openssl x509 -noout -enddate -in /var/lib/kubelet/pki/kubelet-client-current.pem\nnotAfter=Jan  3 10:11:12 2024 GMT\n[root@n ~]# date\nMon Jan  1 09:00:00 UTC 2024\n":                                                                                                                                                                                          nil,
		"# systemctl is-active kubelet\nFailed to connect to bus: Host is down": nil,
	} {
		var got []string
		var c Commands
		all := parse.NewSections(lines.Input{Path: "f", R: strings.NewReader(text)})
		for s := all.Next(); s != nil; s = all.Next() {
			_, err := io.Copy(io.Discard, s.R)
			require.NoError(t, err)
			for _, e := range c.Take(s) {
				got = append(got, string(e.Kind)+" "+e.Text)
				require.NotEqual(t, event.Quote{}, e.Evidence[0])
			}
		}
		for _, e := range c.Finish() {
			got = append(got, string(e.Kind)+" "+e.Text)
		}
		require.Equal(t, want, got, text)
	}
}
