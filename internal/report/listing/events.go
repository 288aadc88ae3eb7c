package listing

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/report/document"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// EventsSchema names the JSON of the command rules events. Fields are added to it, never renamed.
const EventsSchema = "plegdiag.events/v1"

// EventsJSON writes declarations of kinds of events for programs. Lists are never null.
func EventsJSON(w io.Writer, kinds []event.KindInfo, o show.Options) error {
	return show.EncodeJSON(w, document.KindList{
		Schema: EventsSchema, Tool: show.Tool{Version: o.Version},
		Kinds: show.Rows(kinds, func(k *event.KindInfo) document.Kind {
			return document.Kind{
				Kind: string(k.Kind), About: k.About, IDs: show.Rows(k.IDs, func(id *event.Key) string { return string(*id) }),
				Fields: newFieldRows(k.Fields), Open: k.Open,
			}
		}),
		IDs: newFieldRows(event.IDFields()), Common: newFieldRows(event.CommonFields()),
	})
}

func newFieldRows(fields []event.FieldInfo) []document.Field {
	return show.Rows(fields, func(f *event.FieldInfo) document.Field {
		return document.Field{Name: string(f.Key), Type: f.Type.String(), Unit: f.Unit, Values: show.NonNil(f.Values), About: f.About}
	})
}

// EventTable writes a line for each kind of event: its name and what it is.
func EventTable(w io.Writer, kinds []event.KindInfo) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range kinds {
		fmt.Fprintf(out, "%s\t%s\n", kinds[i].Kind, kinds[i].About)
	}
	return out.Flush()
}

// EventKind writes one kind of event with the fields and ids that rules can match and bind.
func EventKind(w io.Writer, k *event.KindInfo) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%s: %s\n", k.Kind, k.About)
	var ids []event.FieldInfo
	for _, id := range k.IDs {
		ids = append(ids, *k.Field(id))
	}
	for _, part := range []struct {
		title  string
		fields []event.FieldInfo
	}{{"fields", k.Fields}, {"ids", ids}, {"fields of every event", event.CommonFields()}} {
		if len(part.fields) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s\n", part.title)
		for i := range part.fields {
			f := &part.fields[i]
			fmt.Fprintf(out, "  %s\t%s\t%s\n", f.Key, f.Type, f.Describe())
		}
		if part.title == "fields" && k.Open {
			fmt.Fprintf(out, "  ...\ttext\tevery other key=value of the line, by its key\n")
		}
	}
	return out.Flush()
}
