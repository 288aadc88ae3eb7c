package kept

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// What tells events apart: kinds, containers, words. What does not: numbers and ids in texts.
func TestRepeatKey(t *testing.T) {
	key := func(text string) string { return string(appendWithoutIDs(nil, text)) }
	require.Equal(t, "exec # of #: dead at #.#.#.#:#", key("exec 17 of 40585f7349a6: dead at 10.0.0.7:443"))
	require.Equal(t, "a faded cafe1", key("a faded cafe1"))
	a, b := event.Event{Kind: event.KindRuncFailed}, event.Event{Kind: event.KindRuncFailed}
	a.IDs.Container, b.IDs.Container = "40585f7349a6", "40585f7349a7"
	require.NotEqual(t, AppendRepeatKey(nil, &a), AppendRepeatKey(nil, &b))
}
