package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pages hold at least one entry, never more bytes than they may, and all of them hold all entries.
func TestTakePage(t *testing.T) {
	var all []string
	for i := range 500 {
		all = append(all, strings.Repeat("x", i*20))
	}
	var got []string
	pages := 0
	for p := (Paging{Limit: 1000}); ; pages++ {
		items, page := takePage(all, p, 10)
		require.NotEmpty(t, items)
		require.LessOrEqual(t, len(items), maxPage)
		require.True(t, len(items) == 1 || sizeOf(items) <= pageBytes+len(items)+1)
		require.Equal(t, len(all), page.Total)
		got = append(got, items...)
		if page.Next == 0 {
			break
		}
		p.Offset = page.Next
	}
	require.Equal(t, all, got)
	require.Greater(t, pages, 100)
	for _, p := range []Paging{{Offset: 500}, {Offset: 1 << 60}} {
		items, page := takePage(all, p, 10)
		require.Equal(t, []string{}, items)
		require.Zero(t, page.Next)
	}
	items, page := takePage(all, Paging{Offset: -5, Limit: -1}, 10)
	require.Len(t, items, 10)
	require.Equal(t, 10, page.Next)
}

// Whatever a bundle holds, an answer fits: texts are cut, and the answer says so.
func TestFinish(t *testing.T) {
	quote := Quote{Path: "a.log", Line: 1, Text: strings.Repeat("<\"\x00", maxLine)}
	out := &Answer{Headline: Text(strings.Repeat("é", 100_000)), Warnings: strings.Repeat("w", 1<<20)}
	for range 200 {
		out.Findings = append(out.Findings, Brief{Rule: "rule", Evidence: []Quote{quote, quote}})
	}
	result, short, err := boundAnswer(out, "%s", strings.Repeat("t", 1<<20))
	require.NoError(t, err)
	require.LessOrEqual(t, sizeOf(short), MaxAnswer)
	require.True(t, short.Cut)
	require.NotEmpty(t, short.Findings)
	require.Equal(t, "a.log", string(short.Findings[0].Evidence[0].Path))
	require.Equal(t, 1, short.Findings[0].Evidence[0].Line)
	text, err := json.Marshal(result.Content[0])
	require.NoError(t, err)
	require.Less(t, len(text), MaxText+100)

	_, same, err := boundAnswer(&Answer{Headline: "short"}, "short")
	require.NoError(t, err)
	require.False(t, same.Cut)
}

// What a worker prints is cleaned when it is read, keys and values.
func TestCleaned(t *testing.T) {
	const hostile = `{"start":"\u001b]0;x","kind":"k","text":"a\u202eb\u200bc","path":"p\n","line":3,"ids":{"\u001b":"\u202e"},"fields":{"n":12.5,"t":true,"s":"\u0007"}}`
	var e Event
	require.NoError(t, unmarshalMarked([]byte(hostile), &e))
	text, err := json.Marshal(e)
	require.NoError(t, err)
	require.JSONEq(t, `{"start":"\\x1b]0;x","duration":0,"open":false,"component":"","kind":"k","path":"p\\n","line":3,"untrusted_text":"a<U+202E>b<U+200B>c",
		"untrusted_ids":{"\\x1b":"<U+202E>"},"untrusted_fields":{"n":"12.5","t":"true","s":"\\x07"}}`, string(text))
	var again Event
	require.NoError(t, json.Unmarshal(text, &again), "an answer that is shortened is read again")
	require.Equal(t, e, again)

	var c Command
	require.NoError(t, json.Unmarshal([]byte(`"one\n\u001b[2Jtwo"`), &c))
	require.EqualValues(t, "one\n\\x1b[2Jtwo", c)
	var f Fitting
	require.NoError(t, unmarshalMarked([]byte(`{"kind":"k","text":"t","fits":[{"rule":"r","part":"tell"}]}`), &f))
	require.EqualValues(t, "t", f.Text)
	require.EqualValues(t, "r", f.Fits[0].Rule)
}

// The cache has bounds of number and bytes, and drops what was not asked for longest.
func TestCache(t *testing.T) {
	var gone []string
	c := &cache{known: map[string]*entry{}, dropped: func(key string) { gone = append(gone, key) }}
	for i := range maxKept {
		c.keep(answer{key: string(rune('a' + i))})
	}
	_, ok := c.find("a")
	require.True(t, ok)
	c.keep(answer{key: "new"})
	require.Equal(t, []string{"b"}, gone)
	c.keep(answer{key: "large", out: make([]byte, maxKeptBytes+1)})
	require.Len(t, c.known, 1)
	_, ok = c.find("large")
	require.True(t, ok, "the last one is kept, however large")
	c.keep(answer{key: "next"})
	require.Equal(t, "large", gone[len(gone)-1])
	require.Zero(t, c.bytes)
}
