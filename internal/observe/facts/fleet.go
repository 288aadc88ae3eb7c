package facts

import "strings"

// NodeLabels are labels of Node objects that say which machine a node is, and the facts that they
// are. The kubelet's flag --node-labels has them, too. Kubernetes documents the first six
// (well-known labels), EKS and AKS set the others.
var NodeLabels = map[string]string{
	"topology.kubernetes.io/zone":              "node.zone",
	"failure-domain.beta.kubernetes.io/zone":   "node.zone",
	"topology.kubernetes.io/region":            "node.region",
	"failure-domain.beta.kubernetes.io/region": "node.region",
	"node.kubernetes.io/instance-type":         "node.instance-type",
	"beta.kubernetes.io/instance-type":         "node.instance-type",
	"eks.amazonaws.com/nodegroup-image":        "node.image",
	"kubernetes.azure.com/node-image-version":  "node.image",
}

// FleetFacts are the facts that say which machine of a fleet a node is, without their "node.".
var FleetFacts = []string{"zone", "region", "instance-type", "instance-id", "provider-id", "image", "platform"}

// Labels yields the facts of a list of labels as the flag --node-labels has it: a=b,c=d.
func Labels(list string) func(yield func(fact, value string) bool) {
	return func(yield func(fact, value string) bool) {
		for label := range strings.SplitSeq(list, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(label), "=")
			if fact := NodeLabels[name]; fact != "" && value != "" && !yield(fact, value) {
				return
			}
		}
	}
}
