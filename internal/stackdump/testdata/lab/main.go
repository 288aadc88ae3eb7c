// Command lab blocks goroutines on locks in known ways and prints a dump of
// itself, with the truth about who holds what before it:
//
//	# NAME waiters=7,8 holders=6 pending=
//
// With -abort it kills itself with SIGABRT instead, so that the runtime prints
// the dump, to standard error. It builds with Go 1.9 and later.
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// cast is who plays which part in a scenario.
type cast struct {
	mu                        sync.Mutex
	name                      string
	waiters, holders, pending []int
}

var (
	scenes []*cast
	never  = make(chan int) // nobody sends on it
	events = make(chan int)
)

func scene(name string) *cast {
	c := &cast{name: name}
	scenes = append(scenes, c)
	return c
}

func goid() int {
	buf := make([]byte, 64)
	buf = buf[:runtime.Stack(buf, false)]
	n, _ := strconv.Atoi(string(bytes.Fields(buf)[1]))
	return n
}

// in starts f as a goroutine with a part to play: "w"aiter, "h"older, "p"ending
// writer (a waiter as well), "" an extra. It returns when f had time to block.
func (c *cast) in(part string, f func()) {
	ready := make(chan bool)
	go func() {
		id := goid()
		c.mu.Lock()
		for _, p := range part {
			switch p {
			case 'w':
				c.waiters = append(c.waiters, id)
			case 'h':
				c.holders = append(c.holders, id)
			case 'p':
				c.waiters = append(c.waiters, id)
				c.pending = append(c.pending, id)
			}
		}
		c.mu.Unlock()
		ready <- true
		f()
	}()
	<-ready
	time.Sleep(5 * time.Millisecond)
}

func list(ids []int) string {
	sort.Ints(ids)
	var s []string
	for _, id := range ids {
		s = append(s, strconv.Itoa(id))
	}
	return strings.Join(s, ",")
}

func main() {
	for _, play := range plays {
		play()
	}
	time.Sleep(100 * time.Millisecond)
	for _, c := range scenes {
		fmt.Printf("# %s waiters=%s holders=%s pending=%s\n", c.name, list(c.waiters), list(c.holders), list(c.pending))
	}
	if len(os.Args) > 1 && os.Args[1] == "-abort" {
		os.Stdout.Sync()
		syscall.Kill(os.Getpid(), syscall.SIGABRT)
		select {}
	}
	buf := make([]byte, 1<<22)
	os.Stdout.Write(buf[:runtime.Stack(buf, true)])
}

// block waits outside, as an RPC does: some frames deep.
//
//go:noinline
func block() int { return dispatch(len(scenes)) + 1 }

//go:noinline
func dispatch(n int) int {
	select {
	case v := <-never:
		return v + n
	case <-time.After(time.Hour):
		return n
	}
}
