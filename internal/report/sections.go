package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/language"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// section is one part of a report. Every output walks [sections], in that order and under these
// titles.
type section struct {
	title  string
	remark string // what a reader has to know of it, in half a sentence
	// counts is a number that the remark ends with; nil for none.
	counts func(v *view) int
	closed bool // the page shows it when the reader opens it
	// blocks are what people read; none leaves the section out.
	blocks func(v *view) []block
	// inputs says that it is about the inputs: the command ls shows it, too.
	inputs bool
	// findings says that the section is the findings, which have a layout of their own.
	findings bool
	// drawn is what only the page can show; nil for a section that every output has.
	drawn func(p *pageSection, page *page)
}

// sections are every part of a report below its opening.
var sections = []section{
	{title: "Episodes", remark: "what is going on comes first", blocks: episodeBlocks},
	{title: "Stalls", remark: "relist did not complete, by the kubelet's own arithmetic", blocks: stallBlocks},
	{title: "Findings", findings: true},
	{title: "Signs", remark: "what is not routine", blocks: signBlocks},
	{title: "Next", remark: "what would decide", blocks: nextBlocks},
	{title: "Considered", remark: "something fits it, and other causes too", closed: true, blocks: consideredBlocks},
	{
		title:  "Locks",
		remark: "who waits, who holds the lock, and what the holder waits for, as the goroutine dumps show it",
		drawn:  (*pageSection).drawLocks,
	},
	{title: "Goroutines that wait", remark: "by what they wait for", closed: true, drawn: (*pageSection).drawGroups},
	{
		title: "Exposed to", remark: "by versions and settings alone; not what happened here", closed: true,
		blocks: exposureBlocks,
	},
	{title: "Forecast", remark: "if it goes on as it did", blocks: forecastBlocks},
	{title: "Seen, harmless", closed: true, blocks: harmlessBlocks},
	{title: "Ruled out", closed: true, blocks: ruledOutBlocks},
	{
		title: "Not evaluable", remark: "rules", counts: unansweredRules, closed: true,
		blocks: notEvaluableBlocks,
	},
	{title: eventsTitle, closed: true, drawn: (*pageSection).drawEvents},
	{title: "Facts", closed: true, blocks: factBlocks},
	{title: "Clocks", inputs: true, remark: "what was assumed about times", closed: true, blocks: clockBlocks},
	{title: "Gaps", inputs: true, remark: "what happened in them may have left no line", closed: true, blocks: gapBlocks},
	{title: filesTitle, remark: "every line is accounted for", closed: true, blocks: fileBlocks},
}

// filesTitle is the title of the account.
const filesTitle = "Files"

// block is one thing that a section says: a sentence, the lines that prove it, the commands that go
// with it.
type block struct {
	lead     string // before the sentence, "suspect"; empty for most
	text     string // empty where the block goes on with the one before it
	warning  bool
	link     bool        // the text comes from a rule, and may be an address
	places   []event.Pos // where it is said; the lines themselves are not shown
	quotes   []event.Quote
	most     int // quotes that are shown to a reader who did not ask for all
	commands []string
	hazard   string           // what the commands do to the node; empty where it is not known
	files    []*incident.File // a table of files
}

// view is an incident as one reader looks at it.
type view struct {
	*incident.Incident
	Options
	timeline *timeline.Timeline // empty in the place of nil
	page     bool               // there is room for more than a screen holds
}

func newView(inc *incident.Incident, o Options) *view {
	v := &view{Incident: inc, Options: o, timeline: inc.Timeline}
	if v.timeline == nil {
		v.timeline = &timeline.Timeline{}
	}
	return v
}

// remarkText is the remark with its number.
func (s *section) remarkText(v *view) string {
	if s.counts == nil {
		return s.remark
	}
	return fmt.Sprintf("%s: %d", s.remark, s.counts(v))
}

// heading is a title with the remark behind it.
func (s *section) heading(title string, v *view) string {
	if s.remark == "" {
		return title
	}
	return title + " (" + s.remarkText(v) + ")"
}

func unansweredRules(v *view) int { return len(v.Result.NotEvaluable) }

// nodeText names the node, and those that were not looked at.
func (v *view) nodeText() string {
	node := cmp.Or(v.Node, "(no line names it)")
	if len(v.LeftOut) > 0 {
		node += "; not looked at: " + strings.Join(v.LeftOut, ", ")
	}
	return node
}

