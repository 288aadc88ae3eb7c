package picture

import (
	"strconv"
	"time"

	"github.com/plegdiag/plegdiag/internal/report/html"
)

// WriteDefs writes the marks that the drawings of a page share.
func WriteDefs(w *html.Writer) {
	w.Put(`<svg class="defs" width="0" height="0" aria-hidden="true"><defs>
<pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse"><circle cx="2" cy="2" r="1" class="dot"/></pattern>
<marker id="head" viewBox="0 0 8 6" refX="7" refY="3" markerWidth="10" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 3 L0 6 z" class="head"/></marker>
</defs></svg>
`)
}

// WriteChain writes the chain, with the stalls; nothing where there is none.
func (p *Picture) WriteChain(w *html.Writer) {
	if len(p.Chain.Lanes) > 0 {
		p.writeDrawing(w, &p.Chain, "picture", "The chain of the root cause from cause to effect, a row for each step; the list beside it has the same numbers")
	}
}

// WriteBeside writes what happened beside the chain.
func (p *Picture) WriteBeside(w *html.Writer) {
	p.writeDrawing(w, &p.Beside, "beside", "What else happened, a lane for each component; every event stands in the table of events below")
}

// writeDrawing writes a part of the picture; the label is for whoever cannot see it.
func (p *Picture) writeDrawing(w *html.Writer, d *drawing, id, label string) {
	w.Put(`<div class="drawing">
<svg class="names" width="128" height="{}" aria-hidden="true">
`, d.Height+6)
	for i := range d.Lanes {
		l := &d.Lanes[i]
		writeLane(w, l, i)
		w.Put(`<text x="6" y="{}" class="name">{}</text>`, l.Y+33, l.Name)
		if l.Undated {
			w.Put(`<text x="6" y="{}" class="name">undated:</text>`, l.Y+15)
		}
		w.Put("\n")
	}
	w.Put(`</svg>
<svg id="{}" class="area" role="img" aria-label="{}" width="100%" height="{}" data-span="{}">
`, id, label, d.Height+6, p.span().Milliseconds())
	for i := range d.Lanes {
		writeLane(w, &d.Lanes[i], i)
		w.Put("\n")
	}
	p.writeAxis(w, d.Height)
	for i := range d.Lanes {
		p.writeLaneName(w, &d.Lanes[i])
	}
	p.writeTies(w, d.Ties)
	for i := range d.Lanes {
		p.writeRows(w, &d.Lanes[i])
	}
	w.Put("</svg>\n</div>")
}

func writeLane(w *html.Writer, l *drawnLane, i int) {
	w.Put(`<rect x="0" width="100%" y="{}" height="{}" class="lane{}"/>`, l.Y, l.H, html.If(i%2 == 1, " odd"))
}

func (p *Picture) writeAxis(w *html.Writer, height int) {
	for _, m := range p.Axis {
		at, x := m.At.Milliseconds(), p.x(m.At)
		w.Put(`<g class="axis"><line class="t" data-f="{}" x1="{}" x2="{}" y1="16" y2="{}"/>`, at, x, x, height)
		w.Put(`<text class="t{}" data-f="{}" x="{}" y="12" text-anchor="{}">{}</text></g>
`, html.If(m.Minor, " minor"), at, x, m.Anchor, m.Text)
	}
}

// writeLaneName writes the name that a narrow screen shows inside of the lane, and where nothing
// was recorded.
func (p *Picture) writeLaneName(w *html.Writer, l *drawnLane) {
	x, dx, anchor := "0", "2", "start"
	if l.NameEnd {
		x, dx, anchor = "100%", "-2", "end"
	}
	w.Put(`<text x="{}" y="{}" dx="{}" text-anchor="{}" class="name inside">{}{}</text>
`, x, l.Y+13, dx, anchor, html.If(l.Undated, "undated: "), l.Name)
	for _, gap := range l.Gaps {
		p.writeShape(w, gap)
		w.Put("\n")
	}
}

func (p *Picture) writeTies(w *html.Writer, ties []tie) {
	w.Put("<g class=\"ties\">\n")
	for _, t := range ties {
		class := "tie" + html.If(t.Inferred, " inferred")
		from, to := t.From.Milliseconds(), t.To.Milliseconds()
		x1, x2 := p.x(t.From), p.x(t.To)
		w.Put(`<line class="{} t" data-f="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>`, class, from, x1, x1, t.Y1, t.YMid)
		if t.From != t.To {
			w.Put(`<line class="{} t" data-f="{}" data-t="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>`, class, from, to, x1, x2, t.YMid, t.YMid)
		}
		w.Put(`<line class="{} t" data-f="{}" x1="{}" x2="{}" y1="{}" y2="{}" marker-end="url(#head)"/>
`, class, to, x2, x2, t.YMid, t.Y2)
	}
	w.Put("</g>\n")
}

