package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/html"
	"github.com/plegdiag/plegdiag/internal/report/picture"
	"github.com/plegdiag/plegdiag/internal/report/show"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// What a text of the bundle looks like on the page.
func prose(s string) string      { return show.Escape(s, show.MaxProse) }
func quoted(s string) string     { return show.Escape(s, show.MaxQuote) }
func posText(p event.Pos) string { return quoted(p.String()) }

// write writes the page.
func (p *page) write(w *html.Writer) {
	w.Begin(p.Title, p.Version, true)
	p.writeOpening(w)
	w.Put("<main>\n")
	p.writeEpisodes(w)
	if p.Picture != nil {
		p.writePicture(w)
	}
	w.Put("\n")
	for i := range p.Sections {
		p.Sections[i].write(w)
	}
	w.Put(`
</main>
<footer>plegdiag {}. Each line quoted here stands at its path and line in the bundle.</footer>
`, p.Version)
	w.End()
}

func (p *page) writeOpening(w *html.Writer) {
	o := &p.Opening
	w.Put(`<header class="verdict-{}">
<p class="word">{}</p>
<h1>{}</h1>
<p class="where">node <b>{}</b>, {}</p>
`, p.Class, o.State.Words(), prose(p.Headline), prose(p.Node), p.When)
	w.PutNonEmpty("<p class=\"where\">How sure: {}</p>\n", prose(o.Reason))
	w.PutNonEmpty(`<p class="first"><b>Do first:</b> <code class="command">{}</code></p>`, prose(o.Command))
	w.Put("\n")
	w.PutNonEmpty(`<p class="first">{}</p>`, prose(o.Note))
	w.Put("\n")
	w.PutNonEmpty(`<p class="first"><b>Do first:</b> {}</p>`, prose(o.Advice))
	w.Put("\n")
	if len(o.Commands) > 0 {
		writeCommands(w, o.Commands)
	}
	w.Put("\n")
	w.PutNonEmpty(`<p class="first"><b>Hazard:</b> {}</p>`, prose(o.Hazard))
	w.Put("\n</header>\n")
}

// writeCommands writes commands one below the other.
func writeCommands(w *html.Writer, commands []string) {
	w.Put(`<pre class="command">`)
	for _, c := range commands {
		w.Put("{}\n", prose(c))
	}
	w.Put("</pre>")
}

// openEpisodes is how many incidents of a bundle are listed before the rest is folded: the picture
// of the one that the headline is about stands below.
const openEpisodes = 8

func (p *page) writeEpisodes(w *html.Writer) {
	if len(p.Episodes) == 0 {
		return
	}
	w.Put(`<section class="episodes"><h2>{} incidents in this bundle</h2><ol>
`, len(p.Episodes)+p.EpisodesLeft)
	first, folded := p.Episodes, []episodeLine(nil)
	if len(first) > openEpisodes+1 {
		first, folded = first[:openEpisodes], first[openEpisodes:]
	}
	for i := range first {
		first[i].write(w)
	}
	w.Put("</ol>")
	if len(folded) > 0 {
		w.Put(`<details class="more"><summary>{} more</summary><ol start="{}">
`, len(folded), openEpisodes+1)
		for i := range folded {
			folded[i].write(w)
		}
		w.Put("</ol></details>")
	}
	w.PutLeftOut(p.EpisodesLeft)
	w.Put("</section>\n")
}

func (e *episodeLine) write(w *html.Writer) {
	w.Put("<li>")
	if e.Open {
		w.Put(`<b class="live">still going on</b> `)
	}
	w.Put(`<span class="at">{}</span>: `, e.Window)
	w.PutNonEmpty(`<span class="badge">{}</span> `, e.Verdict)
	if e.Finding != 0 {
		w.Put(`<a href="#f{}">{}</a>`, e.Finding, prose(e.Cause))
	} else {
		w.Put("{}", prose(e.Cause))
	}
	w.Put("</li>\n")
}

func (p *page) writePicture(w *html.Writer) {
	drawn := p.Picture
	w.Put(`
<section aria-labelledby="picture-title" class="picture">
<h2 id="picture-title">What happened, {}</h2>
<p class="tools" hidden>`, drawn.Caption())
	if drawn.Dated() {
		w.Put(`<button type="button" id="in">zoom in</button> <button type="button" id="out">zoom out</button> <button type="button" id="left">◀ earlier</button> <button type="button" id="right">later ▶</button> <button type="button" id="whole">whole</button> `)
	}
	w.Put(`<label>search <input id="search" type="search" placeholder="call, id, word" autocomplete="off" spellcheck="false"></label> <output id="found"></output></p>
`)
	picture.WriteDefs(w)
	w.Put("<div class=\"told\">\n")
	drawn.WriteChain(w)
	w.Put("\n")
	p.writeToldSteps(w)
	w.Put("\n</div>\n")
	writeLegend(w, drawn)
	writeBeside(w, drawn)
	w.Put("\n</section>\n")
}