// episodeBlocks tell the episodes apart, where there are several. The page lists them on its own.
func episodeBlocks(v *view) (all []block) {
	if len(v.Result.Episodes) < 2 || v.page {
		return nil
	}
	for i := range v.Result.Episodes {
		all = append(all, block{text: episodeText(&v.Result.Episodes[i])})
	}
	return all
}

func stallBlocks(v *view) (all []block) {
	suspects := map[int][]story.Suspect{}
	for _, s := range v.Result.Suspects {
		suspects[s.Stall] = append(suspects[s.Stall], s)
	}
	for i := range v.timeline.Stalls {
		s := &v.timeline.Stalls[i]
		all = append(all, block{text: stallText(s), quotes: s.Evidence, most: 2})
		said := func(q event.Quote) bool { return slices.Contains(s.Evidence, q) }
		if more := slices.DeleteFunc(slices.Clone(s.NotReadyEvidence), said); len(more) > 0 {
			all = append(all, block{quotes: more, most: 1})
		}
		for _, suspect := range suspects[i] {
			all = append(all, block{lead: "suspect", text: suspect.String(), quotes: suspect.Evidence, most: 2})
		}
	}
	return all
}

// stallText is a stall in a sentence.
func stallText(s *timeline.Stall) string {
	d := show.Duration(s.End.Sub(s.Start), s.Open)
	txt := fmt.Sprintf("%s (%s), phase %s", show.Window(s.Window), d, s.Phase)
	if s.PhaseBasis != "" {
		txt += " (" + s.PhaseBasis + ")"
	}
	if s.Tooth > 0 {
		txt += fmt.Sprintf(", tooth %d of a saw-tooth", s.Tooth)
	}
	if !s.Restarted.IsZero() {
		txt += ", again after the kubelet's restart at " + show.Clock(s.Restarted)
	}
	if s.Open {
		txt += ", no recovery seen"
	}
	if s.NotReady.IsZero() {
		return txt + "; no line says that the node became NotReady"
	}
	return txt + "; node NotReady at " + show.Clock(s.NotReady)
}

func signBlocks(v *view) (all []block) {
	for i := range v.Result.Signs {
		s := &v.Result.Signs[i]
		all = append(all, block{text: signText(s), quotes: s.Evidence, most: 1})
	}
	return all
}

// signText is a sign, and how often it was seen.
func signText(s *story.Sign) string { return countSign(s, s.Text) }

// countSign adds to the text of a sign how often it was seen.
func countSign(s *story.Sign, text string) string {
	if s.Count > 1 {
		return fmt.Sprintf("%s (%d×)", text, s.Count)
	}
	return text
}

func nextBlocks(v *view) (all []block) {
	for i := range v.Result.Next {
		n := &v.Result.Next[i]
		text := n.Source
		if len(n.Decides) > 0 {
			text += ": decides about " + strings.Join(n.Decides, ", ")
		}
		if n.Note != "" {
			text += "; " + n.Note
		}
		all = append(all, block{text: text, commands: []string{n.Command}, hazard: n.Hazard})
	}
	return all
}

// maxConsidered bounds the weighed hypotheses that are shown to a reader who did not ask for all.
const maxConsidered = 5

// consideredBlocks are the hypotheses that are only weighed: what was seen of each, and what was
// not.
func consideredBlocks(v *view) (all []block) {
	left := 0
	for i := range v.Result.Hypotheses {
		h := &v.Result.Hypotheses[i]
		switch {
		case h.Verdict != language.Weighed:
		case len(all) == maxConsidered && !v.Verbose && !v.page:
			left++
		default:
			all = append(all, block{text: consideredText(h), quotes: h.For[0].Evidence, most: 1})
		}
	}
	if left > 0 {
		all = append(all, block{text: fmt.Sprintf("%d more, see --verbose", left)})
	}
	return all
}

// consideredText is a weighed hypothesis in a line: what was seen, and what was not.
func consideredText(h *rules.Hypothesis) string {
	var seen []string
	for _, r := range h.For {
		seen = append(seen, r.Text)
	}
	text := h.Rule + ": seen: " + strings.Join(seen, "; ")
	if len(h.NotSeen) > 0 {
		text += "; not seen: " + strings.Join(h.NotSeen, "; ")
	}
	return text
}

