package kubelet

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// tunnelTexts are how those say it who use the tunnel of the API server, or keep it up:
// konnectivity (apiserver-network-proxy 0.0.12 to 0.34; the one in OpenYurt's tunnel says backend
// for agent), and the SSH tunnels before it.
var tunnelTexts = []string{"No agent available", "dial timeout, backstop", "cannot connect once", "No SSH tunnels currently open", "proxy error from ", "No backend available", "cannot sync once"}

// tunnelWords say what is wrong with the tunnel.
var tunnelWords = map[string]string{
	"no-agent":   "the API server has no way to the nodes: no agent of its tunnel is connected",
	"unanswered": "the API server had no answer through its tunnel within 30 s",
	"proxy":      "the proxy of the k3s or rke2 server finds no way to the node",
	"agent":      "an agent of the API server's tunnel does not reach the server of the tunnel",
}

// tunnelBroken is the way from the API server to the nodes, which agents on the nodes open, and
// which does not carry what is sent. The kubelet's own requests go another way.
//
//	Error from server: error dialing backend: No agent available
//	server.go:528] "Failed to get a backend" err="No agent available" dialID=896810405210690112      (konnectivity-server)
//	tunnel.go:74] "currently no tunnels available" err="No backend available"      (yurt-tunnel-server)
//	Error from server: Get "https://10.0.0.26:10250/containerLogs/…": dial timeout, backstop
//	failed calling webhook "x.y.z": failed to call webhook: Post "https://x.y.svc:443/…": dial timeout, backstop
//	clientset.go:219] "cannot sync once" err="rpc error: code = Unavailable desc = connection error: …"
//	clientset.go:183] "cannot connect once" err="rpc error: code = Unavailable desc = connection error: …"      (konnectivity-agent)
//	Error from server: Get "https://10.0.0.26:10250/containerLogs/…": proxy error from 127.0.0.1:9345 while dialing 10.0.0.26:10250, code 502: 502 Bad Gateway      (k3s, rke2)
//	Get "https://10.0.0.26:10250/…": No SSH tunnels currently open. Were the targets able to accept an ssh-key for user "gke-…"?
func tunnelBroken(r *event.Record) (event.Event, bool) {
	raw := strings.ReplaceAll(r.Raw, `\`, "")
	what, said := "no-agent", tunnelTexts[0]
	for i, kind := range []string{"no-agent", "unanswered", "agent", "no-agent", "proxy", "no-agent", "agent"} {
		if strings.Contains(raw, tunnelTexts[i]) {
			what, said = kind, tunnelTexts[i]
			break
		}
	}
	before, after, _ := strings.Cut(raw, said)
	reported := strings.HasSuffix(strings.TrimRight(before, `" `), ":") || strings.HasSuffix(before, `="`) || before == ""
	e := ofCluster(event.KindTunnelBroken, tunnelWords[what], event.FieldWhat.Text(what))
	if what == "agent" {
		e.AddFields(event.FieldError.Text(scan.Clip(table.ErrorOf(r))))
		return e, strings.Contains(before, "clientset.go:") || r.Caller == "clientset.go"
	}
	if target, ok := scan.Between(after, " while dialing ", ", code 50"); ok && what == "proxy" {
		e.AddFields(event.FieldTarget.Text(target))
		e.Text += ", to " + target
		return e, reported
	}
	if _, url, ok := strings.Cut(before, "https://"); ok {
		target, _, _ := strings.Cut(url, "/")
		e.AddFields(event.FieldTarget.Text(target))
		e.Text += ", on the way to " + target
	}
	// what somebody explains is no report of it
	return e, reported && (after == "" || strings.ContainsAny(after[:1], "\"\n.,} "))
}
