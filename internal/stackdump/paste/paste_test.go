package paste

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCleanLine(t *testing.T) {
	for in, want := range map[string]string{
		"> > - main.f(0x1)":                  "main.f(0x1)",
		"**goroutine 1 [select]:**":          "goroutine 1 [select]:",
		"`main.f()`":                         "main.f()",
		"```go":                              "",
		`sync.(\*Mutex).lock\_slow(0x1)`:     "sync.(*Mutex).lock_slow(0x1)",
		`C:\src\x.go:7`:                      `C:\src\x.go:7`,
		"main.f.func1-&amp;gt;x &#40;1&#41;": "main.f.func1->x (1)",
		"main.f()<br />":                     "main.f()",
		"[github.com/x](http://github.com/x).f(0x1) [a](https://b)": "github.com/x.f(0x1) a",
		">":  "",
		"":   "",
		"]]": "]]",
	} {
		require.Equal(t, want, CleanLine(in), in)
	}
}
