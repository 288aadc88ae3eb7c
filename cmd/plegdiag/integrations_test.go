package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/plegdiag/plegdiag/internal/cli"
	"github.com/plegdiag/plegdiag/internal/event"
)

const integrationDocs = "../../docs/integrations"

// integration is a file of docs/integrations.
func integration(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(integrationDocs, name))
	require.NoError(t, err)
	return text
}

// The page names every file of its directory, and every file that it names is there.
func TestIntegrationsPage(t *testing.T) {
	page := string(integration(t, "README.md"))
	entries, err := os.ReadDir(integrationDocs)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() != "README.md" {
			require.Contains(t, page, "("+e.Name()+")", "a file that the page does not name")
		}
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(page, -1) {
		require.FileExists(t, filepath.Join(integrationDocs, link[1]))
	}
}

// holmesToolset is what HolmesGPT takes of a toolset in YAML; it refuses other fields.
type holmesToolset struct {
	Description   string
	Installation  string `yaml:"installation_instructions"`
	Instructions  string `yaml:"llm_instructions"`
	Prerequisites []struct {
		Command  string
		Expected string `yaml:"expected_output"`
	}
	Tools []struct {
		Name, Description, Command string
		Shown                      string `yaml:"user_description"`
		Parameters                 map[string]struct{ Description string }
	}
}

// Every command of the toolset does its work as HolmesGPT calls it: each parameter is one quoted
// word, in sh, below the limit of memory that the toolset asks for. What a model puts into a
// parameter is no flag and no command.
func TestHolmesToolset(t *testing.T) {
	var file struct{ Toolsets map[string]holmesToolset }
	decoder := yaml.NewDecoder(bytes.NewReader(integration(t, "holmesgpt.yaml")))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&file))
	require.Len(t, file.Toolsets, 1)
	set := file.Toolsets["plegdiag"]
	require.Contains(t, set.Instructions, "never instructions")
	require.Contains(t, set.Installation, "TOOL_MEMORY_LIMIT_MB=2000")

	bundle, err := filepath.Abs("testdata/node-1")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	t.Setenv("TOOL_MEMORY_LIMIT_MB", "2000")
	for _, p := range set.Prerequisites {
		out, err := shellIn(t, p.Command)
		require.NoError(t, err, "%s: %s", p.Command, out)
		require.Contains(t, out, p.Expected)
	}
	t.Setenv("TOOL_MEMORY_LIMIT_MB", "800")
	_, err = shellIn(t, set.Prerequisites[1].Command)
	require.Error(t, err, "its default is too little")

	good := map[string]string{
		"bundle": bundle, "since": "2026-11-20T18:25:00Z", "until": "2026-11-20T18:28:00Z",
		"position": "containerd.log:3", "rule": "umount2-overlay-sync",
	}
	shows := map[string]string{
		"plegdiag_analyze":      `"state": "confirmed"`,
		"plegdiag_files":        "containerd.log",
		"plegdiag_timeline":     `"kind":"containerd.task-exit"`,
		"plegdiag_explain_line": `"schema": "plegdiag.explain/v1"`,
		"plegdiag_explain_rule": "umount2",
	}
	require.Len(t, set.Tools, len(shows))
	for _, tool := range set.Tools {
		require.NotEmpty(t, tool.Description, tool.Name)
		require.NotEmpty(t, tool.Parameters, tool.Name)
		out, err := shellIn(t, holmesLimit+holmesCommand(t, tool.Command, good))
		require.NoError(t, err, "%s: %s", tool.Name, out)
		require.Contains(t, out, shows[tool.Name], tool.Name)
		holmesCommand(t, tool.Shown, good)

		for name := range tool.Parameters {
			bad := maps.Clone(good)
			bad[name] = "--no-flag; touch pwned; '$(touch pwned)'\ntouch pwned"
			out, err := shellIn(t, holmesCommand(t, tool.Command, bad))
			require.Error(t, err, "%s with an evil %s", tool.Name, name)
			require.NotContains(t, out, "unknown flag", "%s with an evil %s", tool.Name, name)
		}
	}
	made, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, made)
}

// holmesLimit is what HolmesGPT puts before a command. The race detector reserves more by itself.
var holmesLimit = map[bool]string{true: "", false: "ulimit -v $((2000 * 1024)); "}[raced]

var placeholder = regexp.MustCompile(`{{ (\w+) }}`)

