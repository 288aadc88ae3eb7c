package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/html"
	"github.com/plegdiag/plegdiag/internal/report/picture"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// maxPage bounds the page in bytes: a browser shows it at once, and mail takes it.
const maxPage = 5 << 20

// HTML writes one page that needs nothing but itself: no network, no script to be read, a policy
// that lets nothing else in. Text from the bundle is a value everywhere: it is escaped for HTML,
// and what a reader could not see is spelled out. A page that would be larger than maxPage is
// written with less: without the lines around quotes, then with shorter lists, each of which says
// how much it leaves out.
func HTML(w io.Writer, inc *incident.Incident, o Options) error {
	var buf bytes.Buffer
	for _, d := range details {
		buf.Reset()
		out := html.NewWriter(&limitedWriter{&buf, maxPage})
		newPage(inc, o, d).write(out)
		if out.Err() == nil {
			_, err := w.Write(buf.Bytes())
			return err
		}
	}
	return errPageFull
}

// detail is how much a page shows.
type detail struct {
	most    int  // entries of one list
	shapes  int  // in the picture
	context bool // the lines around quotes
}

// details are tried in order until the page fits. The last one always does.
var details = []detail{
	{1000, picture.MaxShapes, true},
	{1000, picture.MaxShapes, false},
	{300, 900, false},
	{100, 300, false},
	{30, 100, false},
	{10, 30, false},
	{2, 5, false},
}

var errPageFull = errors.New("the page is larger than a page may be")

// limitedWriter fails when more than left bytes are written to it.
type limitedWriter struct {
	w    io.Writer
	left int
}

// Write implements [io.Writer].
func (l *limitedWriter) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errPageFull
	}
	return l.w.Write(p)
}

// shorten is the beginning of a list, and how much is left out of it.
func shorten[T any](list []T, most int) (kept []T, left int) {
	kept = list[:min(len(list), most)]
	return kept, len(list) - len(kept)
}

// page is what the page shows, in its order.
type page struct {
	Version      string
	Title        string
	Opening      story.Opening
	Headline     string
	Node         string
	When         string
	Class        string        // of the colour of the verdict
	Episodes     []episodeLine // where there are several
	Picture      *picture.Picture
	EpisodesLeft int
	Steps        []stepLine // of the chain of the picture
	Sections     []pageSection

	view   *view
	detail detail
}

// pageSection is one section of the page; only what it has is set.
type pageSection struct {
	Title    string
	ID       string
	Remark   string
	Closed   bool
	Count    int // of its entries
	Left     int // entries that are not shown
	Text     blockList
	Findings []findingBlock
	Graph    *picture.Waits
	Locks    []lockBlock
	Groups   []groupBlock
	Events   []eventLine
}

// blockList is what a section, or a part of a finding, says.
type blockList struct {
	Blocks []pageBlock
	List   bool // they are sentences without anything below them
	Left   int  // blocks that are not shown
}

// pageBlock is a block as the page shows it.
type pageBlock struct {
	Lead, Text, Hazard string
	Link               string // where the text leads; empty for most
	Places             []event.Pos
	Quotes             []quoteBlock
	QuotesLeft         int
	Commands           []string
	Files              []*incident.File
	FilesLeft          int
}

// eventLine is an event of the picture, with the number by which the picture links to it.
type eventLine struct {
	*event.Event
	Number int
}

// idText names what an event is about: "container b39895a86a9e, pid 43".
func idText(e *event.Event) string {
	var all []string
	addID := func(name, id string) {
		if id != "" && id != "0" {
			all = append(all, name+" "+show.Escape(id, show.MaxQuote))
		}
	}
	addID("container", e.IDs.Container)
	addID("sandbox", e.IDs.Sandbox)
	addID("pod", e.IDs.Pod)
	addID("pid", strconv.Itoa(e.IDs.PID))
	addID("thread", strconv.Itoa(e.IDs.TID))
	addID("goroutine", strconv.FormatUint(e.IDs.Goroutine, 10))
	addID("lock", e.IDs.Lock)
	return strings.Join(all, ", ")
}

