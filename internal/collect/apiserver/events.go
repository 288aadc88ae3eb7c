package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/plegdiag/plegdiag/internal/bundle"
)

const (
	eventsBound = 20 * time.Second // for all pages
	eventsPage  = 500
	eventsPages = 20
	// eventsPageLimit bounds one page, in bytes. An Event has some 2 KB.
	eventsPageLimit = 16 << 20
)

// eventList is a page of Events. Each stays as it is.
type eventList struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// eventSource is what an Event says about the kubelet that made it.
type eventSource struct {
	Source struct {
		Host string `json:"host"`
	} `json:"source"`
	ReportingInstance string `json:"reportingInstance"`
}

// collectPodEvents collects the Events of the node's kubelet about its pods. The API server can
// select by kubelet only, not by host, so that those of other nodes are thrown away here.
func (c *collector) collectPodEvents(ctx context.Context) {
	r := &request{step: podEvents, path: "/api/v1/events", right: listEvents, bound: eventsBound, limit: eventsPageLimit}
	item := c.beginItem(podEvents, "kubernetes/pod-events.json", "GET "+r.path+"?fieldSelector=source=kubelet, those of this node")
	sp := c.store.newSpool(true)
	ctx, stop := context.WithTimeout(ctx, r.bound)
	defer stop()
	query := url.Values{"fieldSelector": {"source=kubelet"}, "limit": {strconv.Itoa(eventsPage)}}
	kept := []json.RawMessage{}
	var got result
	for page := 1; ; page++ {
		var list eventList
		if got = c.fetchJSON(ctx, r, query, &list); got.outcome != "" {
			break
		}
		for _, e := range list.Items {
			var from eventSource
			if json.Unmarshal(e, &from) == nil && (from.Source.Host == c.opt.Node || from.ReportingInstance == c.opt.Node) {
				kept = append(kept, e)
			}
		}
		if list.Metadata.Continue == "" {
			break
		}
		if page == eventsPages {
			got = result{bundle.Capped, fmt.Sprintf("only the first %d Events of all kubelets were looked at", eventsPage*eventsPages)}
			break
		}
		query.Set("continue", list.Metadata.Continue)
	}
	if len(kept) > 0 {
		text, err := json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": kept}, "", "  ")
		if err == nil {
			_, _ = sp.Write(append(text, '\n')) // does not fail
		}
	}
	c.endItem(item, sp, got)
}

// fetchJSON decodes the answer to a GET.
func (c *collector) fetchJSON(ctx context.Context, r *request, query url.Values, into any) result {
	a, err := c.client.send(ctx, http.MethodGet, r.path, query, nil, nil)
	if err != nil {
		return c.client.resultOf(ctx, err, r.bound)
	}
	defer a.body.Close()
	if a.status != http.StatusOK {
		return c.client.describeRefusal(a, r)
	}
	limited := &limitedReader{in: a.body, left: r.limit}
	if err := json.NewDecoder(limited).Decode(into); err != nil {
		if ctx.Err() != nil {
			return c.client.resultOf(ctx, err, r.bound)
		}
		return result{bundle.Failed, "the answer is no JSON, or is larger than its limit"}
	}
	return result{}
}
