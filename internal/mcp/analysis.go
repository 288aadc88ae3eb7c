package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bundle says which bundle a question is about, and how it is read.
type Bundle struct {
	Input string `json:"input" jsonschema:"the bundle: path of an archive, a directory or a file, relative to the directories of this server"`
	Node  string `json:"node,omitempty" jsonschema:"the node to look at, where the bundle holds evidence of several"`
	Zone  string `json:"tz,omitempty" jsonschema:"zone of logs that do not say theirs, as Asia/Shanghai or +08:00; inferred when not given"`
	Year  int    `json:"year,omitempty" jsonschema:"year of logs that do not say theirs; inferred when not given"`
}

// AskAnalysis is the input of the tool analyze: the bundle, and the part of it that is asked about.
type AskAnalysis struct {
	Bundle
	Since    string `json:"since,omitempty" jsonschema:"only what came from this time on: RFC 3339, or 15:04[:05] on the day of the incident; UTC"`
	Until    string `json:"until,omitempty" jsonschema:"only what came up to this time"`
	Incident int    `json:"incident,omitempty" jsonschema:"only one of several incidents: 1 is the first of episodes"`
}

// flags are those of the command analyze.
func (in *AskAnalysis) flags() (flags []string) {
	if in.Since != "" {
		flags = append(flags, "--since="+in.Since)
	}
	if in.Until != "" {
		flags = append(flags, "--until="+in.Until)
	}
	if in.Incident != 0 {
		flags = append(flags, fmt.Sprintf("--incident=%d", in.Incident))
	}
	return flags
}

// newQuestion is a question about the bundle, which a command answers.
func (s *Server) newQuestion(b *Bundle, command string) (*question, error) {
	at, err := s.dirs.findPlace(b.Input)
	q := &question{command: command, places: []place{at}}
	for name, value := range map[string]string{"node": b.Node, "tz": b.Zone} {
		if value != "" {
			q.flags = append(q.flags, "--"+name+"="+value)
		}
	}
	if b.Year != 0 {
		q.flags = append(q.flags, fmt.Sprintf("--year=%d", b.Year))
	}
	slices.Sort(q.flags)
	return q, err
}

// report is what is read of plegdiag.report/v1.
type report struct {
	Incident struct {
		Headline Text `json:"untrusted_headline"`
		Node     Text
		LeftOut  []Text `json:"left_out"`
		Window   Span
		State    Text
		Stalls   []Stall
		Episodes []Episode
		Signs    []Reason
	}
	Findings     []Finding
	Next         []NextStep
	Hypotheses   []Hypothesis
	RuledOut     []struct{ Rule Text } `json:"ruled_out"`
	NotEvaluable []struct{ Rule Text } `json:"not_evaluable"`
	Files        []file
}

// Span is a period. An end that is not known is empty.
type Span struct {
	Start Text `json:"start"`
	End   Text `json:"end"`
}

// Stall is a period in which relist did not complete.
type Stall struct {
	Span
	Open     bool    `json:"open" jsonschema:"no recovery was seen"`
	Phase    Text    `json:"phase" jsonschema:"list: all containers hang; pod: one does; unknown"`
	NotReady Text    `json:"not_ready" jsonschema:"when the node became NotReady; empty if that was not seen"`
	Evidence []Quote `json:"evidence"`
}

// Episode is one incident of the bundle.
type Episode struct {
	Span
	Open    bool `json:"open"`
	Cause   Text `json:"cause" jsonschema:"the rule of its root; empty where none is named"`
	Verdict Text `json:"verdict"`
	Summary Text `json:"untrusted_summary"`
}

// Finding is a cause that is said.
type Finding struct {
	Rule           Text
	Title          Text
	Verdict        Text
	Role           Text
	Summary        Text `json:"untrusted_summary"`
	Container      Text
	Chain          []Step
	Contradictions []Against
	Missing        []Missing
	Rivals         []Rival
	Remediation    struct {
		Actions []Action
		Durable []Text
	}
	Notes []Text
}

// Step is one step of a chain from the cause to the symptom.
type Step struct {
	Role     Text    `json:"role" jsonschema:"cause, mechanism, symptom or recovery"`
	Edge     Text    `json:"edge" jsonschema:"observed: an id ties it to the step before; inferred: only time does"`
	Start    Text    `json:"start"`
	Duration float64 `json:"duration" jsonschema:"seconds"`
	Text     Text    `json:"untrusted_text"`
	Evidence []Quote `json:"evidence"`
}

// Missing is an input that would decide.
type Missing struct {
	Source  Text    `json:"source"`
	Command Command `json:"command" jsonschema:"collects it; for a person on the node"`
	Hazard  Text    `json:"hazard"`
	Note    Text    `json:"note"`
}

