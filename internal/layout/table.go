package layout

// Row is one kind of file, and where each collector puts it.
type Row struct {
	Datum     string // what it is
	Component string // as in [Place]
	Foreign   bool   // as in [Place]
	Note      string // as in [Place]
	Earlier   bool   // as in [Place]
	Paths     []Path
}

// Path is where a tool puts a file. In a pattern * is any text within a segment and a last **
// everything below. Anything can come before the first segment, because archives have a root folder
// or none.
type Path struct {
	Tool     string
	Patterns []string
}

// The tools, and names for files that were copied with their path on the node, or without any.
const (
	sos = "sosreport" // sosreport/sos 4.0–4.12
	// awslabs/amazon-eks-ami eks-log-collector.sh, aws/eks-node-monitoring-agent.
	eks = "EKS log collector"
	// bottlerocket-os, sources/logdog; inside of EKS bundles an archive of its own.
	logdog      = "logdog"
	mustGather  = "must-gather"       // openshift/must-gather, oc adm inspect
	supportKit  = "troubleshoot"      // replicatedhq/troubleshoot
	rancher     = "Rancher collector" // rancherlabs/support-tools rancher2_logs_collector.sh
	onNode      = "as on the node"    // also Azure/AgentBaker aks-log-collector.sh
	looseFolder = "any"
)

// Rows is the table. The first match wins, so special rows come before general ones. Most files
// need no row: their lines say who wrote them, or their content says what they are.
var Rows = []Row{
	{
		Datum: "log of the network plugin", Component: "cni",
		Paths: []Path{
			{onNode, []string{"var/log/pods/*terway*/**", "pods/*_*terway*_*/**", "var/log/containers/*terway*"}},
			{mustGather, []string{"namespaces/*/pods/*terway*/**"}},
			{rancher, []string{"podlogs/*terway*", "podlogs/*terway*/**"}},
			{supportKit, []string{"cluster-resources/pods/logs/*/*terway*/**", "cluster-resources/pods/logs/*/*terway*"}},
			{looseFolder, []string{"*terway*"}},
		},
	},
	{
		Datum: "log of the kubelet", Component: "kubelet",
		Paths: []Path{
			{sos, []string{
				"sos_commands/kubernetes/journalctl_*kubelet*", "sos_commands/openshift/journalctl_*kubelet*", "sos_commands/microk8s/journalctl_*microk8s*",
				// RKE runs it in a container
				"sos_commands/docker/*/docker_logs_-t_kubelet", "sos_commands/docker/docker_logs_-t_kubelet",
			}},
			{eks, []string{"kubelet/kubelet.log"}},
			{mustGather, []string{"host_service_logs/*/kubelet_service.log", "nodes/*/*_logs_kubelet"}},
			{supportKit, []string{"host-collectors/journald/*kubelet*", "host-collectors/run-host/*kubelet*"}},
			{rancher, []string{
				"journald/kubelet", "journald/k3s*", "journald/rke2*", "agent-logs/kubelet.log*", "agent-logs/kubelet-*.log*", "containerlogs/kubelet", "rke2/agent/logs/kubelet*",
			}},
		},
	},
	{
		Datum: "log of containerd", Component: "containerd",
		Paths: []Path{
			{sos, []string{"sos_commands/containerd/journalctl_*containerd*", "sos_commands/microk8s/journalctl_*containerd*"}},
			{eks, []string{"containerd/containerd-log.txt"}},
			{supportKit, []string{"host-collectors/journald/*containerd*", "host-collectors/run-host/*containerd*"}},
			{rancher, []string{"journald/containerd", "rke2/containerd.log", "k3s/containerd.log", "agent/containerd/containerd*.log"}},
		},
	},
	{
		Datum: "log of docker", Component: "dockerd",
		Paths: []Path{
			{sos, []string{"sos_commands/docker/journalctl_*docker*"}},
			{eks, []string{"docker/docker.log"}},
			{rancher, []string{"journald/docker", "systemlogs/docker*"}},
		},
	},
	{
		Datum: "log of CRI-O", Component: "crio",
		Paths: []Path{
			{sos, []string{"sos_commands/crio/journalctl_*crio*"}},
			{mustGather, []string{"host_service_logs/*/crio_service.log"}},
			{supportKit, []string{"host-collectors/journald/*crio*"}},
		},
	},
	{
		Datum: "log of a pod, a container, the control plane, an agent", Foreign: true,
		Paths: []Path{
			{onNode, []string{"var/log/pods/**", "pods/*_*_*/**", "var/log/containers/**", "var/lib/docker/containers/**", "var/log/kube-*", "var/log/kubernetes/**", "var/log/juju/**", "var/log/apt/**", "var/log/cloud-init*", "var/log/azure/**", "var/log/calico/**"}},
			{sos, []string{
				"sos_commands/docker/*/docker_logs_*", "sos_commands/docker/docker_logs_*", "sos_commands/podman/*/podman_logs_*", "sos_commands/podman/podman_logs_*",
				"sos_commands/crio/*/crictl_logs_*", "sos_commands/crio/crictl_logs_*", "sos_commands/containerd/*/crictl_logs_*",
				"sos_commands/kubernetes/*/*_logs_*", "sos_commands/kubernetes/*_logs_*", "sos_commands/kubernetes/*/*/*_logs_*",
				"sos_commands/openshift/*/*_logs_*", "sos_commands/openshift/*/*/*_logs_*",
			}},
			{eks, []string{"var_log/pods/**", "var_log/containers/**", "var_log/kube-system_*/**", "var_log/kube-proxy*", "var_log/aws-routed-eni/**", "ipamd/**"}},
			{mustGather, []string{"namespaces/*/pods/**", "static-pods/**"}},
			{supportKit, []string{"cluster-resources/pods/logs/**"}},
			{rancher, []string{"podlogs/**", "containerlogs/**"}},
			{looseFolder, []string{
				"*kube-apiserver*", "*kube-controller-manager*", "*kube-scheduler*", "*kube-proxy*", "*kubelet-csr-approver*", "*docker-registry*", "*dockerd-in-docker*",
			}},
		},
	},
	{
		Datum: "a file that is not in force: a template, a copy that a package or an editor left", Foreign: true,
		Paths: []Path{
			{onNode, []string{
				"var/lib/juju/agents/*/charm/**", "usr/share/**", "snap/*/*/usr/share/**", "*.rpmnew", "*.rpmsave", "*.rpmorig", "*.dpkg-dist", "*.dpkg-old", "*.dpkg-new", "*.ucf-dist",
				"*.bak", "*.orig", "*.old", "*~", "*.swp", "*.j2", "*.tmpl", "*.example", "*.sample",
			}},
		},
	},
	{
		Datum: "kernel log of a boot before", Component: "kernel", Note: "of a boot before the last one", Earlier: true,
		Paths: []Path{
			{onNode, []string{"sys/fs/pstore/**", "var/lib/systemd/pstore/**", "var/crash/**", "var/log/dmesg.*"}},
		},
	},
	{
		Datum: "kernel log", Component: "kernel",
		Paths: []Path{
			{sos, []string{"sos_commands/kernel/dmesg*"}},
			{eks, []string{"kernel/dmesg.*"}},
			{logdog, []string{"dmesg"}},
			{mustGather, []string{"nodes/*/dmesg"}},
			{rancher, []string{"systeminfo/dmesg", "systemlogs/dmesg*", "systemlogs/kern*"}},
			{onNode, []string{"var/log/dmesg*", "var/log/kern*", "var_log/kern*"}},
		},
	},
	{
		Datum: "journal and system log; each line names its writer", Component: "",
		Paths: []Path{
			{sos, []string{"sos_commands/logs/journalctl_*"}},
			{logdog, []string{"journalctl.log", "journalctl.errors"}},
			{mustGather, []string{"host_service_logs/*/*_service.log"}},
			{rancher, []string{"journald/*", "systemlogs/syslog*", "systemlogs/messages*"}},
			{onNode, []string{"var/log/messages*", "var/log/syslog*", "var/log/journal/**", "var_log/messages*", "var_log/syslog*"}},
		},
	},
	// Loose files dragged out of a ticket. A shim's log also says containerd.
	{Datum: "log of the kubelet", Component: "kubelet", Paths: []Path{{looseFolder, []string{"*kubelet*"}}}},
	{Datum: "log of a shim", Component: "shim", Paths: []Path{{looseFolder, []string{"*shim*"}}}},
	{Datum: "log of containerd", Component: "containerd", Paths: []Path{{looseFolder, []string{"*containerd*"}}}},
	{Datum: "log of docker", Component: "dockerd", Paths: []Path{{looseFolder, []string{"*docker*"}}}},
	{Datum: "log of CRI-O", Component: "crio", Paths: []Path{{looseFolder, []string{"*crio*", "*cri-o*"}}}},
	// their programs hold a kubelet; OpenRC writes k3s-service.log
	{Datum: "log of the kubelet", Component: "kubelet", Paths: []Path{{looseFolder, []string{
		"k3s.log", "k3s-service.log", "k3s-server.log", "k3s-agent.log", "rke2.log", "rke2-server.log", "rke2-agent.log",
	}}}},
	{Datum: "kernel log", Component: "kernel", Paths: []Path{{looseFolder, []string{"*dmesg*", "*kern.log*"}}}},
	{Datum: "log of runc", Component: "runc", Paths: []Path{{looseFolder, []string{"*runc*"}}}},
	{Datum: "log of systemd", Component: "systemd", Paths: []Path{{looseFolder, []string{"*systemd*"}}}},
}

