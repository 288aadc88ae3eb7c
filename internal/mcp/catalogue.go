package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func (s *Server) addTools() {
	addTool(s, "bundles", "List what can be analysed", []string{
		"List one directory below those that this server was started with: archives, directories and files, each with its path for the other tools.",
		"Begin without dir. A directory can be a bundle by itself, when it holds logs, dumps and traces of a node.",
	}, s.bundles)
	s.addAnalysis()
	s.addEvidence()
	s.addDumps()
	addTool(s, "rules", "The catalogue of known causes", []string{
		"Look into the catalogue of causes that plegdiag knows: action list (id and title of each), explain (with id: mechanism, steps, versions, what it needs,",
		"what to do, references) or events (with id: a kind of event or a group of kinds, and its fields; without: all kinds).",
	}, s.rules)
}

// AskBundles is the input of the tool bundles.
type AskBundles struct {
	Dir string `json:"dir,omitempty" jsonschema:"path of a directory, as in an answer before; the top when not given"`
	Paging
}

// Bundles is a page of a directory.
type Bundles struct {
	Page
	Entries []Listed `json:"entries"`
}

// Listed is an entry of a directory.
type Listed struct {
	Path  string `json:"path" jsonschema:"the input of the other tools"`
	Kind  string `json:"kind" jsonschema:"file or directory"`
	Bytes int64  `json:"bytes"`
}

func (s *Server) bundles(_ context.Context, _ *sdk.CallToolRequest, in AskBundles) (*sdk.CallToolResult, *Bundles, error) {
	out := &Bundles{}
	if in.Dir == "" && len(s.dirs) > 1 {
		for i := range s.dirs {
			out.Entries = append(out.Entries, Listed{s.dirs[i].name, "directory", 0})
		}
		out.Total = len(out.Entries)
		return boundAnswer(out, "%d directories.", len(out.Entries))
	}
	at, err := s.dirs.findPlace(path.Join(".", in.Dir))
	if err != nil {
		return nil, nil, err
	}
	entries, err := at.list()
	if err != nil {
		return nil, nil, err
	}
	out.Entries, out.Page = takePage(entries, in.Paging, 100)
	return boundAnswer(out, "%d of %d entries.", len(out.Entries), len(entries))
}

// list lists a directory. Names that begin with a dot are passed over.
func (p *place) list() ([]Listed, error) {
	if !p.info.IsDir() {
		return nil, errors.New("a file, and no directory")
	}
	below, err := p.dir.root.OpenRoot(p.rel)
	if err != nil {
		return nil, errOutside
	}
	defer below.Close()
	entries, err := fs.ReadDir(below.FS(), ".")
	if err != nil {
		return nil, errors.New("the directory cannot be read")
	}
	all := []Listed{}
	for _, entry := range entries {
		info, err := below.Stat(entry.Name()) // of a link that leads outside it fails
		if err != nil || strings.HasPrefix(entry.Name(), ".") || len(all) == maxListed {
			continue
		}
		listed := Listed{Path: path.Join(p.dir.name, p.rel, entry.Name()), Kind: "file", Bytes: info.Size()}
		switch {
		case info.IsDir():
			listed.Kind, listed.Bytes = "directory", 0
		case !info.Mode().IsRegular():
			continue
		}
		all = append(all, listed)
	}
	return all, nil
}

// AskRules is the input of the tool rules.
type AskRules struct {
	Action string `json:"action,omitempty" jsonschema:"list (when not given), explain or events"`
	ID     string `json:"id,omitempty" jsonschema:"for explain the id of a rule; for events a kind, as cri.call, or a group, as kubelet"`
	Paging
}

// Rules is a page of the catalogue.
type Rules struct {
	Page
	Rules     []Listing `json:"rules" jsonschema:"of the action list"`
	Explained string    `json:"explained" jsonschema:"of the action explain"`
	Kinds     []Kind    `json:"kinds" jsonschema:"of the action events"`
}

// Listing is a rule in a list.
type Listing struct {
	ID    Text `json:"id"`
	Role  Text `json:"role"`
	Title Text `json:"title"`
}

// Kind is a kind of event.
type Kind struct {
	Kind   Text        `json:"kind"`
	About  Text        `json:"about"`
	IDs    []Text      `json:"ids"`
	Fields []KindField `json:"fields" jsonschema:"of one kind that was asked for"`
}

// KindField is a field of a kind of event.
type KindField struct {
	Name   Text   `json:"name"`
	Type   Text   `json:"type"`
	Unit   Text   `json:"unit"`
	Values []Text `json:"values"`
	About  Text   `json:"about"`
}

func (s *Server) rules(ctx context.Context, req *sdk.CallToolRequest, in AskRules) (*sdk.CallToolResult, *Rules, error) {
	q := &question{command: "rules", last: []string{}}
	out := &Rules{Rules: []Listing{}, Kinds: []Kind{}}
	switch in.Action {
	case "", "list":
		q.last = append([]string{"list", "--output=json"}, s.options.Rules...)
	case "explain":
		q.last = slices.Concat([]string{"explain"}, s.options.Rules, []string{"--", in.ID})
	case "events":
		q.last = []string{"events", "--output=json", "--"}
		if in.ID != "" {
			q.last = append(q.last, in.ID)
		}
	default:
		return nil, nil, fmt.Errorf("action %q is none of list, explain, events", in.Action)
	}
	a, err := s.ask(ctx, req, q)
	if err != nil {
		return nil, nil, err
	}
	if in.Action == "explain" {
		out.Explained = clip(string(a.out), pageBytes)
		return boundAnswer(out, "Rule %q in %d bytes.", clean(in.ID, 100), len(a.out))
	}
	var doc struct {
		Rules []Listing
		Kinds []Kind
	}
	if err := json.Unmarshal(a.out, &doc); err != nil {
		return nil, nil, err
	}
	if in.Action == "events" {
		if len(doc.Kinds) > 1 {
			for i := range doc.Kinds {
				doc.Kinds[i].Fields = []KindField{}
			}
		}
		out.Kinds, out.Page = takePage(doc.Kinds, in.Paging, 60)
		return boundAnswer(out, "%d of %d kinds of events.", len(out.Kinds), out.Total)
	}
	slices.SortFunc(doc.Rules, func(a, b Listing) int { return strings.Compare(string(a.ID), string(b.ID)) })
	out.Rules, out.Page = takePage(doc.Rules, in.Paging, 100)
	return boundAnswer(out, "%d of %d rules.", len(out.Rules), out.Total)
}
