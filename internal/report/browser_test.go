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
	"github.com/plegdiag/plegdiag/internal/rules"
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
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx), "Chromium has to be installed for these tests")
	return ctx
}

// loadPages makes the incidents that pages are made of: some by hand, some from real bundles.
func loadPages(t *testing.T) map[string]*incident.Incident {
	t.Helper()
	all := map[string]*incident.Incident{"told": told().Incident, "stall": stallWithoutCause(), "hostile": hostileTimeline(), "empty": {}}
	catalog, err := rules.Builtin()
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
  const s = document.getElementById("picture");
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
	if inc.Timeline != nil && !inc.Window.IsZero() {
		require.Greater(t, picture.Width, float64(width)*0.8)
		require.Positive(t, picture.Height)
		require.Positive(t, picture.Shapes)
	}
}

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
		require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+file)))
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

// The zoom keeps what it shows inside the picture, and a link of the picture opens the event it
// leads to.
func TestBrowserScript(t *testing.T) {
	ctx := startBrowser(t)
	var out bytes.Buffer
	require.NoError(t, report.HTML(&out, told().Incident, report.Options{}))
	file := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("file://"+file)))
	width := `document.querySelector("#picture rect.bar.root").getAttribute("width")`
	before := evaluate[string](t, ctx, width)
	press := func(id string) { evaluate[bool](t, ctx, `document.getElementById("`+id+`").click(), true`) }
	press("in")
	require.NotEqual(t, before, evaluate[string](t, ctx, width))
	press("right")
	press("left")
	press("out")
	press("whole")
	require.Equal(t, before[:4], evaluate[string](t, ctx, width)[:4])
	evaluate[bool](t, ctx, `document.querySelector("#picture a[href^='#e']").dispatchEvent(new MouseEvent("click", {bubbles: true}))`)
	require.Eventually(t, func() bool { return evaluate[bool](t, ctx, `document.getElementById("events").open`) }, 5*time.Second, 50*time.Millisecond)
}
