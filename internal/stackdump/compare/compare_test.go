// Package compare measures package stackdump against DataDog/gostackparse
// v0.7.0 on the same dump:
//
//	cd internal/stackdump/compare && go test -bench . -benchmem
package compare

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/DataDog/gostackparse"

	"github.com/plegdiag/plegdiag/internal/stackdump"
)

// dump is 50 MB with the stacks of a real containerd, in the form that both
// parsers read: no abort headers, no elided frames, no label.
func dump(tb testing.TB) (text []byte, goroutines int) {
	f, err := os.Open("../testdata/containerd-1.6.20-umount2.log.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	one, err := io.ReadAll(zip)
	if err != nil {
		tb.Fatal(err)
	}
	blocks := strings.Split(strings.TrimSpace(string(one)), "\n\n")
	var b bytes.Buffer
	for b.Len() < 50<<20 {
		for _, block := range blocks {
			goroutines++
			_, rest, _ := strings.Cut(strings.TrimPrefix(block, "goroutine "), " ")
			fmt.Fprintf(&b, "goroutine %d %s\n\n", goroutines, rest)
		}
	}
	return b.Bytes(), goroutines
}

func BenchmarkParse(b *testing.B) {
	text, want := dump(b)
	b.Run("parser=gostackparse", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			all, errs := gostackparse.Parse(bytes.NewReader(text))
			if len(all) != want || len(errs) > 0 {
				b.Fatalf("%d of %d goroutines, %v", len(all), want, errs)
			}
		}
	})
	b.Run("parser=stackdump", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			// The text is copied as it is where a file is read.
			d := stackdump.Parse(stackdump.Source{File: "f", Line: 1, Text: string(text)})
			if len(d.Goroutines) != want || d.Lost > 0 || d.Skipped > 0 {
				b.Fatalf("%d of %d goroutines", len(d.Goroutines), want)
			}
		}
	})
}
