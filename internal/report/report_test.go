package report_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// incidents are made by hand: what the renderers do with every field.
var incidents = []struct {
	name string
	make func() *incident.Incident
}{
	{"proven", proven},
	{"empty", func() *incident.Incident { return &incident.Incident{} }},
	{"stall_without_cause", stallWithoutCause},
	{"hostile", hostile},
}

func TestGolden(t *testing.T) {
	for _, in := range incidents {
		for _, f := range report.Formats {
			t.Run(in.name+"/"+f.Name, func(t *testing.T) {
				var out bytes.Buffer
				require.NoError(t, f.Render(&out, in.make(), report.Options{Version: "v0", Full: true}))
				golden(t, in.name+f.Ending, out.Bytes())
			})
		}
	}
}

// The short form of the text is one screen, with the reader's zone where there is one.
func TestGoldenScreen(t *testing.T) {
	zone := time.FixedZone("+08:00", 8*60*60)
	for _, in := range incidents {
		t.Run(in.name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, report.Text(&out, in.make(), report.Options{Zone: zone, Inputs: []string{"node 1.tgz"}}))
			golden(t, in.name+".screen.txt", out.Bytes())
		})
	}
}

// What else is known is cut short before it is left out, however long the command is.
func TestScreenShortensOthers(t *testing.T) {
	shortened := false
	for length := range 24 {
		inc := stallWithoutCause()
		inc.Result.Opening.Command = strings.Repeat("x", 1+80*length)
		for _, rule := range []string{"a", "b"} {
			inc.Result.Findings = append(inc.Result.Findings, story.Finding{Role: language.Contributing, Finding: rules.Finding{
				Rule: rule, Verdict: language.Possible, Summary: rule + strings.Repeat(" disk that is slow", 6),
			}})
		}
		var out bytes.Buffer
		require.NoError(t, report.Text(&out, inc, report.Options{}))
		_, also, told := strings.Cut(out.String(), "\nalso      ")
		require.True(t, !told || strings.HasPrefix(also, "possible: a disk"), out.String())
		first, also, _ := strings.Cut(also, "\n")
		shortened = shortened || told && strings.HasSuffix(first, " …") && strings.HasPrefix(also, "          possible: b disk")
	}
	require.True(t, shortened)
}

// Another cause that is likely is on the screen also where commands and steps fill it.
func TestScreenKeepsProvenCauses(t *testing.T) {
	inc := stallWithoutCause()
	r := &inc.Result
	r.Opening.Command = strings.TrimSpace(strings.Repeat(dumpContainerd+"; ", 19))
	r.Suspects = slices.Repeat(r.Suspects, 4)
	r.Findings = []story.Finding{
		{Role: language.Contributing, Finding: rules.Finding{Rule: "a", Verdict: language.Possible, Summary: "the disk is slow"}},
		{Role: language.Contributing, Finding: rules.Finding{Rule: "b", Verdict: language.Likely, Summary: "systemd cannot send any message"}},
	}
	var out bytes.Buffer
	require.NoError(t, report.Text(&out, inc, report.Options{}))
	require.Contains(t, out.String(), "\nalso      likely: systemd cannot send any message\n")
	require.NotContains(t, out.String(), "the disk is slow")
	rows := 0
	for line := range strings.Lines(out.String()) {
		rows += max(1, (lipgloss.Width(strings.TrimSuffix(line, "\n"))+79)/80)
	}
	require.LessOrEqual(t, rows, 24, out.String())
}

func TestGoldenVerbose(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, report.Text(&out, proven(), report.Options{Full: true, Verbose: true, Width: 120}))
	golden(t, "proven_verbose_120.txt", out.Bytes())
}

// Of many files those are told one by one that say something; the others by directory, and no line
// is lost in the sums.
func TestManyFiles(t *testing.T) {
	o := report.Options{Full: true, Inputs: []string{"node-1.tgz"}}
	var folded, whole, ls bytes.Buffer
	require.NoError(t, report.Text(&folded, crowded(), o))
	golden(t, "crowded.txt", folded.Bytes())
	require.NoError(t, report.FilesText(&ls, crowded(), o))
	o.Verbose = true
	require.NoError(t, report.Text(&whole, crowded(), o))
	for _, f := range crowded().Files {
		require.Contains(t, ls.String(), f.Path+"\n")
		require.Contains(t, whole.String(), f.Path+"\n")
	}
	require.Equal(t, countLines(t, whole.String()), countLines(t, folded.String()))
	require.Equal(t, countLines(t, whole.String()), countLines(t, ls.String()))
}

