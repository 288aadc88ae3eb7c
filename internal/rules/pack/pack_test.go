package pack

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type inner struct {
	Name  string
	Count int
}

type short struct {
	Text  string
	More  []string
	alone bool
}

func (s *short) SetText(text string) { s.Text, s.alone = text, true }

func (s *short) TextAlone() (string, bool) { return s.Text, s.alone }

type outer struct {
	Inner   inner
	Next    *inner
	Lists   [][]inner
	Match   map[string]any
	Bind    map[string]string
	Half    float64
	Yes     bool
	Shorts  []short
	Missing []string
	Empty   []string
	Made    func() `yaml:"-"`
	hidden  string
}

func value() outer {
	return outer{
		Inner: inner{"näme", -3},
		Next:  &inner{"next", 1 << 40},
		Lists: [][]inner{nil, {}, {{"a", 1}, {"b", 2}}},
		Match: map[string]any{
			"text": "x", "yes": true, "n": int64(-7), "f": 0.5, "none": nil, "list": []any{"a", int64(1), nil, []any{}},
		},
		Bind:   map[string]string{"z": "1", "a": "2", "": ""},
		Half:   -0.5,
		Yes:    true,
		Shorts: []short{{Text: "alone", alone: true}, {Text: "with more", More: []string{"x"}}},
		Empty:  []string{},
	}
}

func TestWriteAndRead(t *testing.T) {
	wrote := value()
	packed, err := Write(&wrote)
	require.NoError(t, err)
	again, err := Write(&wrote)
	require.NoError(t, err)
	require.Equal(t, packed, again, "the order of a map is no part of it")
	var read outer
	require.NoError(t, Read(string(packed), &read))
	require.Equal(t, wrote, read)

	wrote.hidden = "not kept"
	packed, err = Write(&wrote)
	require.NoError(t, err)
	require.Equal(t, again, packed)
}

func TestNotWritten(t *testing.T) {
	_, err := Write(&struct{ C chan int }{})
	require.ErrorContains(t, err, "chan int")
	_, err = Write(&struct{ Any any }{int8(1)})
	require.ErrorContains(t, err, "int8")
}

// TestBroken: bytes that nobody wrote end in an error, whatever they claim to hold.
func TestBroken(t *testing.T) {
	wrote := value()
	packed, err := Write(&wrote)
	require.NoError(t, err)
	for n := range packed {
		require.Error(t, Read(string(packed[:n]), new(outer)), "cut at %d", n)
	}
	require.Error(t, Read(string(packed)+"x", new(outer)))
	rapid.Check(t, func(t *rapid.T) {
		broken := append([]byte(nil), packed...)
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			broken[rapid.IntRange(0, len(broken)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		_ = Read(string(broken), new(outer)) // what counts is that it ends
	})
}