// Rival is another possible cause at the same time.
type Rival struct {
	Rule   Text      `json:"rule"`
	Decide []Missing `json:"decide"`
}

// Action is something to do now.
type Action struct {
	Do       Text      `json:"do"`
	Commands []Command `json:"commands"`
	Hazard   Text      `json:"hazard"`
}

// NextStep is what to do next.
type NextStep struct {
	Command Command `json:"command"`
	Source  Text    `json:"source"`
	Decides []Text  `json:"decides_between" jsonschema:"the rules between which its answer decides"`
	Hazard  Text    `json:"hazard" jsonschema:"what the command may do to the node"`
	Note    Text    `json:"note"`
}

// Hypothesis is a rule with what speaks for and against it.
type Hypothesis struct {
	Rule      Text
	Title     Text
	Verdict   Text
	For       []Reason
	Against   []Against
	NotSeen   []Text `json:"not_seen"`
	Undecided []Missing
}

type file struct {
	Path  Text
	Error Text `json:"untrusted_error"`
}

// Answer is the summary of an analysis.
type Answer struct {
	Page
	State      Text      `json:"state" jsonschema:"confirmed, likely, possible: how sure the cause is; stalled: a stall without a cause; signs; healthy; unrecognised"`
	Headline   Text      `json:"untrusted_headline" jsonschema:"the answer in one sentence of plegdiag, with words of the bundle in it"`
	Node       Text      `json:"node"`
	OtherNodes []Text    `json:"other_nodes" jsonschema:"nodes of the bundle that were left out; node chooses"`
	Window     Span      `json:"window"`
	Findings   []Brief   `json:"findings" jsonschema:"the root before links"`
	Stalls     []Stall   `json:"stalls"`
	Episodes   []Episode `json:"episodes" jsonschema:"incidents of the bundle, what still goes on first"`
	Signs      []Reason  `json:"signs" jsonschema:"what is not routine, where no cause is named"`
	Counts     Counts    `json:"counts"`
	NotRead    []NotRead `json:"not_read" jsonschema:"files that could not be read to their end"`
	Warnings   string    `json:"untrusted_warnings" jsonschema:"what was left out or lost, with names from the bundle"`
	Report     string    `json:"report" jsonschema:"the resource with the whole report as JSON"`
}

// Brief is a finding in short.
type Brief struct {
	Rule      Text    `json:"rule"`
	Title     Text    `json:"title"`
	Verdict   Text    `json:"verdict"`
	Role      Text    `json:"role" jsonschema:"root: the deepest proven cause; link: explained by it; contributing; fallback; notready"`
	Container Text    `json:"container"`
	Summary   Text    `json:"untrusted_summary" jsonschema:"a sentence of plegdiag, with words of the bundle in it"`
	Evidence  []Quote `json:"evidence" jsonschema:"the first line of each step, from the cause on"`
}

// Counts are how much of each there is.
type Counts struct {
	Findings     int `json:"findings"`
	Hypotheses   int `json:"hypotheses" jsonschema:"the tool hypotheses shows them"`
	RuledOut     int `json:"ruled_out"`
	NotEvaluable int `json:"not_evaluable" jsonschema:"rules whose inputs are missing"`
	Stalls       int `json:"stalls"`
	Files        int `json:"files"`
	FilesNotRead int `json:"files_not_read"`
}

// NotRead is a file that could not be read to its end.
type NotRead struct {
	Path Text `json:"path"`
	Why  Text `json:"untrusted_why"`
}

func (s *Server) addAnalysis() {
	addTool(s, "analyze", "Find the cause in a bundle", []string{
		"Analyse a bundle that was collected on a Kubernetes node, and say why its container runtime hung and the node went NotReady:",
		"the state (how far the evidence goes), the headline, the root cause with the lines that prove it, stalls, episodes, and what was not read.",
		"Start here. A large bundle takes a minute; the answer is kept, so that the other tools are fast.",
	}, s.analyze)
	addTool(s, "hypotheses", "What speaks for and against each cause", []string{
		"List the causes for which something speaks, the surer first: verdict, the chain of steps from cause to symptom for those that are found,",
		"the evidence for and against each as path:line with the line, what an expert would look for and is not there, and which command would decide.",
		"With rule only that one. Check the quoted lines with the tool lines.",
	}, s.hypotheses)
	addTool(s, "next", "What to do next", []string{
		"Say what to do next about a bundle: commands that decide between causes (each with the rules between which it decides),",
		"the inputs that would make the finding certain, and, where a cause is found, what to do now and for good.",
		"Each command has its hazard. The commands are for a person on the node; this server runs none.",
	}, s.next)
}

