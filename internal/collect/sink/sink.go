// Package sink writes a bundle to a file or a stream, as long as there is room, and says what
// became of it. It is for a process of its own, because a disk can hang.
package sink

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// reserve is the space that is kept after what is written, so that a bundle can be sealed on a full
// disk.
const reserve = 512 << 10

// Request says where a bundle is written.
type Request struct {
	Path    string // "-" is the stream
	Force   bool   // overwrite it
	MinFree int    // MiB that stay free
}

// Report is one of several about what is written.
type Report struct {
	Full  string `json:",omitempty"` // why there is only room for the end of the bundle
	Error string `json:",omitempty"` // why it is not whole; Done is set
	Bytes int64  `json:",omitempty"` // written until now
	// Written says that all is written, and on its way to the disk. Done says that it is there, or
	// that there was an error. Nothing follows.
	Written, Done bool
}

// Run copies a bundle from in to the file of the request, or to out where its path is "-". It sends
// its reports to told.
func Run(r Request, in io.Reader, out io.Writer, told io.Writer) error {
	// A reader that has gone, and a limit of the shell, are errors of write and not the end.
	signal.Ignore(refusals...)
	to := json.NewEncoder(told)
	s := file{floor: uint64(r.MinFree) << 20, stream: r.Path == "-"} //nolint:gosec,nolintlint // positive
	if s.f, _ = out.(*os.File); !s.stream {
		if err := s.open(r); err != nil {
			return to.Encode(Report{Done: true, Error: err.Error()})
		}
	}
	err := s.copyFrom(in, func(why string) { _ = to.Encode(Report{Full: why}) })
	if err == nil && s.allocated {
		err = s.f.Truncate(s.at) // releases the reserve
	}
	if err == nil {
		_ = to.Encode(Report{Bytes: s.at, Written: true})
		// A write that a disk refuses later shows here, and nowhere else.
		if err = s.f.Sync(); cannotSync(err) {
			err = nil
		}
	}
	done := Report{Bytes: s.at, Done: true}
	if err = errors.Join(err, s.f.Close()); err != nil {
		done.Error = err.Error()
	}
	return to.Encode(done)
}

// cannotSync says that an error of fsync means that there is nothing to wait for: a pipe, a device.
func cannotSync(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS)
}

// open makes the file. One without room is removed again.
func (s *file) open(r Request) (err error) {
	s.f, err = os.OpenFile(r.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noTerminal, 0o600)
	if r.Force && errors.Is(err, os.ErrExist) {
		s.f, err = os.OpenFile(r.Path, os.O_WRONLY|os.O_TRUNC|noTerminal, 0o600)
	}
	if err != nil {
		return err
	}
	if why := s.whyNoSpace(); why != "" {
		os.Remove(r.Path)
		return fmt.Errorf("%s: %s; write elsewhere, or to stdout with -o - through ssh", filepath.Dir(r.Path), why)
	}
	return nil
}

// file is a file that is written as long as there is space.
type file struct {
	f        *os.File
	at       int64
	reserved int64 // offset up to which room is allocated, or was looked for
	// the file system has allocated ahead; it cannot
	allocated, refuses bool
	stream             bool // it is somebody else's
	floor              uint64
	full               bool
}

func (s *file) copyFrom(in io.Reader, full func(string)) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			if why := s.reserveRoom(n); why != "" && !s.full {
				s.full = true
				full(why)
			}
			if _, err := s.f.Write(buf[:n]); err != nil {
				return err
			}
			s.at += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// reserveRoom reserves space for n bytes and the end of the bundle. It says why there is none;
// empty when there is.
func (s *file) reserveRoom(n int) string {
	want := s.at + int64(n) + reserve
	if s.full || s.stream || want <= s.reserved {
		return ""
	}
	if why := s.whyNoSpace(); why != "" {
		return why
	}
	const step = 1 << 20
	if s.refuses { // NFS before 4.2 and others: only the least free space counts
		s.reserved = want + step
		return ""
	}
	err := s.allocate(want + step)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = s.allocate(want)
	}
	switch {
	case err == nil:
		return ""
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return err.Error()
	}
	s.refuses = true
	return ""
}
