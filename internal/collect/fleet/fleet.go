// Package fleet says which machine of a fleet a node is: its zone, region, instance type, instance
// id, provider id, image and platform. It reads what the node already has, and asks no metadata
// service.
//
// Of cloud-init's data it takes these values only. The rest can hold user data, with secrets.
package fleet

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/plegdiag/plegdiag/internal/observe/facts"
)

// Facts are what is known of a machine, by the names of facts.FleetFacts. Unknown ones are not
// there.
type Facts map[string]string

// Add adds what is not known yet. So the most trusted source comes first: the Node object, the
// kubelet's flags, cloud-init, the firmware.
func (f Facts) Add(more Facts) {
	for name, value := range more {
		if f[name] == "" {
			f.setIfPlain(name, value)
		}
	}
}

// plain is what a value looks like. Whatever else a file holds there is none.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._:/@()+,-]*$`)

// longest is how many bytes a value can have.
const longest = 200

func (f Facts) setIfPlain(name, value string) {
	if value = strings.TrimSpace(value); len(value) <= longest && plain.MatchString(value) {
		f[name] = value
	}
}

// setByFullName sets a fact by its whole name: "node.zone".
func (f Facts) setByFullName(fact, value string) {
	if name, ok := strings.CutPrefix(fact, "node."); ok && f[name] == "" {
		f.setIfPlain(name, value)
	}
}

// CloudInit is the file in which cloud-init keeps what it learned when the machine started
// (cloud-init, instance-data). Everybody can read it; secrets are in another one.
const CloudInit = "/run/cloud-init/instance-data.json"

// DMI are the files in which the firmware names its maker and the machine.
const (
	DMIVendor  = "/sys/class/dmi/id/sys_vendor"
	DMIProduct = "/sys/class/dmi/id/product_name"
)

// cloudInitKeys are where instance-data.json has the values, the first that is there counts. Its
// names have - or _. v1 is the same in all clouds; below ds each cloud has its own: Amazon's
// identity document and metadata, Azure's IMDS.
var cloudInitKeys = []struct {
	name  string
	paths []string
}{
	{"zone", []string{"v1/availability_zone", "ds/meta_data/placement/availability_zone"}},
	{"region", []string{"v1/region", "ds/meta_data/placement/region", "ds/meta_data/imds/compute/location"}},
	{"instance-type", []string{
		"ds/meta_data/instance_type", "ds/dynamic/instance_identity/document/instanceType", "ds/meta_data/imds/compute/vmSize",
	}},
	{"instance-id", []string{"v1/instance_id"}},
	{"image", []string{
		"ds/meta_data/ami_id", "ds/dynamic/instance_identity/document/imageId", "ds/meta_data/image_id",
		"ds/meta_data/imds/compute/storageProfile/imageReference/id",
	}},
	{"platform", []string{"v1/cloud_id", "v1/cloud_name", "v1/platform"}},
}

// OfCloudInit reads instance-data.json. What cannot be read gives no facts.
func OfCloudInit(text []byte) Facts {
	var root map[string]any
	if json.Unmarshal(text, &root) != nil {
		return nil
	}
	f := Facts{}
	for _, key := range cloudInitKeys {
		for _, path := range key.paths {
			if f[key.name] == "" {
				f.setIfPlain(key.name, lookUp(root, strings.Split(path, "/")))
			}
		}
	}
	return f
}

// lookUp is the text at a path; empty when there is none.
func lookUp(at map[string]any, path []string) string {
	for name, value := range at {
		if strings.ReplaceAll(name, "-", "_") != path[0] {
			continue
		}
		switch v := value.(type) {
		case string:
			if len(path) == 1 {
				return v
			}
		case map[string]any:
			if len(path) > 1 {
				return lookUp(v, path[1:])
			}
		}
	}
	return ""
}

// OfFirmware reads what the firmware says. On Amazon's machines of the Nitro system the product is
// the instance type; elsewhere it is the name of a product line.
func OfFirmware(vendor, product string) Facts {
	f := Facts{}
	f.setIfPlain("platform", vendor)
	if strings.TrimSpace(vendor) == "Amazon EC2" && strings.Contains(product, ".") {
		f.setIfPlain("instance-type", product)
	}
	return f
}

// OfKubeletArguments reads the arguments of a kubelet: --node-labels and --provider-id.
func OfKubeletArguments(arguments []string) Facts {
	f := Facts{}
	for i, word := range arguments {
		flag, value, ok := strings.Cut(word, "=")
		if !ok && i+1 < len(arguments) {
			value = arguments[i+1]
		}
		switch flag {
		case "--node-labels":
			for fact, value := range facts.Labels(value) {
				f.setByFullName(fact, value)
			}
		case "--provider-id":
			f.setIfPlain("provider-id", value)
		}
	}
	return f
}

// OfNode reads a Node object of the API: its labels and its provider id.
func OfNode(labels map[string]string, providerID string) Facts {
	f := Facts{}
	f.setIfPlain("provider-id", providerID)
	for _, old := range [...]bool{false, true} { // a label of today counts before its old name
		for label, value := range labels {
			if strings.Contains(label, "beta.kubernetes.io") == old {
				f.setByFullName(facts.NodeLabels[label], value)
			}
		}
	}
	return f
}