func exposureBlocks(v *view) (all []block) {
	for _, e := range v.Result.Exposed {
		all = append(all, block{text: e.Rule + ": " + e.String(), quotes: e.Evidence, most: 2})
	}
	return all
}

func forecastBlocks(v *view) (all []block) {
	for i := range v.Result.Forecasts {
		f := &v.Result.Forecasts[i]
		all = append(all, block{text: forecastText(f), quotes: f.Evidence, most: 2})
	}
	return all
}

func harmlessBlocks(v *view) (all []block) {
	for _, h := range v.Result.Harmless {
		all = append(all, block{text: harmlessText(h), quotes: h.Evidence, most: 1})
	}
	return all
}

func harmlessText(h story.Harmless) string { return fmt.Sprintf("%d× %s: %s", h.Count, h.Name, h.Why) }

func ruledOutBlocks(v *view) (all []block) {
	for _, r := range v.Result.RuledOut {
		all = append(all, block{text: r.Rule + ": " + r.Why, quotes: r.Evidence, most: 1})
	}
	return all
}

// notEvaluableBlocks say what is missing rather than what was not answered: the former is what the
// reader can do something about. One missing dump may silence many rules, and its command is shown
// once.
func notEvaluableBlocks(v *view) (all []block) {
	if n := len(v.Result.NotEvaluable); n > 0 && !v.Verbose && !v.page {
		return []block{{text: "what each of them lacks: see --verbose"}}
	}
	at := map[string]int{}
	var others []block
	for _, u := range v.Result.NotEvaluable {
		if len(u.Missing) == 0 || v.Verbose {
			others = append(others, block{text: u.Rule + ": " + cmp.Or(u.Why, "what is missing stands above")})
		}
		for _, m := range u.Missing {
			i, ok := at[m.Source]
			if !ok {
				i = len(all)
				at[m.Source] = i
				all = append(all, block{lead: "missing", text: m.Source + ": " + u.Rule, commands: []string{m.Command}})
				continue
			}
			all[i].text += ", " + u.Rule
			if (v.Verbose || v.page) && !slices.Contains(all[i].commands, m.Command) {
				all[i].commands = append(all[i].commands, m.Command)
			}
		}
	}
	return append(all, others...)
}

// factBlocks are the facts that a rule asks for; the others are told to those who ask for all, and
// on a page.
func factBlocks(v *view) (all []block) {
	facts := v.timeline.Facts
	names := v.Result.AskedFacts
	if v.Verbose || v.page {
		names = slices.Sorted(maps.Keys(facts))
	}
	for _, name := range names {
		f := facts[name]
		b := block{text: name + " = " + f.Value}
		for _, q := range f.Evidence {
			b.places = append(b.places, q.Pos)
		}
		all = append(all, b)
	}
	if left := len(facts) - len(names); left > 0 {
		all = append(all, block{text: fmt.Sprintf("%d more that no rule asks for, see --verbose", left)})
	}
	return all
}

// maxClockFiles bounds the files named for one assumption: a node has a log for each container.
const maxClockFiles = 3

// clockBlocks are what was assumed about times: one sentence for all files of which the same was,
// or, where all are asked for, for each.
func clockBlocks(v *view) (all []block) {
	var order []string
	files := map[string][]string{} // by what was assumed
	for _, c := range v.timeline.Clocks {
		b := clockText(&c)
		if files[b] == nil {
			order = append(order, b)
		}
		files[b] = append(files[b], c.File)
	}
	for _, assumed := range order {
		names := files[assumed]
		if v.Verbose || len(names) <= maxClockFiles {
			for _, name := range names {
				all = append(all, block{text: name + ": " + assumed})
			}
			continue
		}
		named := show.JoinFirst(names, maxClockFiles, ", ")
		text := fmt.Sprintf("%s: %s (%s, see --verbose)", show.Plural(len(names), "file"), assumed, named)
		all = append(all, block{text: text})
	}
	return all
}

// clockText is what was assumed about the times of a file.
func clockText(c *timeline.Clock) string {
	text := c.Basis
	if c.Offset > 0 {
		text += ", +" + c.Offset.String() + " from UTC"
	} else if c.Offset < 0 {
		text += ", " + c.Offset.String() + " from UTC"
	}
	if c.Note != "" {
		text += "; " + c.Note
	}
	return text
}

