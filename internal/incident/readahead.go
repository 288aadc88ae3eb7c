package incident

import (
	"context"
	"errors"
	"io"
	"sync"
)

// readAhead reads src in a goroutine of its own, so that inflating an archive and reading its lines
// go on side by side. The goroutine ends with src, with ctx, or when the reader is closed: an
// archive need not be read to its end.
func readAhead(ctx context.Context, wg *sync.WaitGroup, src io.Reader) io.ReadCloser {
	const size, depth = 256 << 10, 4
	ctx, stop := context.WithCancel(ctx)
	full, free := make(chan chunk, depth), make(chan []byte, depth)
	for range depth {
		free <- nil // allocated when it is needed: most archives inside of a directory are small
	}
	wg.Go(func() {
		defer close(full)
		for {
			var buf []byte
			select {
			case buf = <-free:
			case <-ctx.Done():
				return
			}
			if buf == nil {
				buf = make([]byte, size)
			}
			n, err := io.ReadFull(src, buf)
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = shortRead(src, err)
			}
			select {
			case full <- chunk{buf[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	})
	return &aheadReader{full: full, free: free, stop: stop}
}

// shortRead tells the end of src, which io.ReadFull reports as an unexpected
// one, from an archive that was cut: that one fails again with the same error.
func shortRead(src io.Reader, err error) error {
	var one [1]byte
	if n, again := src.Read(one[:]); n == 0 && again != nil {
		return again
	}
	return err
}

type chunk struct {
	bytes []byte
	err   error
}

type aheadReader struct {
	full <-chan chunk
	free chan<- []byte
	stop context.CancelFunc
	now  chunk
	rest []byte
}

// Close ends the reading ahead; it does not wait for a read that has begun.
func (a *aheadReader) Close() error {
	a.stop()
	return nil
}

// Read gives what was read ahead; an error comes after the bytes before it.
func (a *aheadReader) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.bytes != nil {
			a.free <- a.now.bytes[:cap(a.now.bytes)]
		}
		next, ok := <-a.full
		if !ok {
			return 0, context.Canceled
		}
		a.now, a.rest = next, next.bytes
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}
