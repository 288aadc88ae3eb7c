package traces_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
	"github.com/plegdiag/plegdiag/internal/parse/parsetest"
	"github.com/plegdiag/plegdiag/internal/parse/traces"
)

// BenchmarkStrace reads 32 MB of a real trace, again and again the same: many short lines, many
// calls on two.
func BenchmarkStrace(b *testing.B) {
	names := &traces.CallFilter{Least: map[string]time.Duration{"umount2": 0, "fsync": 0, "recvfrom": 0, "write": 0, "openat": 0, "close": 0, "": time.Second}}
	for _, file := range []string{"shim_delayed", "special-lines.o.f.tt.T"} {
		text := parsetest.Sample(b, "strace/"+file+".log.gz")
		n := max(1, 32<<20/len(text))
		for _, want := range []struct {
			name  string
			calls *traces.CallFilter
		}{{"nothing", &traces.CallFilter{}}, {"some", names}, {"everything", nil}} {
			b.Run(fmt.Sprintf("trace=%s/want=%s", file, want.name), func(b *testing.B) {
				b.SetBytes(int64(n * len(text)))
				b.ReportAllocs()
				for b.Loop() {
					in := traces.Input{Input: lines.Input{Path: "f", R: &parsetest.Repeated{Text: text, N: n, Err: io.EOF}}, Calls: want.calls}
					for _, err := range traces.Read(in) {
						// where the text starts over
						if _, skip := errors.AsType[*event.Skip](err); err != nil && !skip {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
