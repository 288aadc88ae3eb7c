package event

import "strings"

// Keeper gives events memory of their own, one after the other. The texts of an event are cut from
// its line or made for it: each is an object, between others that live shorter, and the message of
// the line is a second copy where its escapes were undone. The keeper puts them side by side, and
// what stands in the line is not there twice. Its zero value is ready; it must not be copied.
type Keeper struct {
	text   strings.Builder
	fields []Field
	quotes []Quote
	line   string // the latest quote: a line may tell of several events
	size   int    // bytes of all texts
}

// Bounds of what is allocated at once: for texts in bytes, for fields and quotes in their number.
// As much is taken as there is already, so that a file with one event takes no more than that.
const (
	maxKeptText = 64 << 10
	maxKeptList = 256
	leastShared = 8 // bytes of a text that is looked for in the line
)

// Keep moves what the event holds into the memory of the keeper. Host, component and source are
// left where they are: all events of a file share them.
func (k *Keeper) Keep(e *Event) {
	k.quotes = grow(k.quotes, len(e.Evidence))
	first := len(k.quotes)
	for _, q := range e.Evidence {
		if q.Text != k.line {
			k.line = k.copyText(q.Text)
		}
		q.Text = k.line
		k.quotes = append(k.quotes, q)
	}
	e.Evidence = k.quotes[first:len(k.quotes):len(k.quotes)]
	line := ""
	if len(e.Evidence) > 0 {
		line = e.Evidence[0].Text
	}
	for _, s := range []*string{
		&e.IDs.Container, &e.IDs.Sandbox, &e.IDs.Pod, &e.IDs.PodUID, &e.IDs.Lock, &e.Text, &e.Span.Key,
	} {
		*s = k.share(*s, line)
	}
	k.fields = grow(k.fields, len(e.Fields))
	first = len(k.fields)
	for _, f := range e.Fields {
		f.Value.s = k.share(f.Value.s, line)
		k.fields = append(k.fields, f)
	}
	e.Fields = k.fields[first:len(k.fields):len(k.fields)]
}

// share is the text where it stands in the line, or else a copy.
func (k *Keeper) share(s, line string) string {
	if len(s) >= leastShared {
		if i := strings.Index(line, s); i >= 0 {
			return line[i : i+len(s)]
		}
	}
	return k.copyText(s)
}

func (k *Keeper) copyText(s string) string {
	if s == "" {
		return ""
	}
	if k.text.Cap()-k.text.Len() < len(s) {
		k.text = strings.Builder{}
		k.text.Grow(max(len(s), min(k.size, maxKeptText)))
	}
	at := k.text.Len()
	k.text.WriteString(s)
	k.size += len(s)
	return k.text.String()[at:]
}

// grow makes room for n more behind a list; where there is none, in a new one.
func grow[T any](list []T, n int) []T {
	if cap(list)-len(list) >= n {
		return list
	}
	return make([]T, 0, max(n, min(2*cap(list), maxKeptList)))
}
