package funcname_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/stackdump/funcname"
)

func TestParse(t *testing.T) {
	for _, want := range []funcname.Name{
		{
			Printed: "k8s.io/x/vendor/github.com/godbus/dbus/v5.(*Conn).Close",
			Plain:   "github.com/godbus/dbus.(*Conn).Close", Base: "Close",
			Type: "k8s.io/x/vendor/github.com/godbus/dbus/v5.(*Conn)", Method: true,
		},
		{Printed: "a/p.(*T).M.func1", Plain: "a/p.(*T).M.func1", Base: "func1", Type: "a/p.(*T)"},
		{Printed: "a/p.(*T).M-fm", Plain: "a/p.(*T).M-fm", Base: "M-fm", Type: "a/p.(*T)"},
		{Printed: "main.main", Plain: "main.main", Base: "main"},
	} {
		got := *funcname.Parse(want.Printed)
		require.Equal(t, got.Hash, funcname.Parse(want.Printed).Hash)
		got.Hash = 0
		require.Equal(t, want, got)
	}
	require.Equal(t, "p.(*T)", funcname.ShortType("example.com/a/p.(*T)"))
	require.Equal(t, "example.com/a/p", funcname.Package("example.com/a/p.(*T).M"))
}