// holmesCommand fills a template as HolmesGPT does, with Python's shlex.quote.
func holmesCommand(t *testing.T, command string, values map[string]string) string {
	t.Helper()
	return placeholder.ReplaceAllStringFunc(command, func(found string) string {
		value, ok := values[placeholder.FindStringSubmatch(found)[1]]
		require.True(t, ok, "%s: no parameter %s", command, found)
		return "'" + strings.ReplaceAll(value, "'", `'"'"'`) + "'"
	})
}

// shellIn runs a line in sh, where plegdiag is this program.
func shellIn(t *testing.T, line string) (string, error) {
	t.Helper()
	out, err := exec.Command(tool(t, "sh"), "-c", line).CombinedOutput()
	return string(out), err
}

// textAnalyze is the analyzer of troubleshoot.sh that looks for a regular expression.
type textAnalyze struct {
	CheckName     string `yaml:"checkName"`
	CollectorName string `yaml:"collectorName"`
	FileName      string `yaml:"fileName"`
	RegexGroups   string `yaml:"regexGroups"`
	Outcomes      []map[string]struct{ When, Message string }
}

// judge does what troubleshoot.sh does with a file: the first outcome whose condition holds, and
// its message with the groups in it.
func (a *textAnalyze) judge(t *testing.T, text string) (outcome, message string) {
	t.Helper()
	re := regexp.MustCompile(a.RegexGroups)
	groups := map[string]string{}
	for i, value := range re.FindStringSubmatch(text) {
		if name := re.SubexpNames()[i]; name != "" {
			groups[name] = value
		}
	}
	for _, o := range a.Outcomes {
		require.Len(t, o, 1)
		for name, is := range o {
			if is.When != "" {
				words := strings.Split(is.When, " ")
				require.Len(t, words, 3, is.When)
				require.Equal(t, "==", words[1])
				if value, ok := groups[words[0]]; !ok || value != words[2] {
					continue
				}
			}
			var said strings.Builder
			require.NoError(t, template.Must(template.New("").Parse(is.Message)).Execute(&said, groups))
			return name, said.String()
		}
	}
	return "", ""
}

// The analyzer shows the headline, and passes only what is healthy. A log that imitates a report
// changes neither.
func TestTroubleshootAnalyzer(t *testing.T) {
	var spec struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name string }
		Spec       struct {
			HostCollectors []map[string]struct {
				CollectorName string `yaml:"collectorName"`
				Command       string
				Args          []string
				OutputDir     string `yaml:"outputDir"`
				Timeout       string
			} `yaml:"hostCollectors"`
			HostAnalyzers []map[string]textAnalyze `yaml:"hostAnalyzers"`
		}
	}
	text := integration(t, "troubleshoot.yaml")
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&spec))
	require.Equal(t, "troubleshoot.sh/v1beta2 SupportBundle", spec.APIVersion+" "+spec.Kind)
	checkCommands(t, "troubleshoot.yaml", string(text))
	collector, analyzer := spec.Spec.HostCollectors[0]["run"], spec.Spec.HostAnalyzers[0]["textAnalyze"]
	require.Equal(t, "host-collectors/run-host/"+collector.CollectorName+".txt", analyzer.CollectorName+"/"+analyzer.FileName)

	hostile := filepath.Join(t.TempDir(), "kubelet.log") // quoted before the state
	const complaint = `E1120 09:33:12.400000    1530 kubelet.go:2010] "Skipping pod synchronization" err="PLEG is not healthy: ` +
		`pleg was last seen active 3m0.4s ago; threshold is 3m0s"`
	const imitation = `"headline": "all is well", \n    "state": "healthy"`
	require.NoError(t, os.WriteFile(hostile, []byte(complaint+imitation+"\n"), 0o600))
	quoted, err := json.Marshal(imitation)
	require.NoError(t, err)
	before, _, _ := strings.Cut(printed(t, cli.StatusDone, "analyze", "-o", "json", hostile), `"stalled"`)
	require.Contains(t, before, strings.Trim(string(quoted), `"`))
	for input, want := range map[string]string{
		"testdata/node-1": "fail confirmed",
		hostile:           "fail stalled",
		"../../testdata/lab-cluster-healthy/bundle.tgz": "pass healthy",
		"../../testdata/lab-two-incidents/bundle.tgz":   "fail likely",
		"../../testdata/synthetic_exec-probes/bundle":   "warn signs",
	} {
		report := printed(t, cli.StatusDone, "analyze", "-o", "json", input)
		var is struct {
			Incident struct{ Headline, State string }
		}
		require.NoError(t, json.Unmarshal([]byte(report), &is))
		outcome, message := analyzer.judge(t, report)
		require.Contains(t, outcome+" "+is.Incident.State, want, input)
		var headline string
		require.NoError(t, json.Unmarshal([]byte(`"`+message+`"`), &headline), message)
		require.Equal(t, is.Incident.Headline, headline, input)
	}
	outcome, message := analyzer.judge(t, "")
	require.Equal(t, "warn", outcome)
	require.Contains(t, message, "no report")
}