func (s *Server) loadReport(ctx context.Context, req *sdk.CallToolRequest, in *AskAnalysis) (*report, answer, error) {
	q, err := s.newQuestion(&in.Bundle, "analyze")
	if err != nil {
		return nil, answer{}, err
	}
	q.flags = append(q.flags, in.flags()...)
	r, a, err := askJSON[report](ctx, s, req, q)
	if err == nil {
		s.addReport(a.key, q.places[0].rel)
	}
	return r, a, err
}

func (s *Server) analyze(ctx context.Context, req *sdk.CallToolRequest, in AskAnalysis) (*sdk.CallToolResult, *Answer, error) {
	r, a, err := s.loadReport(ctx, req, &in)
	if err != nil {
		return nil, nil, err
	}
	inc := &r.Incident
	out := &Answer{
		State: inc.State, Headline: inc.Headline, Node: inc.Node, OtherNodes: few(inc.LeftOut, 20), Window: inc.Window,
		Findings: []Brief{}, Stalls: []Stall{}, Episodes: few(inc.Episodes, 5), Signs: cutReasons(inc.Signs, 3, 2),
		Counts: Counts{
			Findings: len(r.Findings), Hypotheses: len(r.Hypotheses), RuledOut: len(r.RuledOut), NotEvaluable: len(r.NotEvaluable),
			Stalls: len(inc.Stalls), Files: len(r.Files),
		},
		NotRead: []NotRead{}, Warnings: clean(a.said, maxText), Report: reportURI(a.key),
	}
	for i := range few(r.Findings, 8) {
		out.Findings = append(out.Findings, r.Findings[i].brief())
	}
	for _, st := range few(inc.Stalls, 4) {
		st.Evidence = fewQuotes(st.Evidence, 2)
		out.Stalls = append(out.Stalls, st)
	}
	for _, f := range r.Files {
		if f.Error == "" {
			continue
		}
		if out.Counts.FilesNotRead++; len(out.NotRead) < 10 {
			out.NotRead = append(out.NotRead, NotRead{f.Path, f.Error})
		}
	}
	out.Total = len(r.Findings)
	return boundAnswer(out, "%s", out.summarize())
}

// brief is a finding in short.
func (f *Finding) brief() Brief {
	b := Brief{Rule: f.Rule, Title: f.Title, Verdict: f.Verdict, Role: f.Role, Container: f.Container, Summary: f.Summary}
	for i := range few(f.Chain, 6) {
		b.Evidence = append(b.Evidence, fewQuotes(f.Chain[i].Evidence, 1)...)
	}
	b.Evidence = append([]Quote{}, b.Evidence...)
	return b
}

// summarize says what was found, in words that are not from the bundle.
func (a *Answer) summarize() string {
	var said strings.Builder
	fmt.Fprintf(&said, "State: %s.", a.State)
	for _, f := range a.Findings {
		fmt.Fprintf(&said, " %s %s (%s): %s.", f.Role, f.Rule, f.Verdict, f.Title)
	}
	fmt.Fprintf(&said, " %d stalls, %d hypotheses, %d files of which %d not read to their end.", a.Counts.Stalls, a.Counts.Hypotheses, a.Counts.Files, a.Counts.FilesNotRead)
	said.WriteString(" Lines of the bundle are in untrusted_text. Then: hypotheses, lines, next.")
	return said.String()
}

// AskHypotheses is the input of the tool hypotheses.
type AskHypotheses struct {
	AskAnalysis
	Rule string `json:"rule,omitempty" jsonschema:"only this rule, by its id"`
	Paging
}

// Weighed is a cause with all that speaks for and against it.
type Weighed struct {
	Rule           Text      `json:"rule"`
	Title          Text      `json:"title"`
	Verdict        Text      `json:"verdict" jsonschema:"confirmed, likely, possible; weighed: too little to say it; ruled-out"`
	Role           Text      `json:"role" jsonschema:"of a finding: root, link, contributing, fallback, notready; empty for others"`
	Summary        Text      `json:"untrusted_summary" jsonschema:"of a finding: what happened, with words of the bundle"`
	Chain          []Step    `json:"chain" jsonschema:"of a finding: from cause to symptom"`
	For            []Reason  `json:"for" jsonschema:"empty where the chain says it"`
	Against        []Against `json:"against"`
	Contradictions []Against `json:"contradictions" jsonschema:"evidence against the finding that does not rule it out"`
	NotSeen        []Text    `json:"not_seen" jsonschema:"what an expert would look for, and is not there"`
	Undecided      []Missing `json:"undecided" jsonschema:"what would decide"`
	Rivals         []Text    `json:"rivals" jsonschema:"rules of other possible causes at the same time"`
	Notes          []Text    `json:"notes"`
}

