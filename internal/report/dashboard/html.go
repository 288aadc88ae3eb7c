package dashboard

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/plegdiag/plegdiag/fleet"
	"github.com/plegdiag/plegdiag/internal/report/html"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// rowsOfPage is how many rows of a table stand open; the others are unfolded.
const rowsOfPage = 15

// bars are the columns that are also drawn, by question.
var bars = map[string]string{"causes": "nodes", "nodes": "stalls", "unexplained": "looks", "missing": "looks", "failed": "bundles"}

// section is the answer to one question.
type section struct {
	Name, Title, About string
	Head               []column
	Rows, More         [][]cell // More is folded
	Days               *days
}

type column struct {
	Title  string
	Number bool
}

type cell struct {
	Text   string
	Number bool
	Link   string  // to a report; empty for none
	Bar    float64 // per cent of the largest value of its column
	Drawn  bool
}

// HTML writes the answers as one page, which needs nothing but itself and runs no script. Link
// makes a link of the path of a report below the directory of the rows; where it returns nothing
// there is none. Text of bundles is a value of the page, and is escaped. Its errors are those of w.
func HTML(w io.Writer, answers []fleet.Answer, version string, link func(report string) string) error {
	var sections []section
	for i := range answers {
		if answers[i].Name != summary {
			sections = append(sections, newSection(&answers[i], link))
		}
	}
	buffered := bufio.NewWriter(w)
	page := html.NewWriter(buffered)
	said := show.Escape(headline(answers), show.MaxProse)
	page.Begin(said, version, false)
	page.Put(`<header>
<p class="word">Fleet</p>
<h1>{}</h1>
</header>
<main>
<p>`, said)
	for i := range sections {
		page.Put(`{}<a href="#{}">{}</a>`, html.If(i > 0, " · "), sections[i].Name, sections[i].Title)
	}
	page.Put("</p>\n")
	for i := range sections {
		sections[i].write(page)
	}
	page.Put("</main>\n<footer>plegdiag {}, by DuckDB.</footer>\n", version)
	page.End()
	return cmp.Or(page.Err(), buffered.Flush())
}

func (s *section) write(w *html.Writer) {
	w.Put(`<section id="{}">
<h2>{}</h2>
`, s.Name, s.Title)
	w.PutNonEmpty("<p><small>{}</small></p>\n", s.About)
	if s.Days != nil {
		s.Days.write(w)
	}
	if len(s.Rows) == 0 {
		w.Put("<p>None.</p>\n")
	} else {
		s.writeTable(w, s.Rows)
		w.Put("\n")
	}
	if len(s.More) > 0 {
		w.Put("<details><summary>{} more</summary>", len(s.More))
		s.writeTable(w, s.More)
		w.Put("</details>\n")
	}
	w.Put("</section>\n")
}

func (d *days) write(w *html.Writer) {
	w.Put(`<svg class="days" role="img" aria-label="Stalls per node-day, by day" width="100%" height="170">
<svg y="16" width="100%" height="130">`)
	for _, b := range d.Bars {
		w.Put(`<rect class="bar stall" x="{}%" width="{}%" y="{}%" height="{}%"><title>{}</title></rect>`, b.X, b.Width, b.Y, b.Height, b.Title)
	}
	w.Put(`</svg>
<text x="0" y="12">{} stalls per node-day</text><text x="0" y="164">{}</text>`, d.Most, d.First)
	if d.First != d.Last {
		w.Put(`<text x="100%" y="164" text-anchor="end">{}</text>`, d.Last)
	}
	w.Put("\n</svg>\n")
}

func (s *section) writeTable(w *html.Writer, rows [][]cell) {
	w.Put(`<div class="wide"><table>
<thead><tr>`)
	for _, c := range s.Head {
		w.Put("<th")
		if c.Number {
			w.Put(` class="n"`)
		}
		w.Put(">{}</th>", c.Title)
	}
	w.Put("</tr></thead>\n<tbody>\n")
	for _, row := range rows {
		w.Put("<tr>")
		for i := range row {
			row[i].write(w)
		}
		w.Put("</tr>\n")
	}
	w.Put("</tbody></table></div>")
}

