package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/plegdiag/plegdiag/"

// layer is what one package may import besides the standard library, and why nothing else.
type layer struct {
	may []string
	why string
}

// wordsMay is what the tables of every writer of log lines may import, and wordsWhy why not each
// other.
var (
	wordsMay = []string{
		"internal/event", "internal/observe/messages/table", "internal/observe/messages/repeated",
		"internal/observe/scan", "internal/observe/daemon", "internal/observe/facts", "internal/observe/crash",
	}
	wordsWhy = "the words of one writer are read without those of another; what two of them say stands in repeated"
)

// layers is the way of the data: event, then bundle, parse and stackdump, then
// observe, timeline, rules, story, incident, report. Imports never turn back. A
// third-party entry covers the packages below it.
var layers = map[string]layer{
	"internal/event": {
		nil, "the shared words stand on the standard library alone, so that every package can use them",
	},
	"internal/bundle": {
		[]string{"internal/event", "github.com/klauspost/compress", "github.com/mikelolasagasti/xz"},
		"a bundle hands out bytes; it knows no log format",
	},
	"internal/layout": {
		nil, "where collectors put things is told by paths alone",
	},
	"internal/parse": {
		[]string{
			"internal/event", "internal/parse/lines",
			"internal/parse/logs", "internal/parse/traces", "internal/parse/samples", "internal/parse/snapshots",
		},
		"a parser says what is written; it does not know what PLEG is, nor where the bytes come from",
	},
	"internal/parse/lines": {
		[]string{"internal/event", "golang.org/x/text"}, "whatever is read line by line stands on it; it knows no format",
	},
	"internal/parse/stamp": {
		[]string{"internal/event", "internal/parse/lines"}, "a stamp is written alike in all formats",
	},
	"internal/parse/pairs":  {[]string{"internal/event", "internal/parse/lines"}, "klog and logrus write pairs alike in all carriers"},
	"internal/parse/tailed": {nil, "a line that stands between logs is none of theirs"},
	"internal/parse/kernel": {
		[]string{"internal/parse/lines"}, "what a kernel calls its functions and system calls is the same in all formats",
	},
	"internal/parse/journal": {
		[]string{
			"internal/parse/lines",
			"github.com/klauspost/compress/zstd", "github.com/mikelolasagasti/xz", "github.com/pierrec/lz4", // payloads are compressed one by one
		},
		"a journal's file has entries with fields; what these say is for whoever reads logs",
	},
	"internal/parse/logs": {
		[]string{
			"internal/event", "internal/parse/lines", "internal/parse/stamp", "internal/parse/pairs",
			"internal/parse/kernel", "internal/parse/tailed", // whose lines they are that name no writer
			"internal/parse/journal",
		},
		"a log is read without what else is read",
	},
	"internal/parse/traces/dbus": {
		[]string{"internal/event"}, "messages are found in bytes, whatever showed these",
	},
	"internal/parse/traces": {
		[]string{
			"internal/event", "internal/parse/lines", "internal/parse/stamp", "internal/parse/kernel", "internal/parse/traces/dbus",
		},
		"a trace is read without what else is read; which call means what is for the observers",
	},
	"internal/parse/samples": {
		[]string{"internal/event", "internal/parse/lines", "internal/parse/stamp", "internal/parse/kernel"},
		"samples of threads are read without what else is read",
	},
	"internal/parse/snapshots": {
		[]string{
			"internal/event", "internal/parse/lines",
			"internal/parse/logs",                                                                                                         // lines of logs stand between the pieces of a ticket
			"github.com/pelletier/go-toml/v2", "go.yaml.in/yaml/v3", "github.com/prometheus/common", "github.com/prometheus/client_model", // grammars of others
		},
		"a snapshot is read without traces and samples",
	},
	"internal/parse/parsetest": {
		[]string{
			"internal/event", "internal/parse", "internal/parse/lines",
			"internal/parse/traces", "internal/parse/samples", "internal/parse/snapshots", "github.com/stretchr/testify",
		},
		"it is for the tests of the parsers",
	},
	"internal/stackdump": {
		[]string{"internal/event", "internal/stackdump/args", "internal/stackdump/funcname", "internal/stackdump/paste", "internal/stackdump/turned", "github.com/google/pprof"},
		"a dump is goroutines and locks; which function is containerd's is for the observers",
	},
	"internal/stackdump/series": {[]string{"internal/stackdump"}, "it compares dumps"},
	"internal/stackdump/goversion": {
		[]string{"internal/stackdump", "internal/stackdump/funcname"}, "the version is read off a dump as it was printed",
	},
	"internal/stackdump/args":     {nil, "arguments are printed alike whatever the function does"},
	"internal/stackdump/profiles": {[]string{"internal/stackdump", "github.com/google/pprof"}, "it writes dumps for another program"},
	"internal/stackdump/funcname": {nil, "the names of functions are printed alike whatever they do"},
	"internal/stackdump/turned":   {[]string{"internal/event"}, "lines are turned around alike whatever they say"},
	"internal/stackdump/paste":    {nil, "what editors put around a line is the same whatever the line says"},
	"internal/observe/scan":       {nil, "words and ids are taken out of text alike, whatever it is about"},
	"internal/observe/daemon":     {[]string{"internal/layout"}, "a daemon has the same names in logs, listings and samples"},
	"internal/observe/facts":      {[]string{"internal/event"}, "a fact is the same whichever file tells it"},
	"internal/observe/crash":      {[]string{"internal/event"}, "a program's last word is the same in a log and before its goroutines"},
	"internal/observe/kernelwait": {
		nil, "what a function of the kernel waits for is the same in logs, listings and samples",
	},
	"internal/observe/loss": {
		[]string{"internal/event", "internal/observe/scan", "internal/observe/daemon"}, "a loss is told in one line",
	},
	"internal/observe/noise":   {[]string{"internal/event"}, "a harmless line is so whoever reads it"},
	"internal/observe/storage": {[]string{"internal/event", "internal/observe/scan"}, "what the kernel says of a disk stands in one line"},
	"internal/observe/messages/table": {
		[]string{"internal/event", "internal/observe/scan", "internal/observe/daemon", "internal/observe/facts", "internal/observe/crash"},
		"a table is made alike whoever's words it holds",
	},
	"internal/observe/messages/repeated": {
		[]string{"internal/event", "internal/parse/lines", "internal/observe/messages/table", "internal/observe/scan", "internal/observe/daemon"},
		"what two programs say is read alike in the tables of both",
	},
	"internal/observe/messages/kubelet": {
		append([]string{"internal/parse/stamp"}, wordsMay...), wordsWhy,
	},
	"internal/observe/messages/runtimes": {
		append([]string{"internal/parse/lines"}, wordsMay...), wordsWhy,
	},
	"internal/observe/messages/linux": {
		append([]string{
			"internal/observe/storage", "internal/observe/kernelwait",
			"internal/parse/kernel", // a function counts where it stands in a frame, not in a list of names
		}, wordsMay...), wordsWhy,
	},
	"internal/observe/messages/systemd": {
		append([]string{"internal/parse/stamp"}, wordsMay...), wordsWhy,
	},
	"internal/observe/messages/refused": {
		append([]string{"internal/observe/storage"}, wordsMay...), wordsWhy,
	},
	"internal/observe/messages/tools":   {wordsMay, wordsWhy},
	"internal/observe/messages/talos":   {wordsMay, wordsWhy},
	"internal/observe/messages/network": {wordsMay, wordsWhy},
	"internal/observe/messages": {
		[]string{
			"internal/observe/messages/table", "internal/observe/messages/kubelet", "internal/observe/messages/runtimes",
			"internal/observe/messages/linux", "internal/observe/messages/systemd", "internal/observe/messages/refused",
			"internal/observe/messages/tools", "internal/observe/messages/talos", "internal/observe/messages/network",
			"internal/observe/loss", "internal/observe/noise",
			"internal/event", "internal/parse/lines",
			"internal/observe/scan", "internal/observe/daemon",
		},
		"what a line of a log tells does not depend on other inputs",
	},
	"internal/observe/goroutines": {
		[]string{
			"internal/event", "internal/stackdump", "internal/stackdump/series", "internal/stackdump/funcname",
			"internal/observe/scan", "internal/observe/crash",
		},
		"what a dump tells does not depend on other inputs",
	},
	"internal/observe/syscalls": {
		[]string{
			"internal/event", "internal/parse/lines", "internal/parse/traces", "internal/parse/traces/dbus",
			"internal/parse/snapshots", // which files hold a state: a trace shows their content, too
			"internal/observe/scan", "internal/observe/kernelwait",
			"internal/observe/messages/runtimes", // what runc init writes before it ends is a message
		},
		"what a trace tells does not depend on other inputs",
	},
	"internal/observe/threads": {
		[]string{
			"internal/event", "internal/parse/kernel", "internal/parse/samples",
			"internal/observe/scan", "internal/observe/daemon", "internal/observe/kernelwait",
			"internal/observe/messages/linux", // a stack in the kernel's log stands below a message
		},
		"what a thread was in is seen without dumps and traces",
	},
	"internal/observe/tasks": {
		[]string{"internal/event", "internal/observe/scan", "internal/observe/facts"}, "it compares what others have read",
	},
	"internal/observe/children": {
		[]string{"internal/event", "internal/observe/facts"}, "it counts what a listing showed; how that is written others know",
	},
	"internal/observe/boots": {
		[]string{"internal/event", "internal/parse/snapshots", "internal/parse/stamp", "internal/observe/facts"}, "it tells of one list",
	},
	"internal/observe/realtime": {
		[]string{"internal/event", "internal/observe/facts"}, "it counts what a listing showed; how that is written others know",
	},
	"internal/observe/processes": {
		[]string{
			"internal/event", "internal/parse/snapshots", "internal/parse/stamp", "internal/observe/scan", "internal/observe/facts",
			"internal/observe/kernelwait", "internal/observe/daemon", "internal/observe/children", "internal/observe/realtime",
			"internal/observe/messages/tools", // names of commands
		},
		"it tells of listings of processes alone",
	},
	"internal/observe/states": {
		[]string{
			"internal/event", "internal/parse/snapshots", "internal/parse/stamp",
			"internal/observe/scan", "internal/observe/facts", "internal/observe/kernelwait",
			"internal/observe/daemon", // whose a process or a unit's cgroup is
			"internal/observe/tasks",
			"internal/observe/processes", "internal/observe/boots",
			// tickets hold lines of logs, lists of events hold messages of the kubelet, and one line of a
			// listing is read alike without the others
			"internal/observe/messages", "internal/observe/messages/kubelet", "internal/observe/messages/refused",
			"internal/observe/messages/systemd", "internal/observe/messages/tools",
		},
		"a snapshot tells of one moment, without dumps, traces and samples",
	},
	"internal/observe/session": {
		[]string{
			"internal/event", "internal/parse", "internal/parse/lines", "internal/parse/stamp", "internal/observe/scan", "internal/observe/facts", "internal/observe/daemon",
			"internal/observe/messages/systemd",                                                     // how the state of a unit is said
			"internal/observe/messages/repeated",                                                    // what a line alone says, too
			"internal/observe/states",                                                               // the end of a certificate
			"internal/observe/tasks",                                                                // the containers that it shows one by one
			"internal/observe/children", "internal/observe/kernelwait", "internal/observe/messages", // what it counted
		},
		"what somebody typed is told apart from what was printed, which others read",
	},
	"internal/observe/observetest": {
		[]string{
			"internal/event", "internal/parse", "internal/parse/lines",
			"internal/observe/scan", "internal/observe/messages", "internal/observe/states", "github.com/stretchr/testify",
		},
		"it is for the tests of the observers",
	},
	"internal/timeline/restarts": {[]string{"internal/event", "internal/timeline/reach"}, "it finds daemons that were replaced"},
	"internal/timeline/links":    {[]string{"internal/event", "internal/timeline/waits"}, "it links events of goroutines and pods"},
	"internal/timeline/retold":   {[]string{"internal/event"}, "it folds events"},
	"internal/timeline/waits":    {[]string{"internal/event"}, "it narrows the times of events"},
	"internal/timeline/scopes":   {[]string{"internal/event"}, "it marks events of systemd"},
	"internal/timeline/reach":    {nil, "a stretch of time is one, whatever it is the time of"},
	"internal/timeline/few":      {nil, "what is few may be of anything"},
	"internal/timeline/runs":     {nil, "what is nearly sorted may be anything"},
	"internal/timeline/steps":    {nil, "a clock is set alike, whatever its file is about"},
	"internal/timeline": {
		[]string{
			"internal/event", "internal/timeline/few", "internal/timeline/links", "internal/timeline/restarts", "internal/timeline/retold",
			"internal/timeline/runs", "internal/timeline/scopes", "internal/timeline/steps", "internal/timeline/waits",
		},
		"the timeline orders events; file formats end at the observers",
	},
	"internal/rules/shell": {
		[]string{"mvdan.cc/sh/v3"}, "whether a command can be pasted does not depend on the rule that gives it",
	},
	"internal/rules/pack":     {nil, "values are packed alike, whatever they say"},
	"internal/rules/spelling": {nil, "which names are alike does not depend on what they are of"},
	"internal/rules/version":  {[]string{"golang.org/x/mod/semver"}, "it compares versions, whosever they are"},
	"internal/rules/logic":    {nil, "and, or and parentheses mean the same whatever the ids are of"},
	"internal/rules/yamlfile": {
		[]string{"internal/rules/spelling", "go.yaml.in/yaml/v3"}, "it reads plain YAML and says where a mistake stands, whatever the keys mean",
	},
	"internal/rules/condition": {
		[]string{"internal/event", "internal/rules/spelling", "internal/rules/version"},
		"a condition is asked of one event; what its rule is does not matter",
	},
	"internal/rules/template": {
		[]string{"internal/event", "internal/rules/spelling"}, "a text is filled with what was seen; what it is for does not matter",
	},
	"internal/rules/language": {
		[]string{
			"internal/event", "internal/timeline", // phases of a stall
			"internal/rules/shell", "internal/rules/pack", "internal/rules/spelling", "internal/rules/version",
			"internal/rules/logic", "internal/rules/yamlfile", "internal/rules/condition", "internal/rules/template",
		},
		"what a rule means does not depend on what is found by it",
	},
	"internal/rules/catalog": {
		[]string{"internal/rules/language"}, "it holds the rules that ship; what is found by them is not its business",
	},
	"internal/rules": {
		[]string{
			"internal/event", "internal/timeline", "internal/timeline/reach", "internal/rules/language",
			"internal/rules/logic", "internal/rules/condition", "internal/rules/template",
		},
		"a rule matches events; what the programs are that it speaks of is the catalogue's and story's knowledge",
	},
	"internal/story/node": {
		[]string{"internal/event", "internal/timeline", "internal/rules"},
		"a node has runtimes and units; what happened on it is the story's business",
	},
	"internal/story": {
		[]string{"internal/event", "internal/timeline", "internal/rules", "internal/rules/language", "internal/story/node"},
		"a story gives findings and stalls their parts; where the bytes came from and how it is shown is not its business",
	},
	"internal/incident/kept": {
		[]string{"internal/event", "internal/parse/lines"},
		"it keeps events and drops some; how they are made and what they prove is not its business",
	},
	"internal/incident/copies": {[]string{"internal/event", "internal/timeline/reach"}, "it compares times, whatever was taken then"},
	"internal/incident": {
		[]string{
			"internal/incident/kept", "internal/incident/copies",
			"internal/event", "internal/bundle", "internal/layout", "internal/stackdump", "internal/stackdump/series", "internal/observe/loss", "internal/observe/noise",
			"internal/parse", "internal/parse/lines", "internal/parse/traces", "internal/parse/samples",
			"internal/observe/messages", "internal/observe/goroutines", "internal/observe/syscalls", "internal/observe/threads", "internal/observe/session", "internal/observe/states", "internal/observe/processes", "internal/observe/tasks",
			"internal/observe/messages/kubelet", "internal/observe/messages/runtimes", // heartbeats and calls that are ordinary and need not be kept
			"internal/observe/daemon", "internal/observe/facts", // who wrote a line, and which machine it was
			"internal/timeline", "internal/rules", "internal/rules/language", "internal/story", "internal/story/node", "golang.org/x/sync",
		},
		"an incident is what was found; it does not know how it is shown",
	},
	"internal/comparison": {
		[]string{"internal/event", "internal/timeline", "internal/rules", "internal/story", "internal/incident"},
		"it puts two incidents side by side; how they were read and how it is shown is not its business",
	},
	"internal/fixture/tile": {nil, "a recording is written again alike, whether a test or the benchmark wants it"},
	"internal/fixture": {
		[]string{"internal/event", "internal/timeline", "internal/rules", "internal/rules/language", "internal/rules/yamlfile", "internal/story", "internal/incident", "go.yaml.in/yaml/v3"},
		"a fixture compares an incident with what is wanted of it; it does not know how either is shown",
	},
	"internal/report/show": {
		[]string{"internal/event", "internal/timeline", "github.com/charmbracelet/lipgloss", "github.com/muesli/termenv"},
		"it shows text, times and quotes; what they are about is for the pages",
	},
	"internal/report/listing": {
		[]string{
			"internal/event", "internal/report/show", "internal/report/document", "internal/stackdump", "internal/stackdump/series", "internal/stackdump/goversion", "internal/observe/syscalls", "internal/parse/traces", "internal/parse/traces/dbus",
			"internal/incident", // its dumps: with program, process and copies
			"github.com/charmbracelet/lipgloss",
		},
		"a listing shows dumps, traces and kinds of events as they are; what they mean for a node is the report's",
	},
	"internal/report/picture": {
		[]string{
			"internal/event", "internal/timeline", "internal/rules", "internal/rules/language", "internal/story", "internal/incident", "internal/report/show",
			"internal/report/html", // it is written as SVG
			"github.com/charmbracelet/lipgloss",
		},
		"it places marks and names; how they look is the page's",
	},
	"internal/report/rows": {
		[]string{"internal/event", "internal/timeline", "internal/story", "internal/incident", "internal/report/show"},
		"a row holds what was found, in columns; it cannot read files or decide anything",
	},
	"internal/report/html": {nil, "pages look alike and escape alike, whatever they are about"},
	"internal/report/document": {
		[]string{"internal/report/show"}, "a document is what programs read; what is in it is filled in by the report",
	},
	"fleet": {nil, "the questions are SQL, and DuckDB is asked as a program"},
	"internal/report/dashboard": {
		[]string{"fleet", "internal/report/document", "internal/report/show", "internal/report/html", "github.com/charmbracelet/lipgloss"},
		"it shows answers; what was asked is the question's business",
	},
	"internal/report": {
		[]string{
			"internal/event", "internal/timeline", "internal/rules", "internal/rules/language", "internal/story", "internal/incident", "internal/comparison", "internal/report/show",
			"internal/report/document", "internal/report/picture", "internal/report/html",
			"github.com/charmbracelet/lipgloss",
		},
		"a report shows findings; it cannot read files or decide anything",
	},
	"internal/schema": {nil, "a schema is text while plegdiag runs; what it is made of is looked at by the tests"},
	"internal/schema/schematest": {
		[]string{"internal/schema", "github.com/google/jsonschema-go"}, "it is for tests of what is written",
	},
	"internal/batch": {
		[]string{
			"internal/bundle", // which files of a directory are bundles
			"internal/incident", "internal/report", "internal/report/rows", "golang.org/x/sys",
		},
		"it runs the same analysis for many bundles; what is found in one is not its business",
	},
	"internal/mcp": {
		[]string{
			"internal/batch",       // its bounded processes
			"internal/report/show", // how text from a bundle is made safe to show
			"github.com/modelcontextprotocol/go-sdk", "golang.org/x/net/netutil",
		},
		"it asks plegdiag's commands and shapes their JSON; formats, rules and findings are theirs",
	},
	"docs": {nil, "documents are text"},
	"internal/collect/held": {
		[]string{"golang.org/x/sys"}, "it holds a directory, whoever writes there",
	},
	"internal/collect/fleet": {
		[]string{"internal/observe/facts"}, "where a machine stands is said by the same labels here and in a bundle",
	},
	"internal/collect/carry": {nil, "lines of a log carry bytes, whatever these are"},
	"internal/collect/apiserver": {
		[]string{
			"internal/bundle", "internal/redact", "internal/collect/carry", "internal/collect/fleet", "internal/collect/sink", "internal/collect/spool",
			"k8s.io/client-go/rest", "k8s.io/client-go/tools/clientcmd", // a user's kubeconfig, with all its ways to log in; nothing else of it
		},
		"it asks the API server; what the answers mean is for whoever reads the bundle",
	},
	"internal/collect/cri": {
		[]string{"connectrpc.com/connect", "google.golang.org/protobuf/encoding/protowire"},
		"it asks a runtime; what the answers mean is for whoever reads the bundle",
	},
	"internal/collect/put": {nil, "it sends a file; what is in it is the collection's"},
	"internal/collect/spool": {
		[]string{"internal/bundle", "internal/redact", "github.com/klauspost/compress"}, "an item is kept alike wherever it comes from",
	},
	"internal/collect/sink": {
		[]string{"golang.org/x/sys"}, "it writes bytes; what they are is the collection's",
	},
	"internal/redact": {
		[]string{
			"internal/event", "internal/bundle", "internal/parse/lines", // what is read, and how its lines are
			"github.com/klauspost/compress",
		},
		"how a secret is written does not depend on what is wrong with a node",
	},
	"internal/collect": {
		[]string{
			"internal/bundle", // writes what bundle verifies
			"internal/collect/cri", "internal/collect/fleet", "internal/collect/held", "internal/collect/put", "internal/collect/sink", "internal/collect/spool",
			"internal/redact",
			// Its own formats are declared where they are read, and journals are read as files.
			"internal/parse/journal", "internal/parse/samples", "internal/parse/snapshots",
			"github.com/klauspost/compress", "golang.org/x/sys", "github.com/godbus/dbus/v5",
		},
		"a collection is what the machine shows; what it means is for whoever reads the bundle",
	},
	"internal/archtest": {nil, "it only looks at the others"},
	"internal/cli": {
		[]string{
			"internal/event", "internal/timeline", "internal/incident", "internal/report/show",
			"internal/rules/catalog",  // the rules that ship
			"internal/rules/language", // a user's own
			"internal/rules/spelling", // what a wrong name may stand for
			"internal/rules/yamlfile", // what is wrong with a user's rules
			"internal/bundle",         // limits of reading
			"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/charmbracelet/lipgloss", "github.com/charmbracelet/x/term", "github.com/muesli/termenv", "github.com/schollz/progressbar",
		},
		"it binds flags that several commands have; what a command does is the command's",
	},
	"internal/cli/authoring": {
		[]string{
			"internal/cli", "internal/event", "internal/incident", "internal/report", "internal/report/listing", "internal/report/show",
			"internal/rules/catalog", "internal/rules/language", "internal/rules/yamlfile",
			"internal/fixture", // the command rules test runs the tests of rules
			"github.com/spf13/cobra",
		},
		"a command binds flags and calls; what a rule is, and whether it holds, is the business of rules and fixture",
	},
	"cmd/plegdiag": {
		[]string{
			"internal/cli", "internal/cli/authoring",
			"internal/event", "internal/timeline", "internal/incident", "internal/report", "internal/report/listing", "internal/report/show",
			"internal/batch",       // the command batch, and the bounds of mcp's workers
			"internal/comparison",  // the command compare
			"internal/mcp", "docs", // the command mcp, and what it gives to read
			"fleet", "internal/report/dashboard", // the command fleet
			"internal/rules/catalog",      // the rules that ship
			"internal/rules/language",     // a user's own, and what is printed of them
			"internal/bundle",             // the command verify
			"internal/observe/goroutines", // the table of locks for the command stacks
			"internal/stackdump",          // the command stacks filters and compares dumps, and writes profiles
			"internal/stackdump/profiles",
			"internal/stackdump/series",
			"internal/parse/traces",                                // the date that the command syscalls gives to traces
			"internal/collect",                                     // the command collect; verify is bundle's
			"internal/collect/put",                                 // where it sends the bundle
			"internal/collect/apiserver", "internal/collect/carry", // collect --node, and its pod's side
			"internal/redact",    // the command redact
			"internal/schema",    // the command schema
			"go.yaml.in/yaml/v3", // the user's configuration file
			"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/charmbracelet/x/term", "github.com/schollz/progressbar",
		},
		"a command binds flags and calls; the stages of the pipeline are the business of incident",
	},
	"packaging": {nil, "it holds tests of what a release consists of"},
	"bench":     {[]string{"internal/fixture/tile"}, "the benchmark measures the program from outside"},
	"lab/fault": {
		[]string{"golang.org/x/sys/unix"},
		"it breaks what it is told to, and must not know what plegdiag looks for",
	},
	"lab": {nil, "the lab breaks nodes from outside; what it holds is tests"},
	"lab/kubelet": {
		[]string{"google.golang.org/grpc", "k8s.io/cri-api"},
		"it plays a kubelet's part towards the runtime, and must not know what plegdiag looks for",
	},
}