// Nodes are the directories that are named after a node, and the files.
var Nodes = []Path{
	{mustGather, []string{"host_service_logs/NODE/*_service.log", "nodes/NODE/**"}},
	// what its host collectors bring from other nodes
	{supportKit, []string{"host-collectors/system/NODE/**"}},
}

// Cluster is where objects of the whole cluster stand, not those of one node that somebody took for
// a ticket.
var Cluster = []Path{
	{sos, []string{"sos_commands/kubernetes/**", "sos_commands/openshift/**"}},
	{mustGather, []string{"cluster-scoped-resources/**", "namespaces/**"}},
	{supportKit, []string{"cluster-resources/**"}},
	{rancher, []string{"rke2/kubectl/**", "k3s/kubectl/**", "k8s/kubectl/**", "kubeadm/kubectl/**"}},
}

// noNodes are directories that stand where others are named after a node.
var noNodes = []string{"masters", "workers", "sos_commands", "", ".", ".."}

// row is a Row with its patterns compiled.
type row struct {
	Row
	patterns []pattern
}

var rows, nodePatterns, clusterPatterns = compileRows()

func compileRows() (rows []row, nodes, cluster []pattern) {
	for _, r := range Rows {
		c := row{Row: r}
		for _, p := range r.Paths {
			c.patterns = append(c.patterns, parsePatterns(p.Patterns)...)
		}
		rows = append(rows, c)
	}
	for _, p := range Nodes {
		nodes = append(nodes, parsePatterns(p.Patterns)...)
	}
	for _, p := range Cluster {
		cluster = append(cluster, parsePatterns(p.Patterns)...)
	}
	return rows, nodes, cluster
}
