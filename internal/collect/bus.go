//go:build linux

package collect

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

// askBus asks PID 1 over D-Bus whether it answers, and for its units. The socket is dbus-daemon's,
// where a connection must call Hello first, or PID 1's own (/run/systemd/private), which works
// without dbus-daemon. No call makes the bus start a service that does not run.
func askBus(t *task, path string, out itemWriter) result {
	b := bus{asker: asker{api: "dbus", endpoint: path, bound: t.Bound, out: out}}
	if b.connect(!strings.HasSuffix(path, "/private")) && b.ping() {
		b.listUnits(out.frames, strings.TrimSuffix(out.name, ".jsonl"))
	}
	if b.conn != nil {
		b.conn.Close()
	}
	return result{}
}

// bus asks over one connection.
type bus struct {
	asker
	conn    *dbus.Conn
	systemd dbus.BusObject
}

func (b *bus) connect(hello bool) bool {
	conn, ok := askFor(&b.asker, question{method: "AUTH"},
		func(ctx context.Context) (*dbus.Conn, map[string]string, error) {
			conn, err := dbus.Dial("unix:path="+b.endpoint, dbus.WithContext(context.Background()))
			if err != nil {
				return nil, nil, err
			}
			return conn, nil, cmp.Or(conn.Auth(nil), ctx.Err())
		})
	if !ok {
		return false
	}
	b.conn = conn
	b.systemd = b.conn.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
	return !hello || b.callMethod(b.conn.BusObject(), "org.freedesktop.DBus.Hello", nil)
}

// callMethod calls a method without arguments and stores its result in answer, if not nil.
func (b *bus) callMethod(object dbus.BusObject, method string, answer any) bool {
	return b.ask(question{method: method, ask: func(ctx context.Context) (map[string]string, error) {
		c := object.CallWithContext(ctx, method, dbus.FlagNoAutoStart)
		if answer == nil {
			return nil, c.Err
		}
		return nil, c.Store(answer)
	}})
}

// ping asks a second time when there is no answer. A first message that reaches PID 1's own socket
// together with the end of the authentication stays unread until more data comes: sd-bus polls the
// socket, and not its own buffer. A healthy systemd then seems silent.
func (b *bus) ping() bool {
	const again = 500 * time.Millisecond
	const method = "org.freedesktop.DBus.Peer.Ping"
	return b.ask(question{method: method, ask: func(ctx context.Context) (map[string]string, error) {
		done := make(chan *dbus.Call, 2)
		b.systemd.GoWithContext(ctx, method, dbus.FlagNoAutoStart, done)
		select {
		case c := <-done:
			return nil, c.Err
		case <-time.After(again):
		}
		b.systemd.GoWithContext(ctx, method, dbus.FlagNoAutoStart, done)
		return nil, (<-done).Err
	}})
}

// unit is an element of what ListUnits returns.
type unit struct {
	Name, Description, Load, Active, Sub, Following string
	Path                                            dbus.ObjectPath
	Job                                             uint32
	JobType                                         string
	JobPath                                         dbus.ObjectPath
}

// listUnits asks for the units, and writes them as systemctl list-units prints them.
func (b *bus) listUnits(out *frames, name string) {
	const method = "org.freedesktop.systemd1.Manager.ListUnits"
	units, ok := askFor(&b.asker, question{method: method},
		func(ctx context.Context) (all []unit, _ map[string]string, err error) {
			if err = b.systemd.CallWithContext(ctx, method, dbus.FlagNoAutoStart).Store(&all); err != nil {
				return nil, nil, err
			}
			return all, map[string]string{"count": fmt.Sprint(len(all))}, nil
		})
	if !ok {
		return
	}
	var text strings.Builder
	text.WriteString("  UNIT LOAD ACTIVE SUB DESCRIPTION\n")
	for _, u := range units {
		mark := " "
		if u.Active == "failed" {
			mark = "●"
		}
		fmt.Fprintf(&text, "%s %s %s %s %s %s\n", mark, u.Name, u.Load, u.Active, u.Sub, u.Description)
	}
	out.sendFile(name+"-units.txt", b.endpoint, []byte(text.String()))
}