// Hypotheses is a page of causes.
type Hypotheses struct {
	Page
	Hypotheses []Weighed `json:"hypotheses"`
}

func (s *Server) hypotheses(ctx context.Context, req *sdk.CallToolRequest, in AskHypotheses) (*sdk.CallToolResult, *Hypotheses, error) {
	r, _, err := s.loadReport(ctx, req, &in.AskAnalysis)
	if err != nil {
		return nil, nil, err
	}
	all := r.mergeByRule(in.Rule)
	out := &Hypotheses{}
	out.Hypotheses, out.Page = takePage(all, in.Paging, 5)
	var said []string
	for _, h := range out.Hypotheses {
		said = append(said, fmt.Sprintf("%s: %s", h.Rule, h.Verdict))
	}
	if len(all) == 0 {
		said = append(said, "nothing speaks for it in this bundle, or for any rule")
	}
	return boundAnswer(out, "%s. %d in all.", strings.Join(said, "; "), len(all))
}

// mergeByRule puts findings and hypotheses together, rule by rule; rule chooses one.
func (r *report) mergeByRule(rule string) []Weighed {
	all := []Weighed{}
	for _, h := range r.Hypotheses {
		if rule != "" && string(h.Rule) != rule {
			continue
		}
		w := Weighed{
			Rule: h.Rule, Title: h.Title, Verdict: h.Verdict, Chain: []Step{}, For: cutReasons(h.For, 8, 1), Against: cutAgainst(h.Against, 4, 2),
			Contradictions: []Against{}, NotSeen: few(h.NotSeen, 8), Undecided: few(h.Undecided, 3), Rivals: []Text{}, Notes: []Text{},
		}
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Rule == h.Rule })
		if i >= 0 {
			w.addFinding(&r.Findings[i])
		}
		all = append(all, w)
	}
	return all
}

// addFinding adds what only a finding has.
func (w *Weighed) addFinding(f *Finding) {
	w.Role, w.Summary, w.Notes, w.For = f.Role, f.Summary, few(f.Notes, 4), []Reason{}
	for _, step := range few(f.Chain, 12) {
		step.Evidence = fewQuotes(step.Evidence, 2)
		w.Chain = append(w.Chain, step)
	}
	w.Contradictions = cutAgainst(f.Contradictions, 4, 2)
	for _, rival := range few(f.Rivals, 5) {
		w.Rivals = append(w.Rivals, rival.Rule)
	}
	if len(w.Undecided) == 0 {
		w.Undecided = few(f.Missing, 3)
	}
}

// Next is what to do next.
type Next struct {
	Page
	State   Text       `json:"state" jsonschema:"as in analyze"`
	Decide  []NextStep `json:"decide" jsonschema:"commands that decide between causes, best first"`
	Certain []Missing  `json:"make_certain" jsonschema:"inputs that would make the root certain"`
	Rule    Text       `json:"rule" jsonschema:"the root that the actions are for; empty where no cause is found"`
	Verdict Text       `json:"verdict"`
	Now     []Action   `json:"now" jsonschema:"what to do now, in order: what only looks comes first"`
	Durable []Text     `json:"durable" jsonschema:"what to do for good"`
}

func (s *Server) next(ctx context.Context, req *sdk.CallToolRequest, in AskAnalysis) (*sdk.CallToolResult, *Next, error) {
	r, _, err := s.loadReport(ctx, req, &in)
	if err != nil {
		return nil, nil, err
	}
	out := &Next{State: r.Incident.State, Decide: few(r.Next, 5), Certain: []Missing{}, Now: []Action{}, Durable: []Text{}}
	if f := r.rootFinding(); f != nil {
		out.Rule, out.Verdict, out.Certain = f.Rule, f.Verdict, few(f.Missing, 5)
		out.Now, out.Durable = few(f.Remediation.Actions, 6), few(f.Remediation.Durable, 6)
	}
	out.Total = len(out.Decide)
	said := fmt.Sprintf("%d commands decide; %d inputs would make it certain.", len(out.Decide), len(out.Certain))
	if out.Rule != "" {
		said += fmt.Sprintf(" %d actions for %s (%s).", len(out.Now), out.Rule, out.Verdict)
	}
	return boundAnswer(out, "%s They are for a person on the node; tell the hazard of each.", said)
}

// rootFinding is the finding that the report is about; nil for none.
func (r *report) rootFinding() *Finding {
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Role == "root" || f.Role == "notready" })
	if i < 0 && len(r.Findings) > 0 {
		i = 0
	}
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

// reportURI is the name of the resource that holds a report.
func reportURI(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "plegdiag://reports/" + hex.EncodeToString(sum[:8])
}
