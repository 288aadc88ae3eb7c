package messages

import (
	"strings"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/messages/table"
	"github.com/plegdiag/plegdiag/internal/observe/noise"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// noiseTable is what frightens readers and means nothing for relist. It is read for every known
// writer; of each sort one event is kept per file, which counts the others. What the kernel alone
// says it also says in lines that do not name it.
var (
	noiseTable  = table.Table{Rows: noiseRows("")}
	kernelNoise = table.Table{Component: "kernel", Rows: noiseRows("kernel")}
	// toolNoise is of programs that run in containers, whose lines name no writer.
	toolNoise = table.Table{Component: "node", Relays: []string{"", table.HostProgram}, Unnamed: "node", Rows: noiseRows("node")}
)

func noiseRows(component string) []table.Row {
	var rows []table.Row
	for _, n := range noise.Sorts {
		if n.Component != component {
			continue
		}
		rows = append(rows, table.Row{n.Literals, func(r *event.Record) (event.Event, bool) {
			for _, part := range n.Also {
				if !strings.Contains(r.Raw, part) {
					return event.Event{}, false
				}
			}
			return event.New(
				event.KindNoise, n.Name+": "+n.Why, event.FieldName.Text(n.Name),
				event.FieldWhy.Text(n.Why), event.FieldCount.Int(1),
			), !scan.ContainsAny(r.Raw, n.But)
		}})
	}
	return rows
}
