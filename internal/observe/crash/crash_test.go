package crash

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/plegdiag/plegdiag/internal/event"
)

func TestRead(t *testing.T) {
	for line, want := range map[string]string{
		"panic: runtime error: index out of range":                                             "containerd crashes: runtime error: index out of range",
		"runtime: program exceeds 10000-thread limit":                                          "containerd crashes: exceeds 10000-thread limit",
		"runtime: failed to create new OS thread (have 41 already; errno=11)":                  "containerd crashes: failed to create new OS thread (have 41 already; errno=11)",
		"panic: page 4 already freed":                                                          "containerd crashes: its database (bbolt) is damaged: page 4 already freed",
		"panic: freepages: failed to get all reachable pages (key[0]=(hex)35 on leaf page(2))": "containerd crashes: its database (bbolt) is damaged: freepages: failed to get all reachable pages",
		"do not panic: all is well":                                                            "",
	} {
		e, ok := Read("containerd", line)
		assert.Equal(t, want != "", ok, line)
		assert.Equal(t, want, e.Text)
	}
	e := Event("containerd", "ends", "invalid database")
	assert.Equal(t, "true", e.FieldText(event.FieldDamaged))
}