// countLines adds up the columns of numbers of the account.
func countLines(t *testing.T, text string) (sums [4]int) {
	t.Helper()
	for _, row := range regexp.MustCompile(`(?m)^ +(\d+) +(\d+) +(\d+) +(\d+)  `).FindAllStringSubmatch(text, -1) {
		for i := range sums {
			n, err := strconv.Atoi(row[i+1])
			require.NoError(t, err)
			sums[i] += n
		}
	}
	return sums
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "accept with: go test ./internal/report -update")
}

// What a terminal would obey or hide never reaches it, whatever a log holds.
func TestNothingInvisible(t *testing.T) {
	for _, f := range append(report.Formats, wholeText) {
		var out bytes.Buffer
		require.NoError(t, f.Render(&out, hostile(), report.Options{}))
		require.True(t, utf8.Valid(out.Bytes()), f.Name)
		for _, r := range out.String() {
			require.True(t, r == '\n' || r == ' ' || unicode.IsPrint(r), "%s: %U", f.Name, r)
		}
	}
}

// Prose and the chart stay within the terminal. What is quoted is one line, to be copied whole.
func TestTextWidth(t *testing.T) {
	quoted := regexp.MustCompile(`^     \S+:\d+  `)
	for _, width := range []int{80, 120} {
		var out bytes.Buffer
		require.NoError(t, report.Text(&out, proven(), report.Options{Full: true, Width: width}))
		prose, _, _ := strings.Cut(out.String(), "FILES") // paths of the table are never broken
		for line := range strings.Lines(prose) {
			if !quoted.MatchString(line) {
				require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), width, line)
			}
		}
	}
}

// wholeText is the text report in its long form.
var wholeText = report.Format{Name: "text --full", Render: func(w io.Writer, inc *incident.Incident, o report.Options) error {
	o.Full = true
	return report.Text(w, inc, o)
}}

// Colour only repeats what the words say.
func TestColourAddsNothing(t *testing.T) {
	r := lipgloss.NewRenderer(nil)
	r.SetColorProfile(termenv.ANSI)
	for _, whole := range []bool{false, true} {
		var plain, coloured bytes.Buffer
		require.NoError(t, report.Text(&plain, proven(), report.Options{Full: whole}))
		require.NoError(t, report.Text(&coloured, proven(), report.Options{Full: whole, Renderer: r}))
		require.Contains(t, coloured.String(), "\x1b[")
		require.Equal(t, plain.String(), regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(coloured.String(), ""))
	}
}

// Whatever a line holds, its display is bounded, valid and on one line.
func FuzzText(f *testing.F) {
	f.Add("plain", "\x1b[31m\u202e\xff ` | \t")
	f.Fuzz(func(t *testing.T, path, line string) {
		inc := stallWithoutCause()
		inc.Node, inc.Files[0].Path = path, path
		inc.Timeline.Stalls[0].Evidence[0] = quote(path, 7, line)
		for _, format := range append(report.Formats, wholeText) {
			var out bytes.Buffer
			require.NoError(t, format.Render(&out, inc, report.Options{}))
			for _, r := range out.String() {
				require.True(t, r == '\n' || r == ' ' || unicode.IsPrint(r), "%s: %U", format.Name, r)
			}
			if format.Name == "json" {
				var back struct {
					Incident struct {
						Stalls []struct{ Evidence []struct{ Text, Raw string } }
					}
				}
				require.NoError(t, json.Unmarshal(out.Bytes(), &back))
				got := back.Incident.Stalls[0].Evidence[0]
				if got.Raw != "" {
					raw, err := base64.StdEncoding.DecodeString(got.Raw)
					require.NoError(t, err)
					got.Text = string(raw)
				}
				require.Equal(t, line, got.Text)
			}
		}
	})
}

// full fails every write, as a full disk does.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrorIsReturned(t *testing.T) {
	for _, f := range append(report.Formats, wholeText) {
		require.ErrorIs(t, f.Render(full{}, proven(), report.Options{}), errFull, f.Name)
	}
}

func TestByEnding(t *testing.T) {
	f, ok := report.ByEnding("out/node-1.md")
	require.True(t, ok)
	require.Equal(t, "markdown", f.Name)
	_, ok = report.ByEnding("node-1.pdf")
	require.False(t, ok)
}