// writeToldSteps writes the steps of the chain beside its picture.
func (p *page) writeToldSteps(w *html.Writer) {
	if len(p.Steps) == 0 {
		return
	}
	w.Put("<ol class=\"chain\">\n")
	for i := range p.Steps {
		s := &p.Steps[i]
		w.Put(`<li value="{}" data-step="{}"><a href="#{}"><span class="no">{}</span> {} <span class="when">{}`,
			s.Number, s.Number, s.Anchor, s.Number, prose(s.Text), s.At)
		w.PutNonEmpty(", {}", s.Lasted)
		w.Put("</span></a></li>\n")
	}
	w.Put("</ol>")
}

func writeLegend(w *html.Writer, drawn *picture.Picture) {
	w.Put(`<p class="legend">`)
	if len(drawn.Chain.Ties) > 0 {
		w.Put("Numbers are the steps of the chain, the band leads from cause to effect{}. ",
			html.If(drawn.Dated(), ", thin and dashed where it is inferred"))
	}
	if drawn.Dated() {
		w.Put(`<span class="key gap"></span> no line was recorded there <span class="key dashed"></span> a part of the time is inferred`)
	}
	if drawn.LeftOut > 0 {
		w.Put(" {} shorter events are left out; <code>plegdiag timeline --all</code> has them.", drawn.LeftOut)
	}
	w.Put("</p>\n")
}

// writeBeside writes what happened beside the chain; folded where there is a chain.
func writeBeside(w *html.Writer, drawn *picture.Picture) {
	lanes := len(drawn.Beside.Lanes)
	if lanes == 0 {
		return
	}
	w.Put(`<details class="beside"`)
	if len(drawn.Chain.Lanes) > 0 {
		w.Put("><summary>Beside it: {} other ", drawn.Others)
	} else {
		w.Put(" open><summary>{} ", drawn.Others)
	}
	w.Put("{} in {} {}</summary>\n", nounOf(drawn.Others, "event"), lanes, nounOf(lanes, "lane"))
	drawn.WriteBeside(w)
	w.Put("\n</details>")
}

func nounOf(n int, noun string) string { return noun + html.If(n != 1, "s") }

func (s *pageSection) write(w *html.Writer) {
	switch {
	case len(s.Findings) > 0:
		for i := range s.Findings {
			s.Findings[i].writeFolded(w)
		}
		w.PutLeftOut(s.Left)
	case s.Closed:
		w.Put("<section><details")
		w.PutNonEmpty(` id="{}"`, s.ID)
		w.Put("><summary>{} ({})", s.Title, s.Count)
		w.PutNonEmpty(": {}", s.Remark)
		w.Put("</summary>")
		s.writeContent(w)
		w.Put("</details></section>")
	default:
		w.Put("<section><h2>{}</h2>", s.Title)
		if s.Remark != "" {
			w.Put("<p>{}.</p>", upperFirst(s.Remark))
		}
		s.writeContent(w)
		w.Put("</section>")
	}
	w.Put("\n")
}

func (s *pageSection) writeContent(w *html.Writer) {
	s.Text.write(w)
	w.Put("\n")
	if s.Graph != nil {
		s.Graph.Write(w)
	}
	s.writeLocks(w)
	w.Put("\n")
	s.writeGroups(w)
	s.writeEvents(w)
	w.PutLeftOut(s.Left)
}

func (s *pageSection) writeLocks(w *html.Writer) {
	if len(s.Locks) == 0 {
		return
	}
	w.Put(`<details class="more"><summary>lock by lock, with the lines that prove it</summary>`)
	for i := range s.Locks {
		l := &s.Locks[i]
		w.Put(`<div class="lock"><p class="flow">`)
		l.writeFlow(w)
		w.Put("</p>")
		writeQuotes(w, l.Quotes)
		w.Put("</div>\n")
	}
	w.Put("</details>")
}

