package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

// A page never grows beyond what mail takes, and says what it leaves out.
func TestPageIsBounded(t *testing.T) {
	wide := strings.Repeat(`<"&'`, 4000)
	marks := "e" + strings.Repeat("\u0301", 8000)
	for name, grow := range map[string]func(*incident.Incident){
		"stalls": func(inc *incident.Incident) {
			stall := inc.Timeline.Stalls[0]
			inc.Timeline.Stalls = nil
			for i := range 4000 {
				s := stall
				s.Start, s.End = s.Start.Add(time.Duration(i)*time.Hour), s.End.Add(time.Duration(i)*time.Hour)
				inc.Timeline.Stalls = append(inc.Timeline.Stalls, s)
			}
			inc.Window.End = inc.Timeline.Stalls[3999].End
		},
		"findings": func(inc *incident.Incident) {
			f := inc.Result.Findings[0]
			for range 5000 {
				inc.Result.Findings = append(inc.Result.Findings, f)
			}
		},
		"steps": func(inc *incident.Incident) {
			f := &inc.Result.Findings[0]
			for range 50_000 {
				f.Chain = append(f.Chain, f.Chain[0])
			}
		},
		"events with wide texts": func(inc *incident.Incident) {
			for i := range 3000 {
				inc.Timeline.Events = append(inc.Timeline.Events, event.Event{
					Kind: "cri.call", Component: wide, Text: marks, Basis: wide, Start: event.At(inc.Window.Start.Add(time.Duration(i) * time.Second)),
					Evidence: []event.Quote{quote(wide, i, marks)},
				})
			}
		},
		"everything wide": func(inc *incident.Incident) {
			for i := range 2000 {
				q := []event.Quote{quote(wide, i, wide), quote(marks, i, marks)}
				inc.Result.RuledOut = append(inc.Result.RuledOut, rules.Dismissed{Rule: wide, Why: wide, Evidence: q})
				inc.Result.Harmless = append(inc.Result.Harmless, story.Harmless{Name: wide, Why: marks, Evidence: q})
				inc.Timeline.Facts[fmt.Sprint(wide, i)] = timeline.Fact{Value: wide, Evidence: q}
				inc.Timeline.Clocks = append(inc.Timeline.Clocks, timeline.Clock{File: wide, Basis: fmt.Sprint(i, wide)})
				inc.Files = append(inc.Files, incident.File{Path: fmt.Sprint(i, wide), Err: wide, Note: marks, FirstSkip: wide})
				inc.Result.Findings[0].Notes = append(inc.Result.Findings[0].Notes, wide)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inc := proven()
			grow(inc)
			var out bytes.Buffer
			require.NoError(t, report.HTML(&out, inc, report.Options{Verbose: true}))
			require.LessOrEqual(t, out.Len(), 5<<20)
			require.Contains(t, out.String(), "left out")
			require.Contains(t, out.String(), "</html>")
			require.LessOrEqual(t, strings.Count(out.String(), `class="axis"`), 9)
		})
	}
}

// Goroutines are counted by what they wait for, in typed fields: two sentences about one lock are
// one group, and one sentence about two locks is two.
func TestGoroutinesGroupByFields(t *testing.T) {
	inc := proven()
	wait := func(kind event.Kind, lock, text string, fields ...event.Field) {
		inc.Timeline.Events = append(inc.Timeline.Events, event.Event{
			Kind: kind, Component: "containerd", Text: text, IDs: event.IDs{Lock: lock}, Fields: fields,
			Evidence: []event.Quote{quote("containerd.43.stacks.log", 2109, "goroutine 492 [select, 1 minutes]:")},
		})
	}
	wait(event.KindLockWait, "0xc000130f80", "waits for the lock, to read")
	wait(event.KindLockWait, "0xc000130f80", "waits for the lock, to write")
	wait(event.KindLockWait, "0xc000999000", "waits for the lock, to read")
	wait(event.KindGoroutine, "", "waiting for the shim", event.Field{Key: event.FieldDoing, Value: event.String("shim")})
	var out bytes.Buffer
	require.NoError(t, report.HTML(&out, inc, report.Options{}))
	page := out.String()
	require.Contains(t, page, "Goroutines that wait (3)")
	require.Contains(t, page, `<tr><td class="n">2</td><td>containerd</td><td>waits for the lock, to read</td>`)
	require.Contains(t, page, `<tr><td class="n">1</td><td>containerd</td><td>waits for the lock, to read</td>`)
	require.NotContains(t, page, "to write")
}
