package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/plegdiag/plegdiag/internal/cli"
)

// automation is a directory with bundles in which the blocks of docs/automation.md run, and the
// server that stands for PagerDuty and Slack.
type automation struct {
	t      *testing.T
	blocks []string // of sh
	steps  []string // the commands of the workflow
	env    []string
	asked  []http.Request
	bodies [][]byte
}

const (
	routingKey = "0123456789abcdef0123456789abcdef"
	webhook    = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"
)

func newAutomation(t *testing.T) *automation {
	t.Helper()
	for _, name := range []string{"bash", "jq", "curl"} {
		tool(t, name)
	}
	a := &automation{t: t}
	a.read()
	dir := t.TempDir()
	require.NoError(t, tgz(filepath.Join(dir, "node-1.tgz"), os.DirFS("testdata/node-1")))
	for name, from := range map[string]string{
		"healthy.tgz": "../../testdata/lab-cluster-healthy/bundle.tgz", "undated.log": "../../testdata/tickets/containerd-5325/bundle/dmesg.txt",
	} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "strange.tgz"), []byte("nothing that is known\n"), 0o600))
	t.Chdir(dir)

	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		a.asked, a.bodies = append(a.asked, *r), append(a.bodies, body)
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	// curl takes from here where the hosts of the page are: all of them are the test's server.
	config := fmt.Sprintf("connect-to = \"::%s\"\ninsecure\n", server.Listener.Addr())
	require.NoError(t, os.WriteFile(".curlrc", []byte(config), 0o600))
	a.env = append(os.Environ(), "CURL_HOME="+dir, "NO_PROXY=*", "no_proxy=*",
		"PAGERDUTY_ROUTING_KEY="+routingKey, "SLACK_WEBHOOK_URL="+webhook, "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary.md"))
	return a
}

// read takes the blocks out of the page.
func (a *automation) read() {
	page, err := os.ReadFile("../../docs/automation.md")
	require.NoError(a.t, err)
	for _, found := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		switch found[1] {
		case "sh":
			a.blocks = append(a.blocks, found[2])
		case "yaml":
			var workflow struct {
				On   map[string]any
				Jobs map[string]struct {
					Steps []struct{ Uses, Run string }
				}
			}
			require.NoError(a.t, yaml.Unmarshal([]byte(found[2]), &workflow))
			require.Contains(a.t, workflow.On, "workflow_dispatch")
			for _, step := range workflow.Jobs["plegdiag"].Steps {
				require.NotContains(a.t, step.Run, "${{", "an expression is pasted into a script")
				if step.Run != "" {
					a.steps = append(a.steps, step.Run)
				}
			}
		default:
			a.t.Errorf("a block of %s", found[1])
		}
	}
	require.Len(a.t, a.blocks, 4)
	require.Len(a.t, a.steps, 1)
}

// runs runs a script as a file of bash, and returns what it printed and its exit status.
func (a *automation) runs(script string, args ...string) (stdout string, status int) {
	a.t.Helper()
	require.NoError(a.t, os.WriteFile("script.sh", []byte(script), 0o600))
	cmd := exec.Command("bash", append([]string{"--noprofile", "--norc", "-euo", "pipefail", "script.sh"}, args...)...)
	cmd.Env = a.env
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if err != nil {
		require.IsType(a.t, &exec.ExitError{}, err)
		a.t.Logf("%s", stderr.String())
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func TestAutomationPipelines(t *testing.T) {
	a := newAutomation(t)
	out, status := a.runs(a.blocks[0])
	require.Equal(t, 0, status)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Equal(t, `"confirmed"`, lines[0])
	require.Contains(t, out, `["confirmed","root","cri-status-lock-exiting-update","b39895a86a9e`)
	require.Contains(t, out, `"containerd.log:3"]`)
	require.Contains(t, out, `,"containerd.task-exit","container b39895a86a9e exited"]`)
	for _, line := range lines {
		require.True(t, json.Valid([]byte(line)), line)
	}

	out, status = a.runs(a.blocks[1])
	require.Equal(t, 0, status)
	require.Equal(t, `healthy.tgz: no cause is likely
["node-1.tgz","confirmed","cri-status-lock-exiting-update"]
strange.tgz: nothing in it was recognised
`, out)
	require.NoError(t, os.WriteFile("cut.tgz", []byte("\x1f\x8b\x08\x00"), 0o600))
	out, status = a.runs(a.blocks[1])
	require.Equal(t, 0, status)
	require.Contains(t, out, "cut.tgz: failed, see cut.tgz.err\n")
}

func TestAutomationWorkflow(t *testing.T) {
	a := newAutomation(t)
	for _, c := range []struct {
		bundle string
		status int
		shows  string
	}{
		{"healthy.tgz", cli.StatusDone, "Healthy"},
		{"node-1.tgz", cli.StatusVerdict, "Confirmed"},
		{"--help", cli.StatusFailed, ""},
	} {
		a.env = append(a.env, "BUNDLE="+c.bundle)
		require.NoError(t, os.RemoveAll("summary.md"))
		require.NoError(t, os.RemoveAll("plegdiag.html"))
		out, status := a.runs(a.steps[0])
		require.Equal(t, c.status, status, c.bundle)
		require.Empty(t, out, "a line on stdout could be a command for the runner")
		summary, err := os.ReadFile("summary.md")
		require.NoError(t, err)
		require.Contains(t, string(summary), c.shows)
		if c.status != cli.StatusFailed {
			require.FileExists(t, "plegdiag.html")
		}
	}
}

// pagerEvent is an event of PagerDuty's Events API v2, with all fields that it may have.
type pagerEvent struct {
	RoutingKey  string `json:"routing_key"`
	EventAction string `json:"event_action"`
	DedupKey    string `json:"dedup_key"`
	Client      string `json:"client"`
	ClientURL   string `json:"client_url"`
	Links       []any  `json:"links"`
	Images      []any  `json:"images"`
	Payload     struct {
		Summary   string  `json:"summary"`
		Source    string  `json:"source"`
		Severity  string  `json:"severity"`
		Timestamp *string `json:"timestamp"`
		Component string  `json:"component"`
		Group     string  `json:"group"`
		Class     string  `json:"class"`
		Details   any     `json:"custom_details"`
	} `json:"payload"`
}

// takePagerEvent checks what PagerDuty checks.
func takePagerEvent(t *testing.T, r *http.Request, body []byte) pagerEvent {
	t.Helper()
	require.Equal(t, "events.pagerduty.com/v2/enqueue", r.Host+r.URL.Path)
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	require.Less(t, len(body), 512<<10)
	var e pagerEvent
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&e), "%s", body)
	require.Equal(t, routingKey, e.RoutingKey)
	require.Equal(t, "trigger", e.EventAction)
	require.LessOrEqual(t, utf8.RuneCountInString(e.DedupKey), 255)
	require.NotEmpty(t, e.Payload.Summary)
	require.LessOrEqual(t, utf8.RuneCountInString(e.Payload.Summary), 1024)
	require.NotEmpty(t, e.Payload.Source)
	require.Contains(t, []string{"critical", "error", "warning", "info"}, e.Payload.Severity)
	if e.Payload.Timestamp != nil {
		_, err := time.Parse(time.RFC3339Nano, *e.Payload.Timestamp)
		require.NoError(t, err)
	}
	return e
}