// listed is one package as go list prints it.
type listed struct {
	ImportPath string
	Imports    []string // of the files that ship, not of the tests
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-pgo=off", "-e", "-json=ImportPath,Imports", module+"...").Output()
	require.NoError(t, err)
	var pkgs []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		pkgs = append(pkgs, p)
	}
	require.NotEmpty(t, pkgs)
	require.Empty(t, forbidden(pkgs))
}

// forbidden says of every import that no layer allows why it is none.
func forbidden(pkgs []listed) []string {
	var found []string
	for _, p := range pkgs {
		name := strings.TrimPrefix(p.ImportPath, module)
		l, ok := layers[name]
		if !ok {
			found = append(found, fmt.Sprintf("%s has no row in the table of layers", name))
			continue
		}
		for _, imp := range p.Imports {
			if !standard(imp) && !l.allows(strings.TrimPrefix(imp, module)) {
				found = append(found, fmt.Sprintf("%s imports %s: %s", name, strings.TrimPrefix(imp, module), l.why))
			}
		}
	}
	return found
}

// standard says whether an import path is of the standard library: its first element has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func (l layer) allows(imp string) bool {
	return slices.ContainsFunc(l.may, func(may string) bool {
		return imp == may || !strings.HasPrefix(may, "internal/") && strings.HasPrefix(imp, may+"/")
	})
}

// The checker itself can fail, on each kind of edge.
func TestForbidden(t *testing.T) {
	for _, tc := range []struct{ pkg, imp, want string }{
		{"internal/parse", module + "internal/rules", "internal/parse imports internal/rules: a parser says"},
		{"internal/parse", module + "internal/bundle", "internal/parse imports internal/bundle"},
		{"internal/event", "github.com/klauspost/compress/gzip", "internal/event imports github.com/klauspost/compress/gzip"},
		{"internal/report", "github.com/charmbracelet/lipglossy", "internal/report imports github.com/charmbracelet/lipglossy"},
		{"internal/incident", module + "internal/report", "it does not know how it is shown"},
		{"internal/util", "fmt", "internal/util has no row"},
	} {
		got := forbidden([]listed{{ImportPath: module + tc.pkg, Imports: []string{"fmt", tc.imp}}})
		require.Len(t, got, 1, tc.pkg)
		require.Contains(t, got[0], tc.want)
	}
	require.Empty(t, forbidden([]listed{{ImportPath: module + "internal/bundle", Imports: []string{
		"io", "encoding/json", module + "internal/event", "github.com/klauspost/compress/gzip",
	}}}))
}
