// Package few has a map that takes little room while it holds few: of the 200 000 files that a
// bundle may hold, most have one writer on one host. It knows nothing of either.
package few

import (
	"iter"
	"slices"
)

// Map is a map that is small while it holds few. The zero value is empty.
type Map[K comparable, V any] struct {
	entries []entry[K, V]
	index   map[K]int // of entries; nil while they are few
}

type entry[K comparable, V any] struct {
	key   K
	value *V
}

// maxFew is how many entries are searched one by one.
const maxFew = 8

// Get is the value of a key; nil when there is none.
func (m *Map[K, V]) Get(key K) *V {
	if m.index != nil {
		if i, ok := m.index[key]; ok {
			return m.entries[i].value
		}
		return nil
	}
	for i := range m.entries {
		if m.entries[i].key == key {
			return m.entries[i].value
		}
	}
	return nil
}

// Add sets the value of a key that has none.
func (m *Map[K, V]) Add(key K, value *V) {
	m.entries = append(m.entries, entry[K, V]{key, value})
	if m.index != nil {
		m.index[key] = len(m.entries) - 1
	} else if len(m.entries) > maxFew {
		m.reindex()
	}
}

// Len is how many keys have a value.
func (m *Map[K, V]) Len() int { return len(m.entries) }

// All yields the entries in the order in which they were added.
func (m *Map[K, V]) All() iter.Seq2[K, *V] {
	return func(yield func(K, *V) bool) {
		for _, e := range m.entries {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

// Values yields the values in the order in which they were added.
func (m *Map[K, V]) Values() iter.Seq[*V] {
	return func(yield func(*V) bool) {
		for i := range m.entries {
			if !yield(m.entries[i].value) {
				return
			}
		}
	}
}

// DeleteKeys removes the entries of the keys for which drop is true.
func (m *Map[K, V]) DeleteKeys(drop func(K) bool) {
	m.entries = slices.DeleteFunc(m.entries, func(e entry[K, V]) bool { return drop(e.key) })
	if m.index != nil {
		m.reindex()
	}
}

// SortKeys puts the entries into the order of their keys.
func (m *Map[K, V]) SortKeys(compare func(a, b K) int) {
	slices.SortFunc(m.entries, func(a, b entry[K, V]) int { return compare(a.key, b.key) })
	if m.index != nil {
		m.reindex()
	}
}

func (m *Map[K, V]) reindex() {
	m.index = make(map[K]int, len(m.entries))
	for i, e := range m.entries {
		m.index[e.key] = i
	}
}