func TestAutomationPagerDuty(t *testing.T) {
	a := newAutomation(t)
	page := a.blocks[2]
	_, status := a.runs(page, "node-1.tgz")
	require.Equal(t, 0, status)
	_, status = a.runs(page, "undated.log")
	require.Equal(t, 0, status)
	require.Len(t, a.asked, 2)
	e := takePagerEvent(t, &a.asked[0], a.bodies[0])
	require.Equal(t, "critical", e.Payload.Severity)
	require.Equal(t, "plegdiag/node-1/cri-status-lock-exiting-update", e.DedupKey)
	require.NotNil(t, e.Payload.Timestamp)
	e = takePagerEvent(t, &a.asked[1], a.bodies[1])
	require.Equal(t, "error undated.log", e.Payload.Severity+" "+e.Payload.Source)
	require.Nil(t, e.Payload.Timestamp)

	a.mustNotCall(page)
}

// mustNotCall runs a hook on what is no reason to call anybody.
func (a *automation) mustNotCall(hook string) {
	a.t.Helper()
	before := len(a.asked)
	for bundle, want := range map[string]int{
		"healthy.tgz": cli.StatusDone, "strange.tgz": cli.StatusUnknown, "--report=x.html": cli.StatusFailed,
	} {
		_, status := a.runs(hook, bundle)
		require.Equal(a.t, want, status, bundle)
	}
	require.Len(a.t, a.asked, before)
	require.NoFileExists(a.t, "x.html")
}

func TestAutomationSlack(t *testing.T) {
	node, err := filepath.Abs("testdata/node-1")
	require.NoError(t, err)
	a := newAutomation(t)
	tell := a.blocks[3]
	// Who names a file of the bundle calls nobody, and runs nothing.
	const hostile = `<!channel> "$(touch pwned)" <https:evil|here>`
	require.NoError(t, os.CopyFS(filepath.Join("tree", hostile), os.DirFS(node)))
	require.NoError(t, tgz(hostile+".tgz", os.DirFS("tree")))
	for _, bundle := range []string{"node-1.tgz", hostile + ".tgz"} {
		_, status := a.runs(tell, bundle)
		require.Equal(t, 0, status)
	}
	require.NoFileExists(t, "pwned")
	require.Len(t, a.asked, 2)
	for i, body := range a.bodies {
		require.Equal(t, webhook, "https://"+a.asked[i].Host+a.asked[i].URL.Path)
		require.Equal(t, "application/json", a.asked[i].Header.Get("Content-Type"))
		var message struct {
			Text        string `json:"text"`
			UnfurlLinks *bool  `json:"unfurl_links"`
			UnfurlMedia *bool  `json:"unfurl_media"`
		}
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(&message), "%s", body)
		require.Contains(t, message.Text, "Confirmed")
		require.LessOrEqual(t, utf8.RuneCountInString(message.Text), 3_000)
		require.NotContains(t, message.Text, "<", "what Slack obeys begins with it")
		require.False(t, *message.UnfurlLinks || *message.UnfurlMedia)
	}
	require.Contains(t, string(a.bodies[1]), "&lt;!channel&gt;")

	a.mustNotCall(tell)
}
