package logic

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExpressions(t *testing.T) {
	bits := map[string]uint64{"a": 1, "b": 2, "c-d": 4}
	bit := func(id string) uint64 { return bits[id] }
	for text, truths := range map[string][]uint64{
		"a":                  {1, 3, 5, 7},
		"a and b":            {3, 7},
		"a or b and c-d":     {1, 3, 5, 6, 7},
		"(a or b) and c-d":   {5, 6, 7},
		"((a))":              {1, 3, 5, 7},
		"a and(b or c-d)":    {3, 5, 7},
		"a and b and c-d":    {7},
		" b  or\n c-d or a ": {1, 2, 3, 4, 5, 6, 7},
	} {
		e, err := Parse(text, bit)
		require.NoError(t, err, text)
		var got []uint64
		for set := range uint64(8) {
			if e.Holds(set) {
				got = append(got, set)
			}
		}
		require.Equal(t, truths, got, text)
	}
	for text, want := range map[string]string{
		"":      "ends where an id is expected",
		"a and": "ends where an id is expected",
		"a b":   `expected and, or or the end, not "b"`,
		"(a":    "missing )",
		"a)":    "expected and, or or the end",
		"or":    `expected an id, not "or"`,
	} {
		_, err := Parse(text, bit)
		require.ErrorContains(t, err, want, text)
	}
}
