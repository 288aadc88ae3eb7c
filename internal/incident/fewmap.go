package incident

import (
	"iter"
	"slices"
)

// fewMap is a map that is small while it holds few: most files have one writer on one host, and a bundle may hold
// 50 000 files. The zero value is empty.
type fewMap[K comparable, V any] struct {
	entries []fewEntry[K, V]
	index   map[K]int // of entries; nil while they are few
}

type fewEntry[K comparable, V any] struct {
	key   K
	value *V
}

// maxFew is how many entries are searched one by one.
const maxFew = 8

// get is the value of a key; nil when there is none.
func (m *fewMap[K, V]) get(key K) *V {
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

// add sets the value of a key that has none.
func (m *fewMap[K, V]) add(key K, value *V) {
	m.entries = append(m.entries, fewEntry[K, V]{key, value})
	if m.index != nil {
		m.index[key] = len(m.entries) - 1
	} else if len(m.entries) > maxFew {
		m.reindex()
	}
}

func (m *fewMap[K, V]) len() int { return len(m.entries) }

// all yields the entries in the order in which they were added.
func (m *fewMap[K, V]) all() iter.Seq2[K, *V] {
	return func(yield func(K, *V) bool) {
		for _, e := range m.entries {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

// deleteKeys removes the entries of the keys for which drop is true.
func (m *fewMap[K, V]) deleteKeys(drop func(K) bool) {
	m.entries = slices.DeleteFunc(m.entries, func(e fewEntry[K, V]) bool { return drop(e.key) })
	if m.index != nil {
		m.reindex()
	}
}

func (m *fewMap[K, V]) reindex() {
	m.index = make(map[K]int, len(m.entries))
	for i, e := range m.entries {
		m.index[e.key] = i
	}
}
