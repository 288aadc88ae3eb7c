package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse"
)

// eachFile opens every file of the inputs, in their order, and calls read for it. What cannot be read of a file or of
// an archive goes to stderr, links as one line, and the next file is read. It returns an error only for an input that
// does not exist, or when there are too many files.
func eachFile(ctx context.Context, inputs []string, s streams, read func(bundle.File, parse.Opened) error) error {
	var links linkWarnings
	defer func() { links.tell(s.err) }()
	for f, err := range bundle.Files(ctx, bundle.Options{Inputs: inputs, Stdin: s.in}) {
		if link, ok := errors.AsType[*bundle.Link](err); ok {
			links.add(link.Error())
			continue
		}
		if err != nil {
			_, skip := errors.AsType[*event.Skip](err)
			if _, broken := errors.AsType[*bundle.ArchiveError](err); !skip && !broken {
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
