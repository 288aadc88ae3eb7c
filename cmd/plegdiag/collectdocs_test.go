package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/plegdiag/plegdiag/internal/cli"
)

const collectDocs = "../../docs/collect"

// Every file that docs/collecting.md offers can be read by what it is for, and every command line
// in it is one of this program.
func TestCollectDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/collecting.md")
	require.NoError(t, err)
	entries, err := os.ReadDir(collectDocs)
	require.NoError(t, err)
	for _, e := range entries {
		require.Contains(t, string(page), "(collect/"+e.Name()+")", "a file that the page does not name")
		text, err := os.ReadFile(filepath.Join(collectDocs, e.Name()))
		require.NoError(t, err)
		checkSyntax(t, e.Name(), text)
		checkCommands(t, e.Name(), string(text))
	}
	checkCommands(t, "collecting.md", string(page))
}

func checkSyntax(t *testing.T, name string, text []byte) {
	t.Helper()
	switch filepath.Ext(name) {
	case ".yaml":
		for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var doc struct {
				APIVersion string         `yaml:"apiVersion"`
				Kind       string         `yaml:"kind"`
				Metadata   map[string]any `yaml:"metadata"`
				Spec       map[string]any `yaml:"spec"`
				// of RBAC
				Rules    []any          `yaml:"rules"`
				RoleRef  map[string]any `yaml:"roleRef"`
				Subjects []any          `yaml:"subjects"`
			}
			err := dec.Decode(&doc)
			if errors.Is(err, io.EOF) {
				return
			}
			require.NoError(t, err, name)
			require.NotEmpty(t, doc.APIVersion, name)
			require.NotEmpty(t, doc.Kind, name)
			require.NotEmpty(t, doc.Metadata["name"], name)
		}
	case ".json":
		var plugin struct {
			Plugin string `json:"plugin"`
			Rules  []struct{ Type, Condition, Reason, Path, Timeout string }
		}
		require.NoError(t, json.Unmarshal(text, &plugin), name)
		require.Equal(t, "custom", plugin.Plugin)
		require.NotEmpty(t, plugin.Rules)
	case ".sh":
		interpreted(t, name, "sh", "-n")
	case ".py":
		interpreted(t, name, "python3", "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())")
	default:
		t.Errorf("%s: nobody knows how to check it", name)
	}
}

// interpreted lets an interpreter read a file without running it.
func interpreted(t *testing.T, name string, argv ...string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		argv[0] = tool(t, argv[0])
		out, err := exec.Command(argv[0], append(argv[1:], filepath.Join(collectDocs, name))...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
}

// flags of a command line, also where it is a list of YAML.
var writtenFlag = regexp.MustCompile(`--[a-z][a-z-]+`)

// checkCommands looks up the flags of every line that calls plegdiag collect.
func checkCommands(t *testing.T, name, text string) {
	t.Helper()
	cmd := newCollect(cli.Streams{})
	for line := range strings.Lines(text) {
		_, rest, ok := strings.Cut(line, "plegdiag collect")
		if !ok {
			if _, rest, ok = strings.Cut(line, `"collect"`); !ok {
				continue
			}
		}
		rest, _, _ = strings.Cut(rest, "|")
		for _, flag := range writtenFlag.FindAllString(rest, -1) {
			require.NotNil(t, cmd.Flags().Lookup(flag[2:]), "%s: %s", name, line)
		}
	}
}
