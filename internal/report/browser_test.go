//go:build browser

package report_test

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
)

// startBrowser starts one Chromium for all pages. It talks to nobody.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	alloc, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx), "Chromium has to be installed for these tests")
	return ctx
}

// loadPages makes the incidents that pages are made of: some by hand, some from real bundles.
func loadPages(t *testing.T) map[string]*incident.Incident {
	t.Helper()
	all := map[string]*incident.Incident{"told": told().Incident, "stall": stallWithoutCause(), "hostile": hostileTimeline(), "empty": {}}
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	bundles, err := filepath.Glob("../../testdata/seed-*/bundle*")
	require.NoError(t, err)
	lab, err := filepath.Glob("../../testdata/lab-*/bundle*")
	require.NoError(t, err)
	require.NotEmpty(t, bundles)
	for _, b := range slices.Concat(bundles, lab) {
		inc, err := incident.Load(t.Context(), incident.Options{Inputs: incident.Inputs{Paths: []string{b}}, Catalog: catalog})
		require.NoError(t, err)
		all[filepath.Base(filepath.Dir(b))] = inc
	}
	return all
}

// watched is what a page said and asked for while it was open.
type watched struct {
	mu       sync.Mutex
	problems []string
	requests []string
}

func (w *watched) listen(ctx context.Context, own string) error {
	return chromedp.Listen(ctx, func(ev any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			w.problems = append(w.problems, ev.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			w.problems = append(w.problems, string(ev.Type))
		case *log.EventEntryAdded:
			w.problems = append(w.problems, ev.Entry.Text)
		case *network.EventRequestWillBeSent:
			if ev.Request.URL != own {
				w.requests = append(w.requests, ev.Request.URL)
			}
		}
	})
}

// contrast finds text whose contrast to the page stays below 4.5:1 (WCAG 2.1 AA).
const contrast = `(() => {
  const rgb = s => s.match(/[\d.]+/g).map(Number);
  const lum = c => { const f = v => { v /= 255; return v <= .03928 ? v / 12.92 : Math.pow((v + .055) / 1.055, 2.4); }; return .2126 * f(c[0]) + .7152 * f(c[1]) + .0722 * f(c[2]); };
  const back = n => { for (; n; n = n.parentElement) { const c = rgb(getComputedStyle(n).backgroundColor); if (c.length < 4 || c[3] > 0) { return c; } } return [255, 255, 255]; };
  const low = [];
  document.querySelectorAll("body *").forEach(n => {
    if (!n.textContent.trim() || n.children.length > 0 || ["SCRIPT", "STYLE", "title"].includes(n.tagName)) { return; }
    const fill = n.namespaceURI.endsWith("svg");
    const a = lum(rgb(getComputedStyle(n)[fill ? "fill" : "color"])), b = lum(fill && n.classList.contains("number") ? rgb(getComputedStyle(n.previousElementSibling).fill) : back(n));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) { low.push(n.tagName + "." + n.className + " " + ratio.toFixed(2)); }
  });
  return [...new Set(low)];
})()`

func TestBrowser(t *testing.T) {
	ctx := startBrowser(t)
	for name, inc := range loadPages(t) {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, report.HTML(&out, inc, report.Options{Version: "v0"}))
			require.Less(t, out.Len(), 5<<20)
			file := filepath.Join(t.TempDir(), "report.html")
			require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
			own := (&url.URL{Scheme: "file", Path: file}).String()
			for _, script := range []bool{true, false} {
				for _, dark := range []string{"light", "dark"} {
					for _, width := range []int64{1280, 400} {
						checkPage(t, ctx, own, inc, script, dark, width)
					}
				}
			}
		})
	}
}

// drawn measures the picture, and counts what of it can be seen.
const drawn = `(() => {
  const s = document.querySelector("svg.area");
  if (!s) { return {Width: 0, Height: 0, Shapes: 0}; }
  const b = s.getBoundingClientRect(), seen = n => { const r = n.getBoundingClientRect(); return r.width + r.height > 0; };
  return {Width: b.width, Height: b.height, Shapes: [...s.querySelectorAll("rect,line,circle")].filter(seen).length};
})()`

func execute[P, R any](t *testing.T, ctx context.Context, command cdp.Command[P, R], params P) {
	t.Helper()
	_, err := chromedp.Call(ctx, command, params)
	require.NoError(t, err)
}

func evaluate[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	require.NoError(t, err)
	return v
}

