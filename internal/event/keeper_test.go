package event_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// What is kept is the same, shares nothing with what it was made of, holds in the line what stands
// in the line, and leaves nobody room in the fields and the evidence of another event.
func TestKeeper(t *testing.T) {
	text := strings.Clone(`time="…" msg="StartContainer for \"40585f73a1c2\" of nginx-1"`)
	made := func(n int) event.Event {
		e := event.New(event.KindCRICall, fmt.Sprint("StartContainer ", n), event.FieldMethod.Text("StartContainer"), event.FieldCount.Int(n))
		e.AddText(event.FieldName, text[len(text)-len(`nginx-1"`):len(text)-1])
		e.IDs.Container, e.Span.Key = strings.Clone("40585f73a1c2"), text[9:]
		e.Evidence = []event.Quote{{Pos: event.Pos{File: "f", Line: n}, Text: text}, {Pos: event.Pos{File: "g", Line: n}, Text: text[:7]}}
		return e
	}
	var keeper event.Keeper
	var kept []event.Event
	for n := range 1000 {
		e := made(n)
		keeper.Keep(&e)
		kept = append(kept, e)
	}
	for n := range kept {
		e := &kept[n]
		require.Equal(t, made(n), *e)
		line := e.Evidence[0].Text
		require.False(t, isWithin(line, text))
		require.True(t, isWithin(e.IDs.Container, line))
		require.True(t, isWithin(e.FieldText(event.FieldMethod), line))
		for _, s := range []string{e.Text, e.FieldText(event.FieldName), e.Evidence[1].Text} {
			require.False(t, isWithin(s, line) || isWithin(s, text))
		}
		e.AddFields(event.FieldCall.Text("x"))
		e.AddQuotes(e)
	}
	require.Equal(t, made(999).Fields, kept[999].Fields[:3])
	none := event.Event{}
	keeper.Keep(&none)
	require.Empty(t, none.Evidence)
}