func (p *Picture) writeRows(w *html.Writer, l *drawnLane) {
	for i := range l.Rows {
		row := &l.Rows[i]
		for _, s := range row.Marks {
			p.writeMark(w, s)
		}
		writeLinked(w, row.Number, func() { writeLabels(w, row.Labels) })
		w.Put("\n")
	}
	for i := range l.Steps {
		p.writeStep(w, &l.Steps[i])
	}
}

func (p *Picture) writeStep(w *html.Writer, s *stepRow) {
	w.Put(`<g class="step" data-step="{}">`, s.Number)
	for _, again := range s.Again {
		p.writeMark(w, again)
	}
	w.Put(`<a href="#{}"><title>{}</title>`, s.Target, s.Title)
	for _, m := range s.Marks {
		p.writeShape(w, m)
	}
	at, x := s.At.Milliseconds(), p.x(s.At)
	w.Put(`<circle class="knot t" data-f="{}" cx="{}" cy="{}" r="9"/>`, at, x, s.Y)
	w.Put(`<text class="number t" data-f="{}" x="{}" y="{}" text-anchor="middle">{}</text>`, at, x, s.Y+4, s.Number)
	writeLabels(w, s.Labels)
	w.Put("</a></g>\n")
}

// writeLinked writes something that leads to an event in the table; to none where the number is 0.
func writeLinked(w *html.Writer, number int, write func()) {
	if number == 0 {
		write()
		return
	}
	w.Put(`<a href="#e{}">`, number)
	write()
	w.Put("</a>")
}

func writeLabels(w *html.Writer, labels [2]placed) {
	for i := range labels {
		t := &labels[i]
		w.Put(`<text class="label {}" data-f="{}" data-t="{}" x="{}" dx="{}" y="{}" text-anchor="{}"><tspan`,
			t.Screen, t.At.Milliseconds(), t.To.Milliseconds(), percentText(t.X), t.DX, t.Y, t.Anchor)
		w.PutNonEmpty(` data-whole="{}"`, t.Whole)
		w.Put(">{}</tspan>", t.Name)
		w.PutNonEmpty(` <tspan class="length">{}</tspan>`, t.Length)
		w.Put("</text>")
	}
}

// writeMark writes a shape that leads to its event.
func (p *Picture) writeMark(w *html.Writer, s shape) {
	writeLinked(w, s.Number, func() { p.writeShape(w, s) })
}

// writeShape writes an interval as a box, and a moment as a line.
func (p *Picture) writeShape(w *html.Writer, s shape) {
	from, x := s.From.Milliseconds(), p.x(s.From)
	width := p.width(s)
	if width > 0 {
		w.Put(`<rect class="{} t" data-f="{}" data-t="{}" x="{}" width="{}" y="{}" height="{}" rx="2">`,
			s.Class, from, s.To.Milliseconds(), x, percentText(width), s.Y, s.H)
	} else {
		w.Put(`<line class="{} t" data-f="{}" x1="{}" x2="{}" y1="{}" y2="{}">`, s.Class, from, x, x, s.Y, s.Y+s.H)
	}
	w.PutNonEmpty("<title>{}</title>", s.Title)
	if width > 0 {
		w.Put("</rect>")
	} else {
		w.Put("</line>")
	}
}

// Write writes the graph.
func (g *Waits) Write(w *html.Writer) {
	w.Put(`<svg class="waits" role="img" aria-label="Who waits for whom: what all wait for in the end stands on top" width="100%" height="{}">
`, g.Height)
	for _, e := range g.Edges {
		w.Put(`<polyline class="wait" points="{},{} {},{} {},{}" marker-end="url(#head)"/>
`, e.ToX, e.Y1, e.X, e.Y1, e.X, e.Y2)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		writeLinked(w, n.Number, func() { n.write(w) })
		w.Put("\n")
	}
	w.Put("</svg>")
	w.PutLeftOut(g.Left)
}

func (n *waitNode) write(w *html.Writer) {
	w.Put(`<g class="node {}{}"><title>{}</title>`, n.Class, html.If(n.Inferred, " inferred"), n.Title)
	w.Put(`<svg x="{}" y="{}" width="100%" height="24"><rect x="0" y="0" width="100%" height="24" rx="3"/></svg>`, n.X, n.Y)
	for i := range n.Texts {
		t := &n.Texts[i]
		w.Put(`<text class="label {}" x="{}" y="{}">{}`, t.Screen, t.DX, t.Y, t.Name)
		w.PutNonEmpty(` <tspan class="length">{}</tspan>`, t.Length)
		w.Put("</text>")
	}
	w.Put("</g>")
}

// x is where a time stands in the picture.
func (p *Picture) x(since time.Duration) string { return percentText(p.percentOf(since)) }

func percentText(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) + "%" }