// checkPage opens a page in a tab of its own and checks what a reader meets.
func checkPage(t *testing.T, ctx context.Context, own string, inc *incident.Incident, script bool, scheme string, width int64) {
	t.Helper()
	tab, cancel := chromedp.NewContext(ctx)
	defer cancel()
	var w watched
	require.NoError(t, w.listen(tab, own))
	execute(t, tab, network.Enable, network.EnableParams{})
	execute(t, tab, log.Enable, cdp.Empty{})
	execute(t, tab, runtime.Enable, cdp.Empty{})
	execute(t, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !script})
	execute(t, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	require.NoError(t, chromedp.Do(tab, chromedp.EmulateViewport(width, 900), chromedp.Navigate(own)))
	execute(t, tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{}) // so that the test can ask
	wide := evaluate[int](t, tab, `document.documentElement.scrollWidth`)
	letters := evaluate[int](t, tab, `document.body.innerText.length`)
	ran := evaluate[int](t, tab, `document.querySelectorAll("script").length + (window.evil ? 100 : 0)`)
	low := evaluate[[]string](t, tab, contrast)
	picture := evaluate[struct{ Width, Height, Shapes float64 }](t, tab, drawn)
	evaluate[bool](t, tab, `document.querySelectorAll("details.beside:not([open])").forEach(d => { d.open = true; d.dataset.shut = "yes"; }), true`)
	numbers := evaluate[struct {
		Drawn, Listed, Proven []string
		EmptyLanes            int
	}](t, tab, stepNumbers)
	touching := evaluate[[]string](t, tab, touchingNames)
	evaluate[bool](t, tab, `document.querySelectorAll("details[data-shut]").forEach(d => { d.open = false; }), true`)
	require.NoError(t, chromedp.Do(tab, chromedp.KeyEvent("\t")))
	focused := evaluate[bool](t, tab, `document.activeElement !== document.body`)
	execute(t, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	printed := evaluate[struct{ Width, Height, Shapes float64 }](t, tab, drawn)
	tools := evaluate[float64](t, tab, `(n => n ? n.getBoundingClientRect().height : 0)(document.querySelector(".tools"))`)
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Zero(t, tools, "buttons are not printed")
	require.Equal(t, picture.Shapes > 0, printed.Shapes > 0, "the picture is printed")
	require.Empty(t, w.problems, "the console stays silent")
	require.Empty(t, w.requests, "no request leaves")
	require.Equal(t, 1, ran, "one script, the page's own")
	require.Positive(t, letters)
	require.LessOrEqual(t, wide, int(width), "nothing sticks out to the side")
	require.Empty(t, low, "contrast")
	require.True(t, focused, "the first tab stop is there")
	require.Empty(t, touching, "no name in the picture touches another one, a knot or the band")
	require.Equal(t, numbers.Listed, numbers.Drawn, "the list beside the picture has its numbers")
	require.Equal(t, numbers.Proven, numbers.Drawn, "and so has the finding")
	require.Zero(t, numbers.EmptyLanes)
	if inc.Timeline != nil && !inc.Window.IsZero() {
		share := 0.9 // of the screen
		if width > 400 {
			share = 0.55 // beside the names of the lanes and the list
		}
		require.Greater(t, picture.Width, float64(width)*share)
		require.Positive(t, picture.Height)
		require.Positive(t, picture.Shapes)
	}
}

// stepNumbers are the numbers of the chain in the picture, in the list beside it and in its
// finding, and how many lanes have nothing in them.
const stepNumbers = `(() => {
  const drawn = [...document.querySelectorAll("#picture .number")].map(n => n.textContent);
  const listed = [...document.querySelectorAll("ol.chain .no")].map(n => n.textContent);
  const proven = [...document.querySelectorAll("ol.steps > li[data-step]")].map(n => String(n.value));
  const rows = [...document.querySelectorAll("svg.area .step circle, svg.area .label")].map(n => n.getBoundingClientRect()).filter(r => r.height > 0);
  const lanes = [...document.querySelectorAll("svg.area rect.lane")].map(n => n.getBoundingClientRect()).filter(r => r.height > 0);
  const empty = lanes.filter(l => !rows.some(r => r.top >= l.top - 1 && r.bottom <= l.bottom + 1));
  return {Drawn: drawn, Listed: listed, Proven: proven, EmptyLanes: empty.length};
})()`

// touchingNames finds the texts of the picture that touch each other, a knot or the band, or that
// stick out of it.
const touchingNames = `(() => {
  const out = [];
  for (const area of document.querySelectorAll("svg.area")) {
    const box = area.getBoundingClientRect();
    const seen = selector => [...area.querySelectorAll(selector)].map(n => ({what: n.getAttribute("class") + " " + n.textContent, r: n.getBoundingClientRect()})).filter(n => n.r.width + n.r.height > 0);
    const texts = seen("text.label, text.inside, .axis text"), others = seen("circle.knot, line.tie");
    const touch = (a, b) => a.r.left < b.r.right - 1 && b.r.left < a.r.right - 1 && a.r.top < b.r.bottom - 1 && b.r.top < a.r.bottom - 1;
    texts.forEach((a, i) => {
      if (a.r.left < box.left - 1 || a.r.right > box.right + 1 || a.r.bottom > box.bottom + 1) { out.push("outside: " + a.what); }
      texts.slice(i + 1).concat(others).filter(b => touch(a, b)).forEach(b => out.push(a.what + " / " + b.what));
    });
  }
  return out;
})()`

// dom is the page as text: what can be read, in its order, and of the picture what stands in which
// lane.
const dom = `(() => {
  const out = [];
  const walk = (n, depth) => {
    if (n.nodeType === 3) { const t = n.textContent.replace(/\s+/g, " ").trim(); if (t) { out.push("  ".repeat(depth) + t); } return; }
    if (n.nodeType !== 1 || ["SCRIPT", "STYLE", "defs"].includes(n.tagName)) { return; }
    if (n.tagName === "DETAILS" && !n.classList.contains("context")) { n = n.querySelector("summary"); } // shut until somebody opens it
    const tag = n.tagName.toLowerCase(), kept = ["header", "section", "h1", "h2", "h3", "li", "summary", "svg", "g", "rect", "circle", "table"].includes(tag);
    if (["rect", "line"].includes(tag)) { const t = n.querySelector("title"); if (t) { out.push("  ".repeat(depth) + tag + "." + n.getAttribute("class").replace(/ t$/, "") + " " + t.textContent.split("\n")[0]); } return; }
    if (kept) { out.push("  ".repeat(depth) + "<" + tag + ">"); }
    n.childNodes.forEach(c => walk(c, depth + (kept ? 1 : 0)));
  };
  walk(document.body, 0);
  return out.join("\n") + "\n";
})()`

// Every real incident's page, as text: what a reader finds in it is looked at once, and compared
// from then on.
func TestBrowserDOM(t *testing.T) {
	ctx := startBrowser(t)
	for name, inc := range loadPages(t) {
		var out bytes.Buffer
		require.NoError(t, report.HTML(&out, inc, report.Options{Version: "v0"}))
		file := filepath.Join(t.TempDir(), "report.html")
		require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
		// Without script: names are cut by the widths of a font otherwise.
		execute(t, ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+file)))
		execute(t, ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{})
		golden(t, "dom/"+name+".golden", []byte(evaluate[string](t, ctx, dom)))
	}
}

