package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
)

// eachFile opens every file of the inputs, in their order, and hands it to read. What a file or its reader
// cannot give goes to stderr, links as one, and the next file is read; only an input that is not there ends it.
func eachFile(ctx context.Context, inputs []string, s streams, read func(bundle.File, parse.Opened) error) error {
	var links linkWarnings
	defer func() { links.tell(s.err) }()
	for f, err := range bundle.Files(ctx, bundle.Options{Inputs: inputs, Stdin: s.in}) {
		if link, ok := errors.AsType[*bundle.Link](err); ok {
			links.add(link.Error())
			continue
		}
		if err != nil {
			if _, skip := errors.AsType[*event.Skip](err); !skip {
				return err
			}
			warn(s.err, err.Error())
			continue
		}
		if err := openFile(f, read); err != nil && !errors.Is(err, parse.ErrEmpty) {
			if _, named := errors.AsType[*event.Skip](err); !named {
				err = fmt.Errorf("%s: %w", f.Path, err)
			}
			warn(s.err, err.Error())
		}
	}
	return nil
}

func openFile(f bundle.File, read func(bundle.File, parse.Opened) error) error {
	src, err := f.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	opened, err := parse.Open(src, f.Path)
	if err != nil {
		return err
	}
	return read(f, opened)
}
