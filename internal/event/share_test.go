package event

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestShareTexts(t *testing.T) {
	line := `time="…" msg="StartContainer for \"40585f73\" of nginx-1"`
	e := New("k", "StartContainer", FieldName.Text("nginx-1-"), FieldMethod.Text("StartContainer"))
	e.IDs.Container = string([]byte("40585f73"))
	e.Evidence = []Quote{{Text: line}}
	before := e
	e.ShareTexts()
	require.Equal(t, before, e)
	within := func(s string) bool {
		at, from := uintptr(unsafe.Pointer(unsafe.StringData(s))), uintptr(unsafe.Pointer(unsafe.StringData(line)))
		return at >= from && at < from+uintptr(len(line))
	}
	require.True(t, within(e.IDs.Container))
	require.True(t, within(e.Text))
	require.False(t, within(e.Fields[0].Value.Text()), "not in the line")
}
