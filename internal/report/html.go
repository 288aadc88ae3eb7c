package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// The parts of the page. They hold nothing of a bundle, so that their hashes can stand in its content security policy.
var (
	//go:embed html/page.tmpl
	pageText string
	//go:embed html/style.css
	pageStyle string
	//go:embed html/script.js
	pageScript string
)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) + "%" },
	"plus":    func(a, b int) int { return a + b },
	"prose":   func(s string) string { return Escape(s, maxProse) },
	"quoted":  func(s string) string { return Escape(s, maxQuote) },
	"pos":     func(p event.Pos) string { return Escape(p.String(), maxQuote) },
	"link":    func(s string) bool { return link.MatchString(s) },
	"lasting": func(d time.Duration) string { return duration(d, true) },
	"lines":   func(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") },
}).Parse(pageText))

// HTML writes one page that needs nothing but itself: no network, no script to be read, a policy that lets nothing else in.
// Text from the bundle is data to the template everywhere: it is escaped for HTML, and what a reader could not see is spelled out.
func HTML(w io.Writer, inc *incident.Incident, o Options) error {
	return pageTemplate.Execute(w, newPage(inc, o))
}

// page is what the template shows, in its order.
type page struct {
	Version   string
	Policy    string
	Style     template.CSS
	Script    template.JS
	Title     string
	Opening   opening
	Verdict   string // the class of its colour
	Picture   *picture
	Events    []eventLine
	Stalls    []stallBlock
	Findings  []findingBlock
	Locks     []lockBlock
	LocksLeft int
	Groups    []groupBlock
	Exposed   []sentenceBlock
	Forecasts []sentenceBlock
	Harmless  []sentenceBlock
	RuledOut  []sentenceBlock
	Lacks     []lackBlock
	Others    []rules.Unanswered
	Facts     []factLine
	Clocks    []string
	Gaps      []string
	FileCount int
	Files     []fileLine
	Folded    []fileLine // for many files each
	FoldedAs  string     // what they are, in a sentence
	Ls        string     // the command that lists them
}

type eventLine struct {
	Number int
	At     string
	Lasted string
	Who    string
	Text   string
	Quote  event.Quote
}

type stallBlock struct {
	Text     string
	Quotes   []quoteBlock
	Suspects []sentenceBlock
}

type findingBlock struct {
	story.Finding
	Number   int
	Class    string
	Steps    []stepLine
	Against  []sentenceBlock
	Rivals   []rivalBlock
	Commands []commandBlock // what is missing
}

// quoteBlock is a quoted line with what stands around it.
type quoteBlock struct {
	event.Quote
	incident.Surroundings
}

func quoteBlocks(inc *incident.Incident, quotes []event.Quote) []quoteBlock {
	var all []quoteBlock
	for _, q := range distinct(quotes) {
		all = append(all, quoteBlock{q, inc.Context[q.Pos]})
	}
	return all
}

// lockBlock is a lock, from those who wait for it to what its holder waits for.
type lockBlock struct {
	Program  string
	Waiters  string
	Lock     string
	Holder   string // empty when nobody is known to hold it
	Sure     string // observed, inferred
	Through  string
	Ends     string
	Quotes   []quoteBlock
	Deadlock bool
}

// groupBlock is how many goroutines of a program wait for the same.
type groupBlock struct {
	Program, Doing string
	Count          int
	Longest        time.Duration
}

// locks are the locks of the dumps that goroutines wait for, those with most waiters first.
func locks(inc *incident.Incident) (all []lockBlock, left int) {
	if inc.Timeline == nil {
		return nil, 0
	}
	held := inc.Timeline.Select(timeline.Filter{Kinds: []string{string(event.KindLockHeld), string(event.KindLockCycle)}})
	slices.SortStableFunc(held, func(a, b *event.Event) int {
		return cmp.Compare(count(b, event.FieldWaiters), count(a, event.FieldWaiters))
	})
	left = max(0, len(held)-maxLocks)
	for _, e := range held[:len(held)-left] {
		l := lockBlock{Program: e.Component, Quotes: quoteBlocks(inc, e.Evidence[:min(len(e.Evidence), 3)]), Sure: e.FieldText(event.FieldCertainty)}
		if e.Kind == event.KindLockCycle {
			l.Deadlock, l.Ends = true, e.FieldText(event.FieldGoroutines)
			all = append(all, l)
			continue
		}
		l.Waiters = number(count(e, event.FieldWaiters)) + " waiting"
		l.Lock = strings.TrimSpace(e.FieldText(event.FieldLockType) + " of " + cmp.Or(e.FieldText(event.FieldOwner), "?") + " " + e.IDs.Lock)
		l.Holder = fmt.Sprintf("goroutine %d", e.IDs.Goroutine)
		l.Through = e.FieldText(event.FieldThrough)
		_, waiting, _ := strings.Cut(e.Text, ", ") // the observer has said it in words
		l.Ends = cmp.Or(waiting, e.FieldText(event.FieldEndsIn), "what it waits for is not shown")
		all = append(all, l)
	}
	return all, left
}