// The picture of the README is what the page of its incident looks like. Pixels differ between
// machines, so that only -update writes it.
func TestBrowserScreenshot(t *testing.T) {
	ctx := startBrowser(t)
	var out bytes.Buffer
	require.NoError(t, report.HTML(&out, loadPages(t)["lab-umount2"], report.Options{Version: "v0"}))
	file := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1000, 800), chromedp.Navigate("file://"+file)))
	shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	require.Greater(t, len(shot), 10_000)
	const picture = "../../docs/report.png"
	if *update {
		require.NoError(t, os.WriteFile(picture, shot, 0o644))
	}
	require.FileExists(t, picture)
}

// openPage opens the page of an incident.
func openPage(t *testing.T, ctx context.Context, inc *incident.Incident) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, report.HTML(&out, inc, report.Options{}))
	file := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+file)))
}

// The zoom keeps what it shows inside the picture, and a link of the picture opens the event it
// leads to.
func TestBrowserScript(t *testing.T) {
	ctx := startBrowser(t)
	openPage(t, ctx, told().Incident)
	width := `document.querySelector("#picture .step rect.bar").getAttribute("width")`
	before := evaluate[string](t, ctx, width)
	press := func(id string) { evaluate[bool](t, ctx, `document.getElementById("`+id+`").click(), true`) }
	press("in")
	require.NotEqual(t, before, evaluate[string](t, ctx, width))
	press("right")
	press("left")
	press("out")
	press("whole")
	require.Equal(t, before[:4], evaluate[string](t, ctx, width)[:4])
	evaluate[bool](t, ctx, `document.querySelector("#beside a[href^='#e']").dispatchEvent(new MouseEvent("click", {bubbles: true}))`)
	require.Eventually(t, func() bool { return evaluate[bool](t, ctx, `document.getElementById("events").open`) }, 5*time.Second, 50*time.Millisecond)
}