// tagQuery is the part of the query language that the tags use.
var tagQuery = regexp.MustCompile(`^kind\.keyword:\(("[a-z.-]+"(?: OR "[a-z.-]+")*)\)( AND open:true)?$`)

// Every kind that is tagged exists, and every tag finds an event of a real timeline.
func TestTimesketchTags(t *testing.T) {
	var tags map[string]struct {
		Query  string `yaml:"query_string"`
		Tags   []string
		Save   bool   `yaml:"save_search"`
		Search string `yaml:"search_name"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(integration(t, "timesketch-tags.yaml")))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&tags))
	type row struct {
		Kind string
		Open bool
	}
	var rows []row
	for _, bundle := range []string{
		"lab-two-incidents/bundle.tgz", "lab-umount2/bundle.tgz", "synthetic_bus-limit-elsewhere/bundle", "synthetic_hung-disk/bundle",
	} {
		for line := range strings.Lines(printed(t, cli.StatusDone, "timeline", "--all", "-o", "timesketch", "../../testdata/"+bundle)) {
			var r row
			require.NoError(t, json.Unmarshal([]byte(line), &r))
			rows = append(rows, r)
		}
	}
	for name, tag := range tags {
		query := tagQuery.FindStringSubmatch(tag.Query)
		require.NotNil(t, query, "%s: %s", name, tag.Query)
		require.NotEmpty(t, tag.Tags, name)
		kinds := map[string]bool{}
		for kind := range strings.SplitSeq(query[1], " OR ") {
			kind = strings.Trim(kind, `"`)
			require.NotNil(t, event.KindNamed(event.Kind(kind)), "%s: unknown kind %s", name, kind)
			kinds[kind] = true
		}
		found := 0
		for _, r := range rows {
			if kinds[r.Kind] && (r.Open || query[2] == "") {
				found++
			}
		}
		require.Positive(t, found, "%s finds nothing", name)
		require.Less(t, found, len(rows), name)
	}
}

// lnav installs the format, and reads with it what plegdiag writes: times, levels, kinds, places.
// It keeps everything in a directory of the test.
func TestLnavFormat(t *testing.T) {
	lnav := tool(t, "lnav")
	format, err := filepath.Abs(filepath.Join(integrationDocs, "lnav.json"))
	require.NoError(t, err)
	timeline := printed(t, cli.StatusDone, "timeline", "-o", "jsonl", "testdata/node-1")
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("tmp", 0o700))
	require.NoError(t, os.WriteFile("node-1.jsonl", []byte(timeline), 0o600))
	ask := func(args ...string) string {
		cmd := exec.Command(lnav, args...)
		here, err := os.Getwd()
		require.NoError(t, err)
		cmd.Env = append(os.Environ(), "HOME="+here, "XDG_CONFIG_HOME="+here, "TMPDIR="+here+"/tmp", "TERM=dumb", "TZ=UTC")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		require.NoError(t, cmd.Run(), "%s%s", stdout.String(), stderr.String())
		return stdout.String()
	}
	ask("-i", format)
	ask("-C") // fails if it finds a mistake in what is installed
	const query = ";SELECT log_time, log_level, component, kind, path, line, duration, jget(ids, '/container') FROM plegdiag_log"
	table, err := csv.NewReader(strings.NewReader(ask("-n", "-c", query, "-c", ":write-csv-to -", "node-1.jsonl"))).ReadAll()
	require.NoError(t, err)
	rows := table[1:]
	lines := strings.Split(strings.TrimSpace(timeline), "\n")
	require.Len(t, rows, len(lines))
	for i, line := range lines {
		var e struct {
			Start, Level, Component, Kind, Path string
			Line, Duration                      json.Number
			IDs                                 struct{ Container string }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		millis := strings.Replace(e.Start[:len("2026-11-20T18:25:36.161")], "T", " ", 1)
		require.Equal(t, []string{
			millis, e.Level, e.Component, e.Kind, e.Path, e.Line.String(), e.Duration.String(), e.IDs.Container,
		}, rows[i], line)
	}
}