// groups count the goroutines of the dumps by what they wait for.
func groups(inc *incident.Incident) []groupBlock {
	if inc.Timeline == nil {
		return nil
	}
	var all []groupBlock
	for _, e := range inc.Timeline.Select(timeline.Filter{Kinds: []string{string(event.KindGoroutine), string(event.KindLockWait), string(event.KindLockHeld)}}) {
		doing := cmp.Or(e.Text, string(e.Kind))
		n := slices.IndexFunc(all, func(g groupBlock) bool { return g.Program == e.Component && g.Doing == doing })
		if n < 0 {
			n = len(all)
			all = append(all, groupBlock{Program: e.Component, Doing: doing})
		}
		all[n].Count++
		all[n].Longest = max(all[n].Longest, e.Duration())
	}
	slices.SortStableFunc(all, func(a, b groupBlock) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Longest, a.Longest))
	})
	return all[:min(len(all), maxLocks)]
}

// maxLocks bounds the locks and the groups of the page.
const maxLocks = 50

func count(e *event.Event, field event.Key) float64 {
	v, _ := e.Get(field)
	n, _ := v.Number()
	return n
}

type stepLine struct {
	ID     string
	Number int
	Role   string
	At     string
	Lasted string
	Edge   string
	Text   string
	Basis  string
	Quotes []quoteBlock
	Left   int // quotes that are not shown
}

type rivalBlock struct {
	Text   string
	Decide []commandBlock
}

type commandBlock struct{ Source, Command, Hazard string }

type sentenceBlock struct {
	Text   string
	Quotes []quoteBlock
}

type lackBlock struct {
	Source   string
	Rules    string
	Commands []string
}

type factLine struct {
	Name, Value string
	Quotes      []quoteBlock
}

type fileLine struct {
	incident.File
	Window string
}

// maxStepQuotes bounds the lines that prove a step; those beyond are in the JSON report.
const maxStepQuotes = 8

func newPage(inc *incident.Incident, o Options) *page {
	p := &page{
		Version: o.Version,
		Policy:  policy(pageStyle, pageScript),
		Style:   template.CSS(pageStyle),
		Script:  template.JS(pageScript),
		Opening: open(inc),
		Verdict: "none",
	}
	p.Title = Escape(p.Opening.Word+": "+p.Opening.Node, maxQuote)
	if len(inc.Result.Findings) > 0 {
		p.Verdict = p.Opening.Word
	}
	var table []*event.Event
	p.Picture, table = newPicture(inc)
	for i, e := range table {
		p.Events = append(p.Events, newEventLine(i+1, e))
	}
	for i := range stalls(inc) {
		s := &inc.Timeline.Stalls[i]
		b := stallBlock{Text: stallText(s), Quotes: quoteBlocks(inc, slices.Concat(s.Evidence, s.NotReadyEvidence))}
		for _, suspect := range inc.Result.SuspectsOf(i) {
			b.Suspects = append(b.Suspects, sentenceBlock{suspect.String(), quoteBlocks(inc, suspect.Evidence)})
		}
		p.Stalls = append(p.Stalls, b)
	}
	for i := range inc.Result.Findings {
		p.Findings = append(p.Findings, newFindingBlock(inc, i))
	}
	for i := range inc.Result.Forecasts {
		f := &inc.Result.Forecasts[i]
		p.Forecasts = append(p.Forecasts, sentenceBlock{forecastText(f), quoteBlocks(inc, f.Evidence)})
	}
	for _, e := range inc.Result.Exposed {
		p.Exposed = append(p.Exposed, sentenceBlock{e.Rule + ": " + e.String(), quoteBlocks(inc, e.Evidence)})
	}
	for _, r := range inc.Result.RuledOut {
		p.RuledOut = append(p.RuledOut, sentenceBlock{r.Rule + ": " + r.Why, quoteBlocks(inc, r.Evidence)})
	}
	p.Locks, p.LocksLeft = locks(inc)
	p.Groups = groups(inc)
	for _, h := range inc.Result.Harmless {
		p.Harmless = append(p.Harmless, sentenceBlock{harmlessText(h), quoteBlocks(inc, h.Evidence)})
	}
	var missing []lack
	missing, p.Others = lacks(inc.Result.NotEvaluable)
	for _, l := range missing {
		p.Lacks = append(p.Lacks, lackBlock{l.source, strings.Join(l.rules, ", "), l.commands})
	}
	p.account(inc, o)
	return p
}

