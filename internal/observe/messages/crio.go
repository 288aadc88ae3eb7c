package messages

import (
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/observe/scan"
)

// crioTable: CRI-O 1.14 to 1.35, whose lines are logrus text as containerd's.
var crioTable = table{
	component: "crio",
	rows: []row{
		// info Starting CRI-O, version: 1.26.1, git: abc(dirty) (≥ 1.24; before that, without the
		// version)
		{[]string{"Starting CRI-O"}, factFrom("crio.version", func(r *event.Record) string {
			return scan.Version(scan.After(r.Message(), "version: "))
		})},
		{crashMarks, crashEvent},
	},
}