func (c *cell) write(w *html.Writer) {
	w.Put("<td")
	if c.Number {
		w.Put(` class="n"`)
	}
	w.Put(">")
	if c.Drawn {
		w.Put(`<svg class="meter" width="80" height="10" aria-hidden="true"><rect class="bar" width="{}%" height="10"/></svg> `, c.Bar)
	}
	if c.Link != "" {
		w.Put(`<a href="{}">report</a>`, html.Address(c.Link))
	} else {
		w.Put("{}", c.Text)
	}
	w.Put("</td>")
}

func newSection(a *fleet.Answer, link func(report string) string) section {
	s := section{Name: a.Name, Title: a.Title, About: a.About}
	largest := 0.0
	for col, name := range a.Columns {
		s.Head = append(s.Head, column{columnTitle(name), isNumberColumn(a, col)})
		if name == bars[a.Name] {
			for _, row := range a.Rows {
				n, _ := row[col].(float64)
				largest = max(largest, n)
			}
		}
	}
	for _, values := range a.Rows {
		row := make([]cell, len(a.Columns))
		for col, name := range a.Columns {
			c := cell{Text: show.Escape(formatValue(name, values[col], isWholeColumn(a, col)), show.MaxQuote), Number: s.Head[col].Number}
			if n, ok := values[col].(float64); ok && name == bars[a.Name] && largest > 0 {
				c.Bar, c.Drawn = roundPercent(100*n/largest), true
			}
			if path, ok := values[col].(string); ok && kindOfColumn(name) == report {
				c = cell{Link: link(path)}
			}
			row[col] = c
		}
		s.Rows = append(s.Rows, row)
	}
	s.Rows, s.More = s.Rows[:min(len(s.Rows), rowsOfPage)], s.Rows[min(len(s.Rows), rowsOfPage):]
	if a.Name == "days" {
		s.Days = newDays(a)
	}
	return s
}

// roundPercent leaves a percentage as many decimals as can be seen.
func roundPercent(percent float64) float64 { return math.Round(100*percent) / 100 }

// days are the bars of a chart of stalls by day.
type days struct {
	First, Last, Most string
	Bars              []dayBar
}

// dayBar is the bar of one day, in per cent of the chart's width and height.
type dayBar struct {
	X, Width, Y, Height float64
	Title               string
}

// newDays draws the column stalls_per_node_day over the column day; nil where there is nothing to
// draw.
func newDays(a *fleet.Answer) *days {
	day, rate := slices.Index(a.Columns, "day"), slices.Index(a.Columns, "stalls_per_node_day")
	if day < 0 || rate < 0 {
		return nil
	}
	type point struct {
		at   time.Time
		rate float64
		row  []any
	}
	var all []point
	most := 0.0
	for _, row := range a.Rows {
		text, _ := row[day].(string)
		at, err := time.Parse(time.DateOnly, text[:min(len(text), len(time.DateOnly))])
		if n, ok := row[rate].(float64); err == nil && ok {
			all, most = append(all, point{at, n, row}), max(most, n)
		}
	}
	if len(all) == 0 || most == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b point) int { return a.at.Compare(b.at) })
	first, last := all[0].at, all[len(all)-1].at
	width := 100 / (last.Sub(first).Hours()/24 + 1)
	d := &days{First: first.Format(time.DateOnly), Last: last.Format(time.DateOnly), Most: formatValue("", most, false)}
	for _, p := range all {
		height := 100 * p.rate / most
		d.Bars = append(d.Bars, dayBar{
			X: roundPercent(p.at.Sub(first).Hours() / 24 * width), Width: roundPercent(width * 0.9), Y: roundPercent(100 - height), Height: roundPercent(height),
			Title: fmt.Sprintf("%s: %s stalls per node-day", p.at.Format(time.DateOnly), formatValue("", p.rate, false)),
		})
	}
	return d
}
