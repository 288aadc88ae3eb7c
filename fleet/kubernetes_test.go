package fleet

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// job is what of the Job's manifest matters here.
type job struct {
	Kind string
	Spec struct {
		CompletionMode       string `yaml:"completionMode"`
		Completions          int
		BackoffLimitPerIndex *int `yaml:"backoffLimitPerIndex"`
		PodFailurePolicy     struct {
			Rules []struct {
				Action      string
				OnExitCodes *struct {
					ContainerName string `yaml:"containerName"`
					Values        []int
				} `yaml:"onExitCodes"`
				OnPodConditions []struct{ Type, Status string } `yaml:"onPodConditions"`
			}
		} `yaml:"podFailurePolicy"`
		Template struct {
			Spec struct {
				RestartPolicy                 string `yaml:"restartPolicy"`
				AutomountServiceAccountToken  *bool  `yaml:"automountServiceAccountToken"`
				TerminationGracePeriodSeconds int    `yaml:"terminationGracePeriodSeconds"`
				SecurityContext               struct {
					RunAsNonRoot bool `yaml:"runAsNonRoot"`
					RunAsUser    int  `yaml:"runAsUser"`
				} `yaml:"securityContext"`
				Containers []struct {
					Name            string
					Args            []string
					Env             []struct{ Name, Value string }
					SecurityContext struct {
						AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
						ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
						Capabilities             struct{ Drop []string }
					} `yaml:"securityContext"`
					VolumeMounts []struct {
						Name     string
						ReadOnly bool `yaml:"readOnly"`
					} `yaml:"volumeMounts"`
				}
			}
		}
	}
}

// TestJobIsSafe holds that the Job's parts are its completions, that a drained node costs no try
// and wrong usage all of them, and that its pods may do nothing but read and write their volumes.
func TestJobIsSafe(t *testing.T) {
	var j job
	text, err := os.ReadFile("kubernetes/base/job.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &j))
	require.Equal(t, []string{"Job", "Indexed"}, []string{j.Kind, j.Spec.CompletionMode})
	require.NotNil(t, j.Spec.BackoffLimitPerIndex)
	policy := j.Spec.PodFailurePolicy.Rules
	require.Len(t, policy, 2)
	require.Equal(t, "Ignore", policy[0].Action)
	require.Equal(t, "DisruptionTarget", policy[0].OnPodConditions[0].Type)
	require.Equal(t, "FailJob", policy[1].Action)
	require.Equal(t, []int{2}, policy[1].OnExitCodes.Values, "plegdiag ends with 2 for wrong usage")

	pod := j.Spec.Template.Spec
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0]
	require.Equal(t, policy[1].OnExitCodes.ContainerName, c.Name)
	require.Contains(t, c.Args, "--shard=/$(PARTS)")
	require.Equal(t, "PARTS", c.Env[0].Name)
	require.Equal(t, strconv.Itoa(j.Spec.Completions), c.Env[0].Value)
	require.Equal(t, "Never", pod.RestartPolicy)
	require.False(t, *pod.AutomountServiceAccountToken)
	require.True(t, pod.SecurityContext.RunAsNonRoot)
	require.Positive(t, pod.SecurityContext.RunAsUser)
	require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
	require.True(t, c.SecurityContext.ReadOnlyRootFilesystem)
	require.Equal(t, []string{"ALL"}, c.SecurityContext.Capabilities.Drop)
	require.True(t, c.VolumeMounts[0].ReadOnly, "bundles")
	require.Greater(t, pod.TerminationGracePeriodSeconds, 600, "longer than --timeout=10m")
	require.Contains(t, c.Args, "--timeout=10m")
}

// TestManifestsAreYAML holds that every file here can be read, and that a kustomization names files
// that are there.
func TestManifestsAreYAML(t *testing.T) {
	names, err := filepath.Glob("kubernetes/*/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		file, err := os.Open(name)
		require.NoError(t, err)
		defer file.Close()
		for dec := yaml.NewDecoder(file); ; {
			var document struct {
				Kind      string
				Resources []string
			}
			err := dec.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, name)
			require.NotEmpty(t, document.Kind, name)
			if strings.HasSuffix(name, "kustomization.yaml") {
				for _, resource := range document.Resources {
					_, err := os.Stat(filepath.Join(filepath.Dir(name), resource))
					require.NoError(t, err, name)
				}
			}
		}
	}
}
