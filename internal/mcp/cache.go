package mcp

import (
	"context"
	"sync"
)

// Bounds of what is kept of answers.
const (
	maxKept      = 64
	maxKeptBytes = 96 << 20
)

// answer is what a worker printed.
type answer struct {
	key   string
	out   []byte
	whole bool   // nothing of it was lost
	said  string // its warnings
}

// entry is an answer that is kept.
type entry struct {
	answer
	used int // when, by the count of the cache
}

// cache keeps the answers of workers that were asked for last.
type cache struct {
	mu      sync.Mutex
	known   map[string]*entry
	bytes   int
	clock   int
	dropped func(key string) // is told what is no longer kept, without the lock
}

func (c *cache) find(key string) (answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.known[key]
	if !ok {
		return answer{}, false
	}
	c.clock++
	e.used = c.clock
	return e.answer, true
}

// keep keeps an answer, and drops those that were not asked for longest.
func (c *cache) keep(a answer) {
	var gone []string
	c.mu.Lock()
	c.clock++
	c.known[a.key] = &entry{a, c.clock}
	c.bytes += len(a.out)
	for len(c.known) > maxKept || c.bytes > maxKeptBytes && len(c.known) > 1 {
		oldest := ""
		for key, e := range c.known {
			if oldest == "" || e.used < c.known[oldest].used {
				oldest = key
			}
		}
		c.bytes -= len(c.known[oldest].out)
		delete(c.known, oldest)
		gone = append(gone, oldest)
	}
	c.mu.Unlock()
	for _, key := range gone {
		c.dropped(key)
	}
}

// keyLocks let one caller at a time work for a key: the others find the answer in the cache then.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

// lock waits until nobody else works for a key, or ctx ends.
func (k *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		k.mu.Lock()
		busy, ok := k.held[key]
		if !ok {
			done := make(chan struct{})
			k.held[key] = done
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.held, key)
				k.mu.Unlock()
				close(done)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
