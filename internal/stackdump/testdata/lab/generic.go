//go:build go1.18
// +build go1.18

package main

import "sync"

func init() { plays = append(plays, generic) }

type shelf[K comparable, V any] struct {
	id int
	mu sync.RWMutex
	m  map[K]V
}

//go:noinline
func (s *shelf[K, V]) Fill(k K, f func() V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[k] = f()
}

//go:noinline
func (s *shelf[K, V]) Look(k K) V {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.m[k]
}

//go:noinline
func callFill(s *shelf[string, int]) { s.Fill("k", block); s.id++ }

func generic() {
	c, s := scene("generic"), &shelf[string, int]{m: map[string]int{}}
	c.in("h", func() { callFill(s) })
	c.in("w", func() { s.Look("k") })
	c.in("w", func() { s.Look("k") })
}
