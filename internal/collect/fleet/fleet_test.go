package fleet

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/plegdiag/plegdiag/internal/observe/facts"
)

// As cloud-init writes it on EC2, shortened; the user data and the keys must stay there.
const amazon = `{
 "base64_encoded_keys": [],
 "ds": {
  "_doc": "EXPERIMENTAL: …",
  "dynamic": {"instance-identity": {"document": {"imageId": "ami-0aaa", "instanceType": "m5.large", "accountId": "123456789012"}}},
  "meta-data": {"ami-id": "ami-0bbb", "instance-type": "m5.xlarge", "placement": {"availability-zone": "eu-west-1a"}}
 },
 "sensitive_keys": ["merged_cfg"],
 "userdata": "password: planted",
 "v1": {"availability_zone": "eu-west-1a", "cloud_id": "aws", "instance_id": "i-0ccc", "platform": "ec2", "public_ssh_keys": ["planted"], "region": "eu-west-1"}
}`

const azure = `{"ds": {"meta_data": {"imds": {"compute": {"location": "westeurope", "vmSize": "Standard_D4s_v5", "storageProfile": {"imageReference": {"id": "/subscriptions/x/images/aks-1", "sku": ""}}}}}},
 "v1": {"availability_zone": null, "cloud_id": "azure", "region": 7}}`

func TestOfCloudInit(t *testing.T) {
	require.Equal(t, Facts{
		"zone": "eu-west-1a", "region": "eu-west-1", "instance-type": "m5.xlarge", "instance-id": "i-0ccc", "image": "ami-0bbb", "platform": "aws",
	}, OfCloudInit([]byte(amazon)))
	require.Equal(t, Facts{"region": "westeurope", "instance-type": "Standard_D4s_v5", "platform": "azure"}, OfCloudInit([]byte(azure)),
		"a path of a subscription is no value that begins with a letter")
	for _, broken := range []string{"", "[]", "null", `{"v1": []}`, `{"v1": {"region": "two\nlines"}}`, `{"v1": {"region": {"a": "b"}}}`} {
		require.Empty(t, OfCloudInit([]byte(broken)), broken)
	}
}

func TestOthers(t *testing.T) {
	require.Equal(t, Facts{"platform": "Amazon EC2", "instance-type": "t3.large"}, OfFirmware("Amazon EC2\n", "t3.large\n"))
	require.Equal(t, Facts{"platform": "Google"}, OfFirmware("Google", "Google Compute Engine"))
	require.Empty(t, OfFirmware("", ""))
	require.Equal(t, Facts{"zone": "z1", "instance-type": "m5.large", "provider-id": "aws:///z1/i-1"}, OfKubeletArguments([]string{
		"/usr/bin/kubelet", "--node-labels=a=b,topology.kubernetes.io/zone=z1,node.kubernetes.io/instance-type=m5.large,x", "--provider-id", "aws:///z1/i-1",
	}))
	require.Empty(t, OfKubeletArguments([]string{"kubelet", "--provider-id", "--node-labels"})["zone"])
	require.Equal(t, Facts{"zone": "new", "region": "r", "image": "AKSUbuntu-2204gen2containerd-202511.01.0", "provider-id": "gce://p/z/n"}, OfNode(map[string]string{
		"failure-domain.beta.kubernetes.io/zone": "old", "topology.kubernetes.io/zone": "new", "failure-domain.beta.kubernetes.io/region": "r",
		"kubernetes.azure.com/node-image-version": "AKSUbuntu-2204gen2containerd-202511.01.0", "team": "planted",
	}, "gce://p/z/n"))
}

// The first source counts.
func TestAdd(t *testing.T) {
	f := Facts{"zone": "a"}
	f.Add(Facts{"zone": "b", "region": "r", "image": "\x1b[31m"})
	f.Add(nil)
	require.Equal(t, Facts{"zone": "a", "region": "r"}, f)
}

// Every fact is one of the list, whatever is read; no value breaks a line.
func TestNames(t *testing.T) {
	for label, fact := range facts.NodeLabels {
		require.Contains(t, facts.FleetFacts, strings.TrimPrefix(fact, "node."), label)
	}
	for _, key := range cloudInitKeys {
		require.Contains(t, facts.FleetFacts, key.name)
	}
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.String().Draw(t, "value")
		f := OfKubeletArguments([]string{"--provider-id", value, "--node-labels", "topology.kubernetes.io/zone=" + value})
		f.Add(OfFirmware(value, value))
		for name, value := range f {
			require.Contains(t, facts.FleetFacts, name)
			require.Regexp(t, `^[ -~]{1,200}$`, value)
		}
	})
}