// writeFlow leads from those who wait for a lock to what its holder waits for.
func (l *lockBlock) writeFlow(w *html.Writer) {
	if l.Deadlock {
		w.Put(`<span class="box bad">deadlock in {}: {}</span>`, quoted(l.Program), quoted(l.Ends))
		return
	}
	w.Put(`<span class="box">{}</span> <span class="to">→</span> <span class="box">{}: {}</span> <span class="to">→</span> `,
		l.Waiters, quoted(l.Program), quoted(l.Lock))
	w.Put(`<span class="box {}">held by {}`, html.If(l.Sure == "inferred", "dashed"), l.Holder)
	w.PutNonEmpty(", {}", l.Sure)
	w.Put("</span>")
	w.PutNonEmpty(` <span class="to">→</span> <span class="box">{}</span>`, quoted(l.Through))
	w.Put(` <span class="to">→</span> <span class="box bad">{}</span>`, quoted(l.Ends))
}

func (s *pageSection) writeGroups(w *html.Writer) {
	if len(s.Groups) == 0 {
		return
	}
	w.Put(`<div class="wide"><table><thead><tr><th class="n">goroutines</th><th>program</th><th>what</th><th>longest</th></tr></thead><tbody>`)
	for i := range s.Groups {
		g := &s.Groups[i]
		w.Put(`<tr><td class="n">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>`,
			g.Count, quoted(g.Program), quoted(g.Doing), show.Duration(g.Longest, true))
	}
	w.Put("</tbody></table></div>\n")
}

func (s *pageSection) writeEvents(w *html.Writer) {
	if len(s.Events) == 0 {
		return
	}
	w.Put(`<div class="wide"><table><thead><tr><th>UTC</th><th>lasted</th><th>component</th><th>what</th><th>line</th></tr></thead><tbody>
`)
	for _, e := range s.Events {
		w.Put(`<tr id="e{}"><td class="at">{}</td><td class="lasted">{}</td><td>{}</td><td><span class="what">{}</span>`,
			e.Number, cmp.Or(show.Moment(e.Start.T, e.Basis), "undated"), show.Length(e.Event), quoted(e.Component),
			quoted(cmp.Or(e.Text, string(e.Kind))))
		w.PutNonEmpty(` <small class="ids">{}</small>`, idText(e.Event))
		w.Put("</td><td>")
		if len(e.Evidence) > 0 {
			writeQuote(w, e.Evidence[0])
		}
		w.Put("</td></tr>\n")
	}
	w.Put("</tbody></table></div>\n")
}

// writeFolded writes a finding; only its title stands open where it says little that is new.
func (f *findingBlock) writeFolded(w *html.Writer) {
	if !f.Folded {
		f.write(w)
		return
	}
	w.Put(`<details class="folded"><summary><span class="badge">{}</span> {}: {}</summary>`, f.Verdict, f.Role, prose(f.Title))
	f.write(w)
	w.Put("</details>")
}

func (f *findingBlock) write(w *html.Writer) {
	w.Put(`<section class="finding verdict-{}" id="f{}">
<h2><span class="badge">{}</span> {}: {}</h2>
`, f.Verdict, f.Number, f.Verdict, f.Role, prose(f.Rule))
	if !repeatsTitle(f.Finding) {
		w.Put("<p><b>{}</b></p>\n", prose(f.Title))
	}
	w.Put("<p>{}</p>\n", prose(f.Summary))
	w.PutNonEmpty("<p>container <code>{}</code></p>", prose(f.Container))
	w.Put("\n<ol class=\"steps\">\n")
	for i := range f.Steps {
		f.Steps[i].write(w)
	}
	w.Put("</ol>")
	w.PutLeftOut(f.StepsLeft)
	w.Put("\n")
	for i := range f.Parts {
		w.Put("<h3>{}</h3>", f.Parts[i].Label)
		f.Parts[i].Text.write(w)
		w.Put("\n")
	}
	w.Put(`<details class="score"><summary>score {}</summary><p>{}</p></details>
</section>
`, fmt.Sprintf("%.2f", f.Score), cmp.Or(prose(f.Formula), "no formula"))
}

func (s *stepLine) write(w *html.Writer) {
	w.Put(`<li id="{}" value="{}"`, s.Anchor, s.Number)
	if s.Drawn {
		w.Put(` data-step="{}"`, s.Number)
	}
	w.Put(`><p><span class="role">{}</span> <span class="at">{}</span>`, s.Role, s.At)
	w.PutNonEmpty(` <span class="lasted">{}</span>`, s.Lasted)
	w.Put(` <span class="what">{}</span>`, prose(s.Text))
	w.PutNonEmpty(`<span class="ids" hidden>{}</span>`, s.IDs)
	w.PutNonEmpty(` <span class="edge">{}</span>`, s.Edge)
	w.PutNonEmpty("<br><small>~ {}</small>", prose(s.Basis))
	w.Put("</p>")
	writeQuotes(w, s.Quotes)
	w.PutLeftOut(s.Left)
	w.Put("</li>\n")
}

