package timeline

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
)

// daemonEvent is an event of a daemon's life, some seconds after noon.
func daemonEvent(kind event.Kind, component string, after float64, fields ...string) event.Event {
	at := event.At(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(after * float64(time.Second))))
	e := event.Event{Kind: kind, Component: component, Source: component + ".log", Start: at, End: at, Evidence: []event.Quote{{Pos: event.Pos{File: "f", Line: int(after) + 1}, Text: string(kind)}}}
	for i := 0; i+1 < len(fields); i += 2 {
		e.Fields = append(e.Fields, event.Field{Key: event.Key(fields[i]), Value: event.String(fields[i+1])})
	}
	return e
}

func TestRestarts(t *testing.T) {
	own := daemonEvent("cri.call", "containerd", 1)
	started := daemonEvent("daemon.start", "containerd", 600, "daemon", "containerd")
	started.IDs.PID = 900
	ready := daemonEvent("systemd.unit-start", "systemd", 602, "daemon", "containerd", "runtime", "containerd")
	for _, c := range []struct {
		name   string
		events []event.Event
		want   string // the restart's text; empty for none
	}{
		{"told by sudo", []event.Event{
			own, daemonEvent("operator.command", "operator", 588, "user", "alice", "command", "/usr/bin/systemctl restart containerd", "daemon", "containerd"),
			daemonEvent("systemd.unit-stop", "systemd", 590, "daemon", "containerd"), started, ready,
		}, "containerd is restarted: systemd was told to stop it, by alice (/usr/bin/systemctl restart containerd)"},
		{"a command long before is another's", []event.Event{
			own, daemonEvent("operator.command", "operator", 500, "user", "alice", "command", "systemctl restart containerd", "daemon", "containerd"),
			daemonEvent("systemd.unit-stop", "systemd", 590, "daemon", "containerd"), started,
		}, "containerd is restarted: systemd was told to stop it"},
		{
			"killed",
			[]event.Event{own, daemonEvent("systemd.unit-exit", "systemd", 598, "daemon", "containerd", "how", "killed 9/KILL"), started},
			"containerd is restarted: it was killed (killed 9/KILL) and systemd had not been told to stop it, as by kill, systemctl kill, or a node-problem-detector that repairs",
		},
		{"a stop that ends by a signal was asked for", []event.Event{
			daemonEvent("systemd.unit-stop", "systemd", 500, "daemon", "containerd"),
			daemonEvent("systemd.unit-exit", "systemd", 590, "daemon", "containerd", "how", "killed 9/KILL"), started,
		}, "containerd is restarted: systemd was told to stop it"},
		{"for memory", []event.Event{daemonEvent("kernel.oom-kill", "kernel", 590, "runtime", "containerd"), started}, "containerd is restarted: it was killed for memory"},
		{"crash", []event.Event{daemonEvent("daemon.crash", "containerd", 598, "reason", "nil map"), started}, "containerd is restarted: it crashed"},
		{"only another process", []event.Event{own, started}, "containerd is restarted: how the process before it ended is not shown"},
		{"the first start is none", []event.Event{started, ready, daemonEvent("cri.call", "containerd", 700)}, ""},
		{"an end long before is of another time", []event.Event{daemonEvent("systemd.unit-stop", "systemd", 1, "daemon", "containerd"), started}, ""},
		{"another daemon's end", []event.Event{daemonEvent("systemd.unit-stop", "systemd", 590, "daemon", "dockerd"), started}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := Build(Input{Events: pointersTo(c.events...)}, Options{})
			text := ""
			for _, e := range tl.Events {
				if e.Kind == "daemon.restart" {
					require.Empty(t, text, "two restarts")
					text = e.Text
					require.NotEmpty(t, e.Evidence)
				}
			}
			require.Equal(t, c.want, text)
			require.Equal(t, c.want != "", tl.Facts["containerd.restart"].Value != "")
		})
	}
}

// goroutine is one that waits for a shim, in a dump some seconds after noon.
func goroutine(after float64, file string) event.Event {
	e := daemonEvent("goroutine.wait", "containerd", after, "doing", "shim", "rpc", "Delete")
	e.Source, e.IDs.Goroutine, e.Open, e.Begun = "goroutines.containerd", 7, true, true
	e.Evidence = []event.Quote{{Pos: event.Pos{File: file, Line: 1}, Text: "goroutine 7 [select]:"}}
	return e
}

// Dumps of a program from before and after its restart are of two processes.
func TestDumpsAcrossRestart(t *testing.T) {
	stop := daemonEvent("systemd.unit-stop", "systemd", 110, "daemon", "containerd")
	start := daemonEvent("systemd.unit-start", "systemd", 115, "daemon", "containerd")
	for _, c := range []struct {
		name   string
		events []event.Event
		want   int // goroutines
	}{
		{"one process", []event.Event{goroutine(100, "a"), goroutine(120, "b")}, 1},
		{"restarted between", []event.Event{goroutine(100, "a"), stop, start, goroutine(120, "b")}, 2},
		{"restarted before both", []event.Event{stop, start, goroutine(130, "a"), goroutine(150, "b")}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := 0
			for _, e := range Build(Input{Events: pointersTo(c.events...)}, Options{}).Events {
				if e.Kind == "goroutine.wait" {
					got++
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}
