package show

import (
	"encoding/base64"
	"fmt"
	"slices"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
)

// ASCII writes the characters that a terminal would obey or hide, and that
// encoding/json leaves as they are (DEL, C1, bidi controls), as \uXXXX. They
// stand in strings only, so that the value stays the same.
func ASCII(doc []byte) []byte {
	if !slices.ContainsFunc(doc, func(c byte) bool { return c >= 0x7f }) {
		return doc
	}
	out := make([]byte, 0, len(doc))
	for i := 0; i < len(doc); {
		r, n := utf8.DecodeRune(doc[i:])
		if r < 0x7f || unicode.IsPrint(r) {
			out = append(out, doc[i:i+n]...)
		} else {
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
		}
		i += n
	}
	return out
}

// Tool is what made a document.
type Tool struct {
	Version string `json:"version"` // of plegdiag
}

// Stamp is a time as RFC 3339 in UTC, with nanoseconds as far as known; empty when unknown.
type Stamp time.Time

// MarshalText implements [encoding.TextMarshaler].
func (s Stamp) MarshalText() ([]byte, error) {
	t := time.Time(s)
	if t.IsZero() {
		return nil, nil
	}
	return t.UTC().AppendFormat(nil, time.RFC3339Nano), nil
}

// Evidence is a quoted line.
type Evidence struct {
	Path string `json:"path"` // of the file, in the inputs
	Line int    `json:"line"` // from 1; 0 is the file as a whole
	Text string `json:"text"` // the line as written; of one above 16 KiB its first 16 KiB
	// The bytes of the line in base64 if it is not UTF-8: text then has U+FFFD in the place of each
	// bad byte.
	Raw string `json:"raw,omitempty"`
}

// EvidenceRows makes the rows of quotes.
func EvidenceRows(quotes []event.Quote) []Evidence { return Rows(quotes, NewEvidence) }

// NewEvidence makes the row of a quote.
func NewEvidence(q *event.Quote) Evidence {
	e := Evidence{Path: q.Pos.File, Line: q.Pos.Line, Text: q.Text}
	if !utf8.ValidString(q.Text) {
		e.Raw = base64.StdEncoding.EncodeToString([]byte(q.Text))
	}
	return e
}

// Rows turns a list into its JSON rows; an empty list is [], not null.
func Rows[T, U any](in []T, row func(*T) U) []U {
	out := make([]U, len(in))
	for i := range in {
		out[i] = row(&in[i])
	}
	return out
}

// NonNil is the same list, [] in the place of null.
func NonNil(in []string) []string { return append([]string{}, in...) }