func (l *blockList) write(w *html.Writer) {
	if l.List {
		w.Put("<ul>\n")
		for i := range l.Blocks {
			w.Put("<li>")
			l.Blocks[i].writeSentence(w)
			w.Put("</li>\n")
		}
		w.Put("</ul>")
	} else {
		for i := range l.Blocks {
			l.Blocks[i].write(w)
		}
	}
	w.PutLeftOut(l.Left)
}

func (b *pageBlock) writeSentence(w *html.Writer) {
	w.PutNonEmpty("<b>{}</b> ", b.Lead)
	if b.Link != "" {
		w.Put(`<a rel="noreferrer" href="{}">{}</a>`, html.Address(b.Link), prose(b.Text))
	} else {
		w.Put("{}", prose(b.Text))
	}
	for _, p := range b.Places {
		w.Put(` <span class="pos">{}</span>`, posText(p))
	}
}

func (b *pageBlock) write(w *html.Writer) {
	if b.Text != "" {
		w.Put("<p>")
		b.writeSentence(w)
		w.Put("</p>")
	}
	writeQuotes(w, b.Quotes)
	w.PutLeftOut(b.QuotesLeft)
	for _, c := range b.Commands {
		writeCommands(w, strings.Split(strings.TrimSpace(c), "\n"))
	}
	w.PutNonEmpty("<p><small>hazard: {}</small></p>", prose(b.Hazard))
	writeFiles(w, b.Files)
	w.PutLeftOut(b.FilesLeft)
	w.Put("\n")
}

// writeQuotes writes lines that prove something: from the third on they are folded, where that
// hides more than one.
func writeQuotes(w *html.Writer, all []quoteBlock) {
	if len(all) == 0 {
		return
	}
	folded := len(all) > 3
	w.Put(`<div class="quotes">`)
	for i := range all {
		if folded && i == 2 {
			w.Put(`<details class="more"><summary>{} more lines</summary>`, len(all)-2)
		}
		all[i].write(w)
	}
	if folded {
		w.Put("</details>")
	}
	w.Put("</div>")
}

// write writes a line, with those around it folded.
func (q *quoteBlock) write(w *html.Writer) {
	if len(q.Before)+len(q.After) == 0 {
		w.Put("<p>")
		writeQuote(w, q.Quote)
		w.Put("</p>")
		return
	}
	w.Put(`<details class="context"><summary>`)
	writeQuote(w, q.Quote)
	w.Put("</summary><pre>")
	for _, line := range q.Before {
		w.Put("{}\n", quoted(line))
	}
	w.Put("<b>{}</b>\n", quoted(q.Text))
	for _, line := range q.After {
		w.Put("{}\n", quoted(line))
	}
	w.Put("</pre></details>")
}

func writeQuote(w *html.Writer, q event.Quote) {
	w.Put(`<span class="pos">{}</span> <q>{}</q>`, posText(q.Pos), quoted(q.Text))
}

func writeFiles(w *html.Writer, files []*incident.File) {
	if len(files) == 0 {
		return
	}
	w.Put(`<div class="wide"><table><thead><tr><th>path</th><th>format</th><th>component</th><th class="n">lines</th><th class="n">used</th><th class="n">blank</th><th class="n">skipped</th><th class="n">events</th><th class="n">findings</th><th>covers</th></tr></thead><tbody>
`)
	for _, f := range files {
		w.Put(`<tr><td class="pos">{}</td><td>{}</td><td>{}</td>`, prose(f.Path), quoted(f.Format), quoted(f.Component))
		for _, n := range []int{f.Lines, f.Used, f.Blank, f.Skipped, f.Events, f.Findings} {
			w.Put(`<td class="n">{}</td>`, n)
		}
		w.Put("<td>")
		if !f.Start.IsZero() {
			w.Put("{}", show.Window(timeline.Window{Start: f.Start, End: f.End}))
		}
		w.PutNonEmpty(" {}", prose(f.Note))
		w.PutNonEmpty(" <b>error: {}</b>", prose(f.Err))
		w.PutNonEmpty(" first skip: {}", prose(f.FirstSkip))
		w.Put("</td></tr>\n")
	}
	w.Put("</tbody></table></div>")
}
