package goroutines

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// Of many goroutines that wait for the same the first ones are told, and those that wait longest;
// the others are counted. What waits for something else is told whatever others do.
func TestFoldCrowds(t *testing.T) {
	var text strings.Builder
	add := func(id, minutes int, method string) {
		text.WriteString(stackOf(fmt.Sprint(id), fmt.Sprintf("select, %d minutes", minutes), dispatch, shimClient+method) + "\n")
	}
	text.WriteString("goroutine 1 [running]:\nmain.main()\n\t/src/m.go:1 +0x1\n\n")
	for i := range 100 {
		add(100+i, 1+i, "Update")
	}
	add(300, 1, "Kill")
	all := kindsOf(dumped(t, strings.TrimSuffix(text.String(), "\n")), event.KindGoroutine)
	require.Len(t, all, firstTold+longestTold+1)
	goroutines, told := 0, map[uint64]int{}
	for i := range all {
		goroutines += all[i].Count()
		told[all[i].IDs.Goroutine] = all[i].Count()
	}
	require.Equal(t, 101, goroutines)
	for _, id := range []uint64{100, 115, 153, 199, 300} {
		require.Equal(t, 1, told[id], id)
	}
	require.NotContains(t, told, uint64(116))
	require.Equal(t, 37, told[152], "the last that is told stands for the others")
}
