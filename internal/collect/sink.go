package collect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// reserve is the space that is kept after what is written, so that a bundle can be sealed on a full
// disk.
const reserve = 512 << 10

// sinkReport is a report of the helper that writes the bundle. A helper writes it because the disk
// can hang.
type sinkReport struct {
	Full  string `json:",omitempty"` // why there is only room for the end of the bundle
	Error string `json:",omitempty"` // why nothing can be written any more
	Bytes int64  `json:",omitempty"`
	Done  bool   `json:",omitempty"`
}

// runSink copies the bundle from in to a file, Names[0], or to out when that is "-". It sends its
// reports to descriptor 3. Count is the least free space in MiB.
func runSink(t *task, in io.Reader, out io.Writer) error {
	told := json.NewEncoder(os.NewFile(3, "told"))
	if t.Names[0] == "-" {
		n, err := io.Copy(out, in)
		return sendReport(told, sinkReport{Bytes: n, Done: true}, err)
	}
	f, err := os.OpenFile(t.Names[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOCTTY, 0o600)
	if t.Limit == 1 && errors.Is(err, os.ErrExist) { // --force
		f, err = os.OpenFile(t.Names[0], os.O_WRONLY|os.O_TRUNC|unix.O_NOCTTY, 0o600)
	}
	if err != nil {
		return sendReport(told, sinkReport{Done: true}, err)
	}
	s := sinkFile{f: f, floor: uint64(t.Count) << 20}
	if why := s.whyNoSpace(); why != "" {
		os.Remove(t.Names[0])
		return sendReport(told, sinkReport{Done: true},
			fmt.Errorf("%s: %s; write elsewhere, or to stdout with -o - through ssh", filepath.Dir(t.Names[0]), why))
	}
	err = s.copyFrom(in, func(why string) { _ = told.Encode(sinkReport{Full: why}) })
	err = errors.Join(err, f.Truncate(s.at), f.Close()) // releases the reserve
	return sendReport(told, sinkReport{Bytes: s.at, Done: true}, err)
}

func sendReport(to *json.Encoder, s sinkReport, err error) error {
	if err != nil {
		s.Error = err.Error()
	}
	return to.Encode(s)
}

// sinkFile is a file that is written as long as there is space.
type sinkFile struct {
	f        *os.File
	at       int64
	reserved int64 // offset up to which room is allocated
	refuses  bool  // the file system cannot allocate ahead
	floor    uint64
	full     bool
}

func (s *sinkFile) copyFrom(in io.Reader, full func(string)) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			if why := s.reserveRoom(n); why != "" && !s.full {
				s.full = true
				full(why)
			}
			if _, err := s.f.Write(buf[:n]); err != nil {
				full(err.Error())
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
func (s *sinkFile) reserveRoom(n int) string {
	want := s.at + int64(n) + reserve
	if s.full || s.refuses || want <= s.reserved {
		return ""
	}
	if why := s.whyNoSpace(); why != "" {
		return why
	}
	const step = 1 << 20
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
	s.refuses = true // NFS before 4.2 and others: only the least free space counts
	return ""
}

func (s *sinkFile) allocate(to int64) error {
	err := unix.Fallocate(int(s.f.Fd()), unix.FALLOC_FL_KEEP_SIZE, s.at, to-s.at)
	if err == nil {
		s.reserved = to
	}
	return err
}

// whyNoSpace says why the file system has too little space or too few inodes; empty when it has
// enough.
func (s *sinkFile) whyNoSpace() string {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(s.f.Fd()), &fs); err != nil {
		return ""
	}
	free := fs.Bavail * uint64(fs.Bsize) //nolint:gosec,unconvert,nolintlint // positive; its type differs by processor
	switch {
	case free < s.floor:
		return fmt.Sprintf("%d MiB are free, and --min-free keeps %d", free>>20, s.floor>>20)
	case s.floor > 0 && fs.Files > 0 && fs.Ffree == 0:
		return "no inode is free"
	case s.floor > 0 && fs.Type == unix.TMPFS_MAGIC && isMemoryScarce():
		return "it is in memory, and little memory is available"
	}
	return ""
}

// isMemoryScarce says that less than a twentieth of the memory is available.
func isMemoryScarce() bool {
	text, _, _ := readFile("/proc/meminfo", 16<<10)
	available := meminfoKiB(string(text), "MemAvailable:")
	total := meminfoKiB(string(text), "MemTotal:")
	return available > 0 && available < total/20
}

// meminfoKiB is a row of /proc/meminfo in KiB; 0 when there is none.
func meminfoKiB(text, row string) int {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, row); ok {
			words := strings.Fields(rest)
			if len(words) > 0 {
				return parseNumber(words[0])
			}
		}
	}
	return 0
}