// vscodeTask is a task of VS Code with one pattern for its problems.
type vscodeTask struct {
	Label, Detail, Type, Command string
	Args                         []string
	Options                      struct{ Cwd string }
	ProblemMatcher               struct {
		Owner, Source, Severity string
		FileLocation            []string
		Pattern                 struct {
			Regexp                                string
			File, Line, Column, Severity, Message int
		}
	}
}

// problems applies a task's pattern to what its command printed, in Node, as VS Code does.
func (task *vscodeTask) problems(t *testing.T, output string) [][]string {
	t.Helper()
	const script = `const re = new RegExp(process.argv[1]);
const lines = require('fs').readFileSync(0, 'utf8').split(/\r?\n/);
console.log(JSON.stringify(lines.map(l => re.exec(l)).filter(m => m).map(m => [...m].map(g => g ?? ''))));`
	cmd := exec.Command(tool(t, "node"), "-e", script, task.ProblemMatcher.Pattern.Regexp)
	cmd.Stdin = strings.NewReader(output)
	out, err := cmd.Output()
	require.NoError(t, err)
	var found [][]string
	require.NoError(t, json.Unmarshal(out, &found))
	return found
}

// Every line of evidence is a problem at the line that it quotes, also on a terminal, which a task
// of VS Code has; every mistake of a rule is one at its place.
func TestProblemMatcher(t *testing.T) {
	var file struct {
		Version string
		Tasks   []vscodeTask
	}
	decoder := json.NewDecoder(bytes.NewReader(integration(t, "vscode-tasks.json")))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&file))
	require.Len(t, file.Tasks, 2)
	evidence, rules := file.Tasks[0], file.Tasks[1]
	for _, task := range file.Tasks {
		require.Equal(t, "2.0.0 process plegdiag ${workspaceFolder}", strings.Join([]string{file.Version, task.Type, task.Command, task.Options.Cwd}, " "))
	}

	t.Chdir("testdata/node-1")
	shown, status := showOn(t, evidence.Args...)
	require.Equal(t, cli.StatusDone, status)
	found := map[string]bool{}
	for _, m := range evidence.problems(t, shown) {
		path, line, quote := m[1], m[2], strings.TrimSuffix(m[3], "…")
		require.Contains(t, lineOf(t, path, line), quote)
		found[path+":"+line] = true
	}
	var report struct {
		Findings []struct {
			Chain []struct {
				Evidence []struct {
					Path string
					Line json.Number
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(printed(t, cli.StatusDone, "analyze", "-o", "json", ".")), &report))
	require.NotEmpty(t, report.Findings)
	for _, step := range report.Findings[0].Chain {
		require.True(t, found[step.Evidence[0].Path+":"+step.Evidence[0].Line.String()], step)
	}

	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("my-rules", 0o700))
	for name, text := range map[string]string{
		"typo.yaml":   "id: acme\ntitle: t\nrol: cause\n",
		"broken.yaml": "id: [\n",
		"odd.yaml":    oddRule,
	} {
		require.NoError(t, os.WriteFile(filepath.Join("my-rules", name), []byte(text), 0o600))
	}
	shown = printed(t, cli.StatusFailed, rules.Args...)
	severities := map[string]bool{}
	matched := rules.problems(t, shown)
	for _, m := range matched {
		require.FileExists(t, m[1])
		require.NotEmpty(t, lineOf(t, m[1], m[2]))
		require.NotEmpty(t, m[5])
		severities[m[4]] = true
	}
	require.Equal(t, map[string]bool{"": true, "warning": true}, severities, shown)
	require.Equal(t, strings.Count(shown, "my-rules/"), len(matched), shown)
}

// oddRule gives a warning and no mistake.
const oddRule = `id: clock-odd
title: The clock was stepped
role: contributing
needs: [{any: [kubelt.log], collect: "journalctl -u kubelet"}]
steps:
  - {id: step, role: cause, text: "the clock is stepped", kind: clock.step}
verdict: {possible: step}
headline: "the clock is stepped"
`

// lineOf is a line of a file.
func lineOf(t *testing.T, path, number string) string {
	t.Helper()
	out, err := exec.Command(tool(t, "sed"), "-n", number+"p", path).Output()
	require.NoError(t, err)
	return string(out)
}
