package observe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// The closed sets that package event declares are those of the observers' tables, whole.
func TestClosedSets(t *testing.T) {
	sets := map[event.Key][]string{}
	add := func(key event.Key, value string) {
		require.True(t, declared(key).Allows(event.String(value)), "%s: %s", key, value)
		sets[key] = append(sets[key], value)
	}
	for _, row := range kernelWaits {
		add(event.FieldWaits, row.waits)
	}
	for _, row := range waits {
		add(event.FieldDoing, row.doing)
	}
	for key, values := range sets {
		require.Subset(t, values, declared(key).Values, "%s: declared, and set by no observer", key)
	}
	for _, outcome := range keptOutcomes {
		require.True(t, event.KindNamed(event.KindCollectItem).Field(event.FieldOutcome).Allows(event.String(outcome)), outcome)
	}
}

// declared is the declaration of a field that a thread or a goroutine has.
func declared(key event.Key) *event.FieldInfo {
	if f := event.KindNamed(event.KindThreadSample).Field(key); f != nil {
		return f
	}
	return event.KindNamed(event.KindGoroutine).Field(key)
}
