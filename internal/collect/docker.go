//go:build linux

package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

// docker asks dockerd.
type docker struct {
	asker
	server *server
}

func newDocker(t *task, path string, out itemWriter) *docker {
	return &docker{
		asker:  asker{api: "docker", endpoint: path, bound: t.Bound, out: out},
		server: newServer(path, t.Bound),
	}
}

// askDocker measures the calls of dockerd for which it starts no program. It keeps the state of a
// container, never its environment.
func askDocker(t *task, path string, out itemWriter) result {
	d := newDocker(t, path, out)
	d.ping()
	ids := t.IDs
	if d.isDone() {
		ids = nil
	} else if text := d.fetch("/containers/json?all=1", "", nil); text != nil {
		var all []struct{ ID string }
		if json.Unmarshal(text, &all) == nil {
			ids = ids[:0]
			for _, c := range all {
				ids = append(ids, c.ID)
			}
		}
	}
	r := result{why: d.askEach(ids, func(id string) { d.fetch("/containers/"+id+"/json", id, parseContainerState) })}
	if d.silent > 0 {
		out.sendNote(note{Mute: t.Items[0].Source})
	}
	return r
}

// askDockerInfo asks for what dockerd runs runc and docker-init with --version (moby
// daemon/info_unix.go): where a program that is started hangs, the call leaves one more of them.
func askDockerInfo(t *task, path string, out itemWriter) result {
	d := newDocker(t, path, out)
	if !d.ping() {
		return result{}
	}
	for _, what := range []string{"version", "info"} {
		text := d.fetch("/"+what, "", nil)
		if text == nil {
			break
		}
		out.sendFile("runtime/docker-"+what+".json", path+"/"+what, text)
	}
	return result{}
}

// ping asks what needs no lock.
func (d *docker) ping() bool {
	return d.askFirst(question{method: "GET /_ping", ask: func(ctx context.Context) (map[string]string, error) {
		_, err := d.server.fetch(ctx, "/_ping", io.Discard, 100)
		return nil, err
	}})
}

// fetch asks for one path and returns the answer; nil when there was none.
func (d *docker) fetch(path, container string, detail func([]byte) map[string]string) []byte {
	method := "GET " + strings.Replace(path, container, "{id}", min(1, len(container)))
	text, _ := askFor(&d.asker, question{method: method, container: container},
		func(ctx context.Context) ([]byte, map[string]string, error) {
			var text bytes.Buffer
			if _, err := d.server.fetch(ctx, path, &text, 16<<20); err != nil || detail == nil {
				return text.Bytes(), nil, err
			}
			return text.Bytes(), detail(text.Bytes()), nil
		})
	return text
}

// parseContainerState returns the state of a container from docker inspect.
func parseContainerState(text []byte) map[string]string {
	var c struct {
		Name  string
		State struct {
			Status     string
			Pid        int
			StartedAt  string
			FinishedAt string
		}
	}
	if json.Unmarshal(text, &c) != nil {
		return nil
	}
	return map[string]string{
		"state": c.State.Status, "name": c.Name, "pid": fmt.Sprint(c.State.Pid),
		"started": c.State.StartedAt, "finished": c.State.FinishedAt,
	}
}

// collectDaemonInfo asks what a daemon answers only after it has run a program. Everything that
// shows how it hangs has been collected by then.
func collectDaemonInfo(c *collector, s *step) {
	for _, place := range c.socketsOf("cri") {
		t := &task{
			Do: "cri-status", Bound: rpcBound,
			Items: []want{{Name: criItem(place) + "-status.jsonl", Source: place}},
		}
		c.runUnless(c.whyNotAsked(place), t, s)
	}
	for _, place := range c.socketsOf("docker") {
		t := &task{
			Do: "docker-info", Bound: rpcBound,
			Items: []want{{Name: "runtime/docker-info.jsonl", Source: place}},
		}
		why := c.whyNotAsked(place)
		if why == "" {
			why = c.whyNoRunc()
		}
		c.runUnless(why, t, s)
	}
}

// whyNotAsked says why a daemon is asked nothing more; empty when it can be.
func (c *collector) whyNotAsked(place string) string {
	hangs := func(i bundle.Item) bool {
		return i.Source == place && (i.Outcome == bundle.Timeout || i.Outcome == bundle.Stuck)
	}
	if c.mute[place] || slices.ContainsFunc(c.manifest.Items, hangs) {
		return "the daemon has not answered other calls, and would start a program for this one"
	}
	return ""
}

// whyNoRunc says why dockerd is not made to run runc; empty when runc has answered this collection.
func (c *collector) whyNoRunc() string {
	for i := range c.manifest.Items {
		switch item := &c.manifest.Items[i]; {
		case item.Name != runcVersion:
		case item.Outcome == bundle.OK:
			return ""
		default:
			return strings.TrimSuffix(fmt.Sprintf("dockerd would run runc, and runc --version gave nothing: %s, %s",
				item.Outcome, item.Why), ", ")
		}
	}
	return "dockerd would run runc, and runc --version was not asked"
}
