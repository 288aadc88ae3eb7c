package event_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// What is compact is the same, shares nothing with what it was made of, and leaves nobody room in
// the fields of another event.
func TestCompact(t *testing.T) {
	text := strings.Repeat("goroutine 7 [select]: main.f(0xc000) ", 2)
	half := len(text) / 2
	cut := func(from, to int) string { return text[half+from : half+to] }
	made := func() []event.Event {
		one := event.New(event.KindGoroutine, cut(0, 11), event.FieldState.Text(cut(13, 19)), event.FieldCount.Int(3))
		one.IDs.Goroutine, one.Component = 7, "containerd"
		one.Evidence = []event.Quote{{Pos: event.Pos{File: "f", Line: 2}, Text: cut(22, 36)}, {Pos: event.Pos{File: "f", Line: 1}, Text: cut(0, 21)}}
		other := event.New(event.KindLockWait, "", event.FieldState.Text(cut(13, 19)))
		other.IDs.Lock = cut(29, 35)
		other.Evidence = one.Evidence[:1:1]
		return []event.Event{one, other}
	}
	all := event.Compact(made())
	require.Equal(t, made(), all)
	for i := range all {
		for _, q := range all[i].Evidence {
			require.False(t, isWithin(q.Text, text))
		}
		require.False(t, isWithin(all[i].FieldText(event.FieldState), text))
		all[i].AddFields(event.FieldCall.Text("x"))
	}
	require.Equal(t, "select", all[1].FieldText(event.FieldState))
	require.Empty(t, event.Compact(nil))
}

func isWithin(s, text string) bool {
	at, from := uintptr(unsafe.Pointer(unsafe.StringData(s))), uintptr(unsafe.Pointer(unsafe.StringData(text)))
	return at >= from && at < from+uintptr(len(text))
}
