package messages

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// A line becomes an event when somebody asks for its text and its writer, with what it says of
// itself.
func TestLines(t *testing.T) {
	l := NewLines([]event.LineWatch{{Component: "acme-vold", Literal: "backend lost"}, {Literal: "no route to host"}})
	require.Equal(t, []string{"backend lost", "no route to host"}, l.Literals())
	const id = "40585f7349a6b41b84d0fef1dbd3c5d2e2f3e0bd4c3ed1b7c6d6a2f4f6a1c0de"
	r := event.Record{
		Unit: "acme-vold", Text: "backend lost", Level: event.Error, PID: 7,
		Raw:    `level=error msg="backend lost" volume=v1 level=5 error="of ` + id + `" pod=team/web`,
		Fields: []event.Pair{{Key: "volume", Value: "v1"}, {Key: "level", Value: "5"}, {Key: "error", Value: "of " + id}, {Key: "pod", Value: "team/web"}},
	}
	e, ok := l.EventOf(&r, "")
	require.True(t, ok)
	require.Equal(t, event.KindLogLine, e.Kind)
	require.Equal(t, "acme-vold.log", e.Source)
	require.Equal(t, r.Raw, e.Evidence[0].Text)
	for field, want := range map[event.Key]string{
		"component": "acme-vold", "text": "backend lost", "volume": "v1", "error": "of " + id, "level": "error", "pid": "7",
		"container": id, "pod": "team/web", "unit": "acme-vold",
	} {
		v, ok := e.Get(field)
		require.True(t, ok, field)
		require.Equal(t, want, v.Text(), field)
	}

	e, ok = l.EventOf(&r, "storage")
	require.True(t, ok, "by its identifier")
	require.Equal(t, "acme-vold", e.Component)

	r.Unit = "sshd"
	_, ok = l.EventOf(&r, "")
	require.False(t, ok, "another writer")
	r.Raw = "connect: no route to host"
	e, ok = l.EventOf(&r, "kubelet")
	require.True(t, ok, "anybody's")
	require.Equal(t, "kubelet", e.Component)
	r.Raw = "nothing of interest"
	_, ok = l.EventOf(&r, "")
	require.False(t, ok)
	_, ok = new(Lines).EventOf(&r, "")
	require.False(t, ok)
}

// Every name that a table gives a source is one that rules may ask for.
func TestSources(t *testing.T) {
	known := event.Sources()
	require.True(t, slices.IsSorted(known))
	for _, table := range tables {
		if table.Component != "" {
			require.Contains(t, known, table.Component+".log")
		}
	}
}