type findingBlock struct {
	*story.Finding
	Number    int
	Folded    bool // it says little that the findings above do not say
	Steps     []stepLine
	StepsLeft int
	Parts     []pagePart
}

// pagePart is a part of a finding.
type pagePart struct {
	Label string
	Text  blockList
}

// quoteBlock is a quoted line with what stands around it.
type quoteBlock struct {
	event.Quote
	incident.Surroundings
}

// quoteBlocks are the lines that prove something, with what stands around them where there is room
// for it.
func (p *page) quoteBlocks(all []event.Quote) (shown []quoteBlock, left int) {
	kept, left := shorten(show.DistinctQuotes(all), min(maxStepQuotes, p.detail.most))
	for _, q := range kept {
		b := quoteBlock{Quote: q}
		if p.detail.context {
			b.Surroundings = p.view.Context[q.Pos.WholeLine()]
		}
		shown = append(shown, b)
	}
	return shown, left
}

// newBlockList shows blocks; several sentences become a list.
func (p *page) newBlockList(all []block) blockList {
	kept, left := shorten(all, p.detail.most)
	text := blockList{Left: left, List: len(kept) > 1}
	for _, b := range kept {
		s := pageBlock{Lead: b.lead, Text: b.text, Hazard: b.hazard, Commands: b.commands}
		if b.link {
			s.Link = referenceLink(b.text)
		}
		s.Places, _ = shorten(b.places, maxStepQuotes)
		s.Quotes, s.QuotesLeft = p.quoteBlocks(b.quotes)
		s.Files, s.FilesLeft = shorten(b.files, 4*p.detail.most)
		text.List = text.List && len(b.quotes)+len(b.commands)+len(b.files) == 0
		text.Blocks = append(text.Blocks, s)
	}
	return text
}

// issue is a reference to an issue or a pull request of GitHub, which leads from one to the other.
var issue = regexp.MustCompile(`^([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)#([0-9]+)$`)