// GitHub takes 65 536 characters, Jira 32 767: the verdict and the chain survive, no block stays
// open, and the cut is said.
func TestPastesFit(t *testing.T) {
	for name, grow := range map[string]func(*incident.Incident){
		"many files": func(inc *incident.Incident) {
			for range 3000 {
				inc.Files = append(inc.Files, inc.Files[0])
			}
		},
		"one endless chain": func(inc *incident.Incident) {
			f := &inc.Result.Findings[0]
			for range 2000 {
				f.Chain = append(f.Chain, f.Chain[0])
				f.Chain[len(f.Chain)-1].ID = strings.Repeat("x", len(f.Chain))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inc := proven()
			grow(inc)
			o := report.Options{Inputs: []string{"node 1.tgz"}, Verbose: true}
			for _, p := range []struct {
				render          report.Render
				limit           int
				block, cut, all string
			}{
				{report.Markdown, 65_536, "\n```", "**Parts are missing here**", "`plegdiag analyze -o html 'node 1.tgz'`\n"},
				{report.Jira, 32_767, "{noformat}", "*Parts are missing here*", "{noformat}\nplegdiag analyze -o html 'node 1.tgz'\n{noformat}\n"},
			} {
				var out bytes.Buffer
				require.NoError(t, p.render(&out, inc, o))
				require.LessOrEqual(t, out.Len(), p.limit)
				require.Contains(t, out.String(), "its shim sits in umount2 for 1m0s")
				require.Contains(t, out.String(), "its shim sits in umount2 of the overlay")
				require.Contains(t, out.String(), "The runtime is slow", "what has room follows")
				require.Contains(t, out.String(), p.cut)
				require.True(t, strings.HasSuffix(out.String(), p.all), p.cut)
				require.Zero(t, strings.Count(out.String(), p.block)%2, "every block is closed")
			}
		})
	}
}

// A chat takes 3 000 characters: the answer stays, no block stays open, and the cut is said.
func TestSlackFits(t *testing.T) {
	inc := stallWithoutCause()
	inc.Result.Opening.Command = "kill -USR1 $(pidof containerd)\n" + strings.Repeat(strings.Repeat("sleep 1; ", 200)+"\n", 4)
	var out bytes.Buffer
	require.NoError(t, report.Slack(&out, inc, report.Options{Inputs: []string{"node 1.tgz"}}))
	require.LessOrEqual(t, out.Len(), 3_000)
	require.Contains(t, out.String(), "*Stalled, cause not shown*\n")
	require.Contains(t, out.String(), "```\nkill -USR1 $(pidof containerd)\nsleep 1; ")
	require.Contains(t, out.String(), "sleep 1; \n```\n")
	require.True(t, strings.HasSuffix(out.String(), "… the whole report: `plegdiag analyze --full 'node 1.tgz'`\n"), out.String())
}

// A subject line names the state, the node and what broke, in 72 columns.
func TestSubject(t *testing.T) {
	for _, in := range incidents {
		line := report.Subject(in.make())
		require.LessOrEqual(t, lipgloss.Width(line), 72, line)
		require.NotContains(t, line, "\n")
	}
	require.Equal(t, "CONFIRMED: node-1: Unmounting an exited container's overlay writes the …", report.Subject(proven()))
	require.Equal(t, "STALLED, CAUSE NOT SHOWN: node-2: relist has not completed since …", report.Subject(stallWithoutCause()))
}

// A command is there to be copied: no markup of Markdown or Jira cuts it into pieces.
func TestCommandsStayWhole(t *testing.T) {
	const dump = `kill -USR1 $(pidof dockerd); ls -t /var/run/docker/goroutine-stacks-*.log | head -1`
	for _, c := range []struct{ command, fence string }{
		{dump, "```"},
		{"kill -USR1 `pidof dockerd`", "```"},
		{"echo ``` | cat", "````"},
		{"echo '{noformat}' [x](http://evil) @team", "```"},
		{"sync\nls *.log | head -1", "```"},
	} {
		inc := stallWithoutCause()
		inc.Result.Opening.Command = c.command
		var md, jira bytes.Buffer
		require.NoError(t, report.Markdown(&md, inc, report.Options{}))
		require.NoError(t, report.Jira(&jira, inc, report.Options{}))
		require.Contains(t, md.String(), "Do first:\n\n"+c.fence+"text\n"+c.command+"\n"+c.fence+"\n")
		inside := strings.ReplaceAll(c.command, "{noformat", "{ noformat")
		require.Contains(t, jira.String(), "*Do first:*\n\n{noformat}\n"+inside+"\n{noformat}\n")
	}
}
