package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// contestant is one command that is timed.
type contestant struct {
	name  string
	args  []string
	env   []string
	times []time.Duration
	// user and system; says more than the clock where others share the machine
	cpu []time.Duration
	rss int64 // the largest of all runs, in bytes
}

// runInTurns runs all commands so often, in turns, so that what slows the machine slows them all.
func runInTurns(runs int, all ...*contestant) error {
	for range runs {
		for _, c := range all {
			if err := c.runOnce(); err != nil {
				return err
			}
		}
	}
	return nil
}

// runOnce runs the command and discards its output.
func (c *contestant) runOnce() error {
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stderr = nil
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	c.times = append(c.times, time.Since(start))
	c.cpu = append(c.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	// Linux counts the memory of the process that forked in, which is why this program stays small.
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.rss = max(c.rss, int64(usage.Maxrss)*1024)
	}
	return nil
}

// timesAs is how many times as long this command takes as another one.
func (c *contestant) timesAs(other *contestant) float64 {
	return median(c.times).Seconds() / median(other.times).Seconds()
}

func median(times []time.Duration) time.Duration {
	sorted := slices.SortedFunc(slices.Values(times), cmp.Compare[time.Duration])
	return sorted[len(sorted)/2]
}

// checkMost fails when a value is above its limit.
func checkMost(name string, value, most float64) error {
	if value > most {
		return fmt.Errorf("%s %.2f is above %.2f", name, value, most)
	}
	return nil
}