// policy lets the page's own style and script in, by their hashes, and nothing else.
func policy(style, script string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(style) + "; script-src " + hash(script) + "; base-uri 'none'; form-action 'none'"
}

func newEventLine(n int, e *event.Event) eventLine {
	l := eventLine{
		Number: n, At: cmp.Or(clock(e.Start.T), "undated"), Lasted: duration(e.Duration(), e.Open || e.Begun), Who: e.Component,
		Text: cmp.Or(e.Text, string(e.Kind)),
	}
	if e.Basis != "" {
		l.At = "~" + l.At
	}
	if len(e.Evidence) > 0 {
		l.Quote = e.Evidence[0]
	}
	return l
}

// stepID is the anchor of a step in the page.
func stepID(finding, step int) string { return fmt.Sprintf("f%d-%d", finding+1, step+1) }

func newFindingBlock(inc *incident.Incident, n int) findingBlock {
	f := &inc.Result.Findings[n]
	b := findingBlock{Finding: *f, Number: n + 1, Class: f.Verdict.String(), Commands: commandBlocks(f.Missing)}
	date := ""
	for i := range f.Chain {
		s := &f.Chain[i]
		l := stepLine{
			ID: stepID(n, i), Number: i + 1, Role: s.Role, At: cmp.Or(clock(s.Start), "undated"), Lasted: duration(s.Duration, s.AtLeast),
			Edge: edge(s), Text: s.Text, Basis: s.Basis, Quotes: quoteBlocks(inc, s.Evidence),
		}
		if d := day(s.Start); d != "" && d != date {
			date, l.At = d, d+" "+l.At
		}
		if i == 0 {
			l.Edge = ""
		}
		if s.Basis != "" {
			l.At = "~" + l.At
		}
		if left := len(l.Quotes) - maxStepQuotes; left > 0 {
			l.Quotes, l.Left = l.Quotes[:maxStepQuotes], left
		}
		b.Steps = append(b.Steps, l)
	}
	for _, a := range f.Contradictions {
		b.Against = append(b.Against, sentenceBlock{a.Why, quoteBlocks(inc, a.Evidence)})
	}
	for i := range f.Rivals {
		b.Rivals = append(b.Rivals, rivalBlock{rivalText(&f.Rivals[i]), commandBlocks(f.Rivals[i].Decide)})
	}
	return b
}

func commandBlocks(ms []rules.Missing) []commandBlock {
	var all []commandBlock
	for _, m := range ms {
		all = append(all, commandBlock{m.Source, m.Command, story.Hazard(m.Command)})
	}
	return all
}

// account is the end of the page: what was taken for granted, and what became of every line.
func (p *page) account(inc *incident.Incident, o Options) {
	known := facts(inc)
	for name := range known {
		p.Facts = append(p.Facts, factLine{name, known[name].Value, quoteBlocks(inc, known[name].Evidence)})
	}
	slices.SortFunc(p.Facts, func(a, b factLine) int { return strings.Compare(a.Name, b.Name) })
	p.Clocks = clockTexts(clocks(inc), o.Verbose)
	p.Gaps = gapTexts(gaps(inc))
	a := newAccount(inc.Files, o.Verbose)
	p.FileCount, p.Files, p.Folded = len(inc.Files), fileLines(a.Files), fileLines(a.Folded)
	if a.Left > 0 {
		p.FoldedAs, p.Ls = a.foldedText(), commandLine("ls", o.Inputs)
	}
}

func fileLines(files []incident.File) []fileLine {
	var all []fileLine
	for _, f := range files {
		l := fileLine{File: f}
		if !f.Start.IsZero() {
			l.Window = window(timeline.Window{Start: f.Start, End: f.End})
		}
		all = append(all, l)
	}
	return all
}

// Span is the picture's stretch of time in milliseconds, for the zoom.
func (p *picture) Span() int64 { return p.End.Sub(p.Start).Milliseconds() }

// Caption says what the picture shows.
func (p *picture) Caption() string {
	return window(timeline.Window{Start: p.Start.Truncate(time.Second), End: p.End.Truncate(time.Second)})
}