// referenceLink is the address of a reference; empty when it has none.
func referenceLink(reference string) string {
	if m := issue.FindStringSubmatch(reference); m != nil {
		return "https://github.com/" + m[1] + "/issues/" + m[2]
	}
	if link.MatchString(reference) {
		return reference
	}
	return ""
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

// groupBlock is goroutines of a program that wait for the same.
type groupBlock struct {
	Program string
	Doing   string // as the first of them says it
	Count   int
	Longest time.Duration
}

// drawLocks shows the locks of the dumps that goroutines wait for, those with most waiters first.
func (s *pageSection) drawLocks(p *page) {
	kinds := []string{string(event.KindLockHeld), string(event.KindLockCycle)}
	held := p.view.timeline.Select(timeline.Filter{Kinds: kinds})
	slices.SortStableFunc(held, func(a, b *event.Event) int {
		return cmp.Compare(numberOf(b, event.FieldWaiters), numberOf(a, event.FieldWaiters))
	})
	s.Graph = picture.NewWaits(p.view.timeline, p.Picture)
	s.Count = len(held)
	held, s.Left = shorten(held, min(maxLocks, p.detail.most))
	for _, e := range held {
		l := lockBlock{Program: e.Component, Sure: e.FieldText(event.FieldCertainty)}
		l.Quotes, _ = p.quoteBlocks(e.Evidence[:min(len(e.Evidence), 3)])
		if e.Kind == event.KindLockCycle {
			l.Deadlock, l.Ends = true, e.FieldText(event.FieldGoroutines)
			s.Locks = append(s.Locks, l)
			continue
		}
		l.Waiters = show.Number(numberOf(e, event.FieldWaiters)) + " waiting"
		owner := cmp.Or(e.FieldText(event.FieldOwner), "?")
		l.Lock = strings.TrimSpace(e.FieldText(event.FieldLockType) + " of " + owner + " " + e.IDs.Lock)
		l.Holder = fmt.Sprintf("goroutine %d", e.IDs.Goroutine)
		l.Through = e.FieldText(event.FieldThrough)
		l.Ends = cmp.Or(e.FieldText(event.FieldWaiting), "what it waits for is not shown")
		s.Locks = append(s.Locks, l)
	}
}

// awaited is what a goroutine waits for.
type awaited struct {
	program, lock, owner string
	kind                 event.Kind
	doing, rpc, through  string // of a goroutine that waits for something outside its process
	state                string // where nothing else tells
}

func newAwaited(e *event.Event) awaited {
	a := awaited{program: e.Component, kind: e.Kind, lock: e.IDs.Lock, owner: e.FieldText(event.FieldOwner)}
	if e.Kind == event.KindLockWait {
		return a
	}
	a.doing, a.rpc, a.through = e.FieldText(event.FieldDoing), e.FieldText(event.FieldRPC), e.FieldText(event.FieldThrough)
	if a.doing == "" {
		a.state = e.FieldText(event.FieldState)
	}
	return a
}

// drawGroups counts the goroutines of the dumps by what they wait for.
func (s *pageSection) drawGroups(p *page) {
	kinds := []string{string(event.KindGoroutine), string(event.KindLockWait), string(event.KindLockHeld)}
	var all []groupBlock
	known := map[awaited]int{}
	for _, e := range p.view.timeline.Select(timeline.Filter{Kinds: kinds}) {
		n, ok := known[newAwaited(e)]
		if !ok {
			n = len(all)
			known[newAwaited(e)] = n
			all = append(all, groupBlock{Program: e.Component, Doing: cmp.Or(e.Text, string(e.Kind))})
		}
		all[n].Count += e.Count()
		all[n].Longest = max(all[n].Longest, e.Duration())
	}
	slices.SortStableFunc(all, func(a, b groupBlock) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Longest, a.Longest))
	})
	s.Count = len(all)
	s.Groups, s.Left = shorten(all, min(maxLocks, p.detail.most))
}

// drawEvents lists what the picture shows.
func (s *pageSection) drawEvents(p *page) {
	s.ID = "events"
	if p.Picture == nil {
		return
	}
	s.Count = len(p.Picture.Table)
	for i, e := range p.Picture.Table {
		s.Events = append(s.Events, eventLine{e, i + 1})
	}
}

// eventsTitle is the title of what the picture shows.
const eventsTitle = "Events of the picture"

// maxLocks bounds the locks and the groups of the page.
const maxLocks = 50

func numberOf(e *event.Event, field event.Key) float64 {
	v, _ := e.Get(field)
	n, _ := v.Number()
	return n
}

// stepLine is a step of a chain.
type stepLine struct {
	*rules.Step
	Anchor string
	Number int
	At     string
	Lasted string
	IDs    string // of the first of its events
	Drawn  bool   // it is a step of the picture
	Edge   string // how it is tied to the one before; empty for the first
	Quotes []quoteBlock
	Left   int // quotes that are not shown
}

// maxStepQuotes bounds the lines that prove a step; those beyond are in the JSON report.
const maxStepQuotes = 8

func newPage(inc *incident.Incident, o Options, d detail) *page {
	v := newView(inc, o)
	v.page = true
	p := &page{
		Version: o.Version, Opening: inc.Result.Opening, Headline: cmp.Or(inc.Result.Opening.Short, inc.Result.Headline),
		Node: v.nodeText(), When: v.describeTime(), Class: "none",
		view: v, detail: d,
	}
	p.Title = show.Escape(p.Opening.State.Words()+": "+p.Node, show.MaxQuote)
	if len(inc.Result.Findings) > 0 {
		p.Class = p.Opening.State.String()
	}
	p.Picture = picture.New(inc, d.shapes)
	p.Episodes = p.episodeLines()
	if p.Picture != nil && p.Picture.Finding >= 0 {
		p.Steps = p.findingBlock(p.Picture.Finding).Steps
	}
	for i := range sections {
		if s := p.pageSection(&sections[i]); s.Count > 0 || len(s.Text.Blocks) > 0 {
			p.Sections = append(p.Sections, s)
		}
	}
	return p
}

