package event

import "strings"

// Compact is a copy of events that takes as little memory as it can, and holds on to no text that
// their strings were cut from: a goroutine dump has megabytes, and its events name some lines.
func Compact(events []Event) []Event {
	if len(events) == 0 {
		return nil
	}
	var texts textCopy
	fields, quotes := 0, 0
	for i := range events {
		e := &events[i]
		e.eachText(texts.add)
		fields, quotes = fields+len(e.Fields), quotes+len(e.Evidence)
	}
	texts.finish()
	all := make([]Event, len(events))
	copy(all, events)
	allFields, allQuotes := make([]Field, 0, fields), make([]Quote, 0, quotes)
	for i := range all {
		e := &all[i]
		allFields, allQuotes = append(allFields, e.Fields...), append(allQuotes, e.Evidence...)
		// Without room behind them, so that nobody appends to those of the next event.
		e.Fields = allFields[len(allFields)-len(e.Fields) : len(allFields) : len(allFields)]
		e.Evidence = allQuotes[len(allQuotes)-len(e.Evidence) : len(allQuotes) : len(allQuotes)]
		e.eachText(texts.replace)
	}
	return all
}

// eachText calls do with all strings of e that may be cut from an input.
func (e *Event) eachText(do func(s *string)) {
	do(&e.Host)
	do(&e.Component)
	do(&e.IDs.Container)
	do(&e.IDs.Sandbox)
	do(&e.IDs.Pod)
	do(&e.IDs.PodUID)
	do(&e.IDs.Lock)
	do(&e.Text)
	do(&e.Source)
	do(&e.Span.Key)
	for i := range e.Fields {
		do(&e.Fields[i].Value.s)
	}
	for i := range e.Evidence {
		do(&e.Evidence[i].Text)
	}
}

// textCopy copies strings into one text, each once.
type textCopy struct {
	at   map[string]int
	text strings.Builder
	copy string
}

func (t *textCopy) add(s *string) {
	if _, known := t.at[*s]; known || *s == "" {
		return
	}
	if t.at == nil {
		t.at = map[string]int{}
	}
	t.at[*s] = t.text.Len()
	t.text.WriteString(*s)
}

// finish ends the adding.
func (t *textCopy) finish() { t.copy = strings.Clone(t.text.String()) }

// replace puts the copy in the place of a string that was added.
func (t *textCopy) replace(s *string) {
	if *s != "" {
		at := t.at[*s]
		*s = t.copy[at : at+len(*s)]
	}
}