// maxGaps bounds the gaps that are shown to people; JSON has all.
const maxGaps = 20

func gapBlocks(v *view) (all []block) {
	gaps := v.timeline.Gaps()
	for i := range gaps {
		if i == maxGaps {
			return append(all, block{text: fmt.Sprintf("and %s more", show.Plural(len(gaps)-i, "gap"))})
		}
		all = append(all, block{text: gapText(&gaps[i])})
	}
	return all
}

func gapText(g *timeline.SharedGap) string {
	text := "from " + show.Clock(g.Start) + " on"
	if !g.End.IsZero() {
		text = show.Window(g.Window)
	}
	text += ": " + g.Reason
	switch {
	case len(g.Evidence) > 0:
		text += " (" + g.Evidence[0].Pos.String() + ")"
	case len(g.Files) == 1:
		text += " (" + g.Files[0] + ")"
	}
	if len(g.Sources) > 0 {
		text += "; affects " + strings.Join(g.Sources, ", ")
	}
	return text
}

// fileBlocks are the account of all files; where there are many, those that say little are told by
// directory.
func fileBlocks(v *view) (all []block) {
	a := newAccount(v.Files, v.Verbose)
	if len(v.Files) == 0 {
		return []block{{text: "no file was read"}}
	}
	if len(a.Files) > 0 {
		all = append(all, block{files: a.Files})
	}
	if a.Left > 0 {
		text := show.Plural(a.Left, "more file") + ", by format and directory; one by one:"
		all = append(all, block{text: text, commands: []string{commandLine("ls", v.Inputs)}}, block{files: a.Folded})
	}
	return all
}

// part is what a finding says below its chain, under one label.
type part struct {
	label  string
	blocks []block
}

// findingParts are every part of a finding below its chain, without those that would be empty.
func findingParts(f *story.Finding) []part {
	against := []block{{text: "nothing in this bundle"}} // said rather than left out: the reader asks for it
	if len(f.Contradictions) > 0 {
		against = nil
	}
	for _, a := range f.Contradictions {
		against = append(against, block{text: a.Why, warning: true, quotes: a.Evidence, most: 2})
	}
	references := textBlocks(f.References)
	for i := range references {
		references[i].link = true
	}
	parts := []part{{"against", against}, {"notes", textBlocks(f.Notes)}}
	for i := range f.Rivals {
		rival := block{text: rivalText(&f.Rivals[i]), warning: true}
		parts = append(parts, part{"rival", append([]block{rival}, missingBlocks(f.Rivals[i].Decide)...)})
	}
	parts = append(parts, []part{
		{"missing", missingBlocks(f.Missing)},
		{"do now", actionBlocks(f.Remediation.Now)},
		{"for good", textBlocks(f.Remediation.Durable)},
		{"see", references},
	}...)
	return slices.DeleteFunc(parts, func(p part) bool { return len(p.blocks) == 0 })
}

func textBlocks(texts []string) (all []block) {
	for _, s := range texts {
		all = append(all, block{text: s})
	}
	return all
}

// actionBlocks are what to do, each with its commands and what these may do to the node.
func actionBlocks(actions []language.Action) (all []block) {
	for _, a := range actions {
		all = append(all, block{text: a.Do, commands: a.Commands, hazard: a.Hazard})
	}
	return all
}

// missingText is an input that would decide, and what to know before its command is run.
func missingText(m *rules.Missing) string {
	if m.Note == "" {
		return m.Source
	}
	return m.Source + "; " + m.Note
}

// missingBlocks are inputs that would decide, each with its command, ready to be copied.
func missingBlocks(missing []rules.Missing) (all []block) {
	for _, m := range missing {
		all = append(all, block{text: missingText(&m), commands: []string{m.Command}, hazard: story.Hazard(m.Command)})
	}
	return all
}

// rivalText is another cause that the evidence leaves open, in a sentence.
func rivalText(r *story.Rival) string {
	of := ""
	if r.Container != "" {
		of = " of container " + r.Container
	}
	text := r.Rule + of + " happened at the same time, and nothing shows that either caused the other"
	if len(r.Decide) == 0 {
		return text + "; two goroutine dumps 20 s apart in the next stall would decide"
	}
	return text + "; what would decide:"
}