// pageSection is a section with what the page shows of it; without entries it is left out.
func (p *page) pageSection(of *section) pageSection {
	s := pageSection{Title: of.title, Closed: of.closed}
	if of.counts == nil {
		s.Remark = of.remark
	}
	switch {
	case of.findings:
		s.Count = len(p.view.Result.Findings)
		var shown []story.Finding
		shown, s.Left = shorten(p.view.Result.Findings, p.detail.most)
		for i := range shown {
			s.Findings = append(s.Findings, p.findingBlock(i))
		}
	case of.drawn != nil:
		of.drawn(&s, p)
	default:
		all := of.blocks(p.view)
		switch s.Count = len(all); {
		case of.counts != nil:
			s.Count = of.counts(p.view)
		case of.title == filesTitle:
			s.Count = len(p.view.Files)
		}
		s.Text = p.newBlockList(all)
	}
	return s
}

// findingBlock shows the finding of that index.
func (p *page) findingBlock(n int) findingBlock {
	f := &p.view.Result.Findings[n]
	b := findingBlock{Finding: f, Number: n + 1, Folded: n > 0 && (f.Role == language.Link || f.Role == language.Fallback)}
	steps, left := shorten(f.Chain, p.detail.most)
	b.StepsLeft = left
	date := ""
	for i := range steps {
		s := &steps[i]
		l := stepLine{
			Step: s, Anchor: picture.StepAnchor(n, i), Number: i + 1, Drawn: p.Picture != nil && p.Picture.Finding == n, At: cmp.Or(show.Clock(s.Start), "undated"),
			Lasted: show.Bounded(s.Duration, s.AtLeast, s.AtMost), Edge: edgeText(s),
		}
		l.Quotes, l.Left = p.quoteBlocks(s.Evidence)
		if d := show.Day(s.Start); d != "" && d != date {
			date, l.At = d, d+" "+l.At
		}
		if s.Basis != "" {
			l.At = "~" + l.At
		}
		if len(s.Events) > 0 {
			l.IDs = idText(s.Events[0])
		}
		if i == 0 {
			l.Edge = ""
		}
		b.Steps = append(b.Steps, l)
	}
	for _, part := range findingParts(f) {
		b.Parts = append(b.Parts, pagePart{upperFirst(part.label), p.newBlockList(part.blocks)})
	}
	return b
}

// episodeLine is an incident of the bundle in a line.
type episodeLine struct {
	Open    bool
	Window  string
	Cause   string // what happened, as its root says it
	Finding int    // its root; 0 where that is not among those that are shown
	Verdict string
}

// episodeLines are the incidents of a bundle that holds more than one.
func (p *page) episodeLines() (all []episodeLine) {
	episodes := p.view.Result.Episodes
	if len(episodes) < 2 {
		return nil
	}
	kept, left := shorten(episodes, p.detail.most)
	for i := range kept {
		e := &kept[i]
		l := episodeLine{Open: e.Open, Window: show.Window(e.Window), Cause: cmp.Or(e.Summary, unknownCause(e))}
		if e.Cause != "" {
			l.Verdict = e.Verdict.String()
			l.Finding = 1 + slices.IndexFunc(p.view.Result.Findings, func(f story.Finding) bool { return f.Rule == e.Cause && strings.HasPrefix(f.Summary, e.Summary) })
		}
		all = append(all, l)
	}
	p.EpisodesLeft = left
	return all
}
