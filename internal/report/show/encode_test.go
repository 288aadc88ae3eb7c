package show_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/report/show"
)

type row struct {
	Name string         `json:"name"`
	At   show.Stamp     `json:"at"`
	Sums map[string]int `json:"sums,omitempty"`
}

// Rows is embedded, as the account of the inputs is.
type Rows struct {
	Rows  []row    `json:"rows"`
	Other []*row   `json:"other,omitempty"`
	Words []string `json:"words"`
}

type whole struct {
	Schema string  `json:"schema"`
	One    row     `json:"one"`
	Part   *row    `json:"part,omitempty"`
	Left   []int   `json:"left,omitempty"`
	Share  float64 `json:"share"`
	Rows
	Last any `json:"last"`
}

// TestEncodePieces: a document that is written in pieces has the bytes that encoding/json gives it.
func TestEncodePieces(t *testing.T) {
	at := show.Stamp(time.Date(2026, 11, 8, 9, 30, 11, 885e6, time.UTC))
	rows := []row{{"a<b>&c", at, map[string]int{"y": 2, "x": 1}}, {}, {Name: "\u202e\x7f é"}}
	for name, doc := range map[string]any{
		"full":   whole{"v1", rows[0], &rows[1], []int{1}, 0.5, Rows{rows, []*row{&rows[0]}, []string{"w"}}, rows},
		"empty":  whole{Rows: Rows{Rows: []row{}, Words: []string{}}},
		"nil":    whole{},
		"map":    map[string]any{"b": rows, "a": nil},
		"list":   rows,
		"nought": struct{}{},
		"untold": struct{ Name string }{"x"},
	} {
		var want, got bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		require.NoError(t, enc.Encode(doc), name)
		require.NoError(t, show.EncodeJSON(&got, doc), name)
		require.Equal(t, string(show.ASCII(want.Bytes())), got.String(), name)
	}
	require.Error(t, show.EncodeJSON(&bytes.Buffer{}, whole{Last: func() {}}))
	require.Contains(t, string(show.ASCII([]byte(strings.Repeat("a", 9)+"\u202e"))), `\u202e`)
}
