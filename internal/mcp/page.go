package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of an answer, in bytes of JSON.
const (
	MaxAnswer = 48 << 10 // the structured part
	MaxText   = 2 << 10  // the short text beside it
	pageBytes = 24 << 10 // of a list, where it is paged
)

// Paging is what a client says of the page it wants.
type Paging struct {
	Offset int `json:"offset,omitempty" jsonschema:"where the page begins: the next of the answer before; 0 is the first page"`
	Limit  int `json:"limit,omitempty" jsonschema:"at most so many entries; a page can hold fewer, as its bytes are bounded"`
}

// Page is which part of a list an answer holds.
type Page struct {
	Total int  `json:"total" jsonschema:"entries of all pages"`
	Next  int  `json:"next,omitempty" jsonschema:"the offset of the next page; missing on the last one"`
	Cut   bool `json:"cut,omitempty" jsonschema:"long texts or lists were shortened so that the answer fits"`
}

// setCut notes that something was shortened.
func (p *Page) setCut() { p.Cut = true }

// maxPage is the largest page, in entries.
const maxPage = 200

// takePage takes a page of a list: as many entries as fit, and at least one.
func takePage[T any](all []T, p Paging, usual int) ([]T, Page) {
	from := min(max(p.Offset, 0), len(all))
	limit := usual
	if p.Limit > 0 {
		limit = min(p.Limit, maxPage)
	}
	page, bytes := Page{Total: len(all)}, 0
	items := []T{}
	for i := from; i < len(all); i++ {
		size := sizeOf(all[i])
		if len(items) == limit || len(items) > 0 && bytes+size > pageBytes {
			page.Next = i
			break
		}
		bytes += size
		items = append(items, all[i])
	}
	return items, page
}

// sizeOf is how many bytes of JSON something takes.
func sizeOf(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		return MaxAnswer
	}
	return len(text)
}

// bounded is an answer that knows that it was shortened.
type bounded interface{ setCut() }

// boundAnswer bounds an answer, and puts a short text beside it, in words of plegdiag alone.
func boundAnswer[T bounded](out T, format string, args ...any) (*sdk.CallToolResult, T, error) {
	for longest, most := maxQuote, 16; sizeOf(out) > MaxAnswer; longest, most = longest/2, max(most/2, 1) {
		shorter, err := shorten(out, longest, most)
		if err != nil || longest == 0 {
			return nil, out, fmt.Errorf("the answer does not fit into %d bytes", MaxAnswer)
		}
		out = shorter
		out.setCut()
	}
	text := clip(fmt.Sprintf(format, args...), MaxText)
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, out, nil
}

// shorten cuts all texts of an answer to a number of bytes, and all lists to a number of entries.
func shorten[T any](out T, longest, most int) (shorter T, err error) {
	text, err := json.Marshal(out)
	if err != nil {
		return out, err
	}
	var value any
	if err = json.Unmarshal(text, &value); err != nil {
		return out, err
	}
	if text, err = json.Marshal(shortenValue(value, longest, most)); err != nil {
		return out, err
	}
	err = json.Unmarshal(text, &shorter)
	return shorter, err
}

func shortenValue(v any, longest, most int) any {
	switch v := v.(type) {
	case string:
		return clip(v, longest)
	case []any:
		v = few(v, most)
		for i := range v {
			v[i] = shortenValue(v[i], longest, most)
		}
		return v
	case map[string]any:
		for key, value := range v {
			v[key] = shortenValue(value, longest, most)
		}
	}
	return v
}

// addTool adds a tool that only reads.
func addTool[In any, Out bounded](
	s *Server, name, title string, about []string, handle func(ctx context.Context, req *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error),
) {
	no := false
	sdk.AddTool(s.mcp, &sdk.Tool{
		Name: name, Title: title, Description: strings.Join(about, " "),
		Annotations: &sdk.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
	}, handle)
}