// send dispatches an event of a pointer to the first node that a selector finds.
func send(t *testing.T, ctx context.Context, selector, kind, pointer string) {
	t.Helper()
	evaluate[bool](t, ctx, `document.querySelector("`+selector+`").dispatchEvent(new PointerEvent("`+kind+`", {bubbles: "`+kind+`" === "click", cancelable: true, pointerType: "`+pointer+`"})), true`)
}

// Whoever points at a step sees its time, its ids and its line, and finds the same step in the list
// and in the finding; a tap shows, a second one follows.
func TestBrowserDetails(t *testing.T) {
	ctx := startBrowser(t)
	inc := told().Incident
	openPage(t, ctx, inc)
	tip := func() string {
		return evaluate[string](t, ctx, `(n => n.hidden ? "" : n.textContent)(document.getElementById("tip"))`)
	}
	lit := func() int { return evaluate[int](t, ctx, `document.querySelectorAll(".lit").length`) }
	const step, list = "#picture g.step[data-step='2']", "ol.chain li[data-step='2']"
	require.Empty(t, tip())
	send(t, ctx, step+" a", "pointerenter", "mouse")
	send(t, ctx, step, "pointerenter", "mouse")
	shown := tip()
	second := inc.Result.Findings[0].Chain[1]
	require.Contains(t, shown, second.Text)
	require.Contains(t, shown, "18:25:36")
	require.Contains(t, shown, "container "+container)
	require.Contains(t, shown, second.Evidence[0].Pos.String())
	require.Contains(t, shown, second.Evidence[0].Text)
	require.Equal(t, 3, lit(), "in the picture, in the list, in the finding")
	send(t, ctx, step+" a", "pointerleave", "mouse")
	send(t, ctx, step, "pointerleave", "mouse")
	require.Empty(t, tip())
	require.Zero(t, lit())
	send(t, ctx, list, "pointerenter", "mouse")
	require.Equal(t, 3, lit())

	send(t, ctx, step+" a", "click", "touch")
	require.Contains(t, tip(), second.Text)
	require.Empty(t, evaluate[string](t, ctx, `location.hash`), "the first tap only shows")
	send(t, ctx, step+" a", "click", "touch")
	require.Eventually(t, func() bool { return evaluate[string](t, ctx, `location.hash`) == "#f1-2" }, 5*time.Second, 50*time.Millisecond)
	require.Empty(t, tip())
}

// The search dims what does not hold the words, and counts what does.
func TestBrowserSearch(t *testing.T) {
	ctx := startBrowser(t)
	openPage(t, ctx, told().Incident)
	search := func(words string) string {
		evaluate[bool](t, ctx, `(n => { n.value = "`+words+`"; return n.dispatchEvent(new Event("input")); })(document.getElementById("search"))`)
		return evaluate[string](t, ctx, `document.getElementById("found").textContent`)
	}
	dimmed := `document.querySelectorAll("svg.area a.dim").length`
	require.Equal(t, "1 found", search("umount2 shim.strace"))
	require.Positive(t, evaluate[int](t, ctx, dimmed))
	require.Equal(t, "0 found", search("no such word"))
	require.Empty(t, search(""))
	require.Zero(t, evaluate[int](t, ctx, dimmed))
}

// Commands come with a button that copies them as a shell takes them.
func TestBrowserCopy(t *testing.T) {
	ctx := startBrowser(t)
	openPage(t, ctx, stallWithoutCause())
	require.Positive(t, evaluate[int](t, ctx, `document.querySelectorAll("button.copy").length`))
	commands := evaluate[[]string](t, ctx, `[...document.querySelectorAll(".command")].map(n => n.textContent.trim())`)
	require.NotEmpty(t, commands)
	for _, c := range commands {
		require.Equal(t, dumpContainerd, c)
	}
	evaluate[bool](t, ctx, `document.querySelector("button.copy").click(), true`)
	require.Eventually(t, func() bool {
		word := evaluate[string](t, ctx, `document.querySelector("button.copy").textContent`)
		return word == "copied" || word == "selected"
	}, 5*time.Second, 50*time.Millisecond)
}
