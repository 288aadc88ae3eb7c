package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
)

// tarBlock is the size of a tar header. Everything in a tar archive begins at a multiple of it.
const tarBlock = 512

// errNoEndMark is the end of a tar archive that was cut between two members: all that is there is
// whole.
var errNoEndMark = errors.New("the archive is cut: its end mark is missing")

// badHeader is a header of a tar archive that cannot be read.
type badHeader struct {
	err  error
	at   int64 // of the archive, inflated
	lost int64 // bytes behind it that were not read
}

func (b *badHeader) Error() string {
	return fmt.Sprintf("%v at byte %d of the archive; the %d bytes behind it are not read", b.err, b.at, b.lost)
}

// Unwrap gives the error of archive/tar.
func (b *badHeader) Unwrap() error { return b.err }

// walkTar yields the members of a tar archive, and says how many there were. More is false when the
// sequence ends.
//
// Behind an end mark, and behind a header that is broken, it goes on at the next header, as GNU
// tar's --ignore-zeros does: archives are concatenated, and a broken header must not cost the
// members behind it.
func (w *walker) walkTar(name string, from *archiveStream, prefix string) (kept int, more bool, err error) {
	for in := newTarReader(from); ; {
		n, more, err := w.walkTarMembers(name, in, prefix)
		kept += n
		bad, isBad := errors.AsType[*badHeader](err)
		if !more || err != nil && !isBad {
			return kept, more, err
		}
		lost, err := in.seekHeader()
		switch {
		case err == nil && !w.countEntry(name):
			return kept, false, nil
		case isBad:
			if bad.lost = lost; err != nil {
				return kept, true, bad
			}
			if !w.yieldSkip(name, "%v", bad) {
				return kept, false, nil
			}
		case lost > 0:
			if !w.yieldSkip(name, "%d bytes behind the end of the archive are no tar archive and not read", lost) || err != nil {
				return kept, true, nil
			}
		case errors.Is(err, io.EOF):
			return kept, true, nil
		case err != nil:
			return kept, true, fmt.Errorf("what follows the end of the archive cannot be read: %w", err)
		}
	}
}

// walkTarMembers yields the members up to the next end mark. The error of a header that cannot be
// read is a *badHeader; any other ends the archive.
func (w *walker) walkTarMembers(name string, in *tarReader, prefix string) (kept int, more bool, err error) {
	for members := tar.NewReader(in); ; {
		h, err := members.Next()
		switch {
		case errors.Is(err, io.EOF) && in.err != nil && in.n-in.solid < tarBlock:
			return kept, true, errNoEndMark
		case errors.Is(err, io.EOF):
			return kept, true, nil
		case err != nil && in.err == nil:
			return kept, true, &badHeader{err: err, at: max(0, in.n-tarBlock)}
		case err != nil:
			return kept, true, err
		}
		if !w.countEntry(name) {
			return kept, false, nil
		}
		full, why := memberName(h, w.budget.limits)
		switch {
		case why != "":
			if !w.yieldSkip(clipName(path.Join(prefix, full)), "%s", why) {
				return kept, false, nil
			}
		case isLink(h):
			if !w.yieldLink(path.Join(prefix, full), h.Linkname, h.Typeflag == tar.TypeLink) {
				return kept, false, nil
			}
		case h.Typeflag == tar.TypeDir:
			if full != "." && !w.yieldDirectory(path.Join(prefix, full), h.FileInfo()) {
				return kept, false, nil
			}
		case isFile(h):
			kept++
			if !w.yieldMember(File{Path: path.Join(prefix, full), Size: h.Size, ModTime: h.ModTime.UTC(), Info: h.FileInfo()}, members) {
				return kept, false, nil
			}
		}
	}
}

// memberName is the cleaned name of a tar entry, and why it is not read if it is neither a file nor
// a directory in its place.
func memberName(h *tar.Header, limits Limits) (name, why string) {
	if name, why = cleanName(h.Name, limits); why != "" {
		return name, why
	}
	if isFile(h) || isLink(h) || h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader {
		return name, ""
	}
	return name, nameOfMode(h.FileInfo().Mode()) + " is not read"
}

// isFile says that an entry has the content of a regular file. GNU tar has types of its own for
// one with holes and one that it stored in one piece.
func isFile(h *tar.Header) bool {
	return h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeGNUSparse || h.Typeflag == tar.TypeCont
}

func isLink(h *tar.Header) bool { return h.Typeflag == tar.TypeLink || h.Typeflag == tar.TypeSymlink }

// tarReader is what a tar.Reader reads from, so that another one can go on where it stopped.
type tarReader struct {
	in  *bufio.Reader
	n   int64 // bytes that were read
	err error // that a read ended with
	// solid is n behind the last read that was more than zeros. archive/tar reads headers block by
	// block, so that n-solid is at least a block behind an end mark; what pads a member is less.
	solid int64
}

func newTarReader(r io.Reader) *tarReader { return &tarReader{in: bufio.NewReaderSize(r, peekSize)} }

func (t *tarReader) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	t.n += int64(n)
	if n > 0 && (len(p) > tarBlock || !isZero(p[:n])) {
		t.solid = t.n
	}
	t.err = err
	return n, err
}

// seekHeader goes on to the next header, over blocks of zeros, which pad archives, and over others:
// lost is how many bytes these hold. The error is io.EOF when there is no header.
func (t *tarReader) seekHeader() (lost int64, err error) {
	if part := t.n % tarBlock; part > 0 {
		if err := t.discard(int(tarBlock - part)); err != nil {
			return 0, err
		}
	}
	for {
		block, err := t.in.Peek(tarBlock)
		if isTarHeader(block) {
			return lost, nil
		}
		if !isZero(block) {
			lost += int64(len(block))
		}
		_ = t.discard(len(block)) // cannot fail for what Peek returned
		if err != nil {
			return lost, err
		}
	}
}

func (t *tarReader) discard(n int) error {
	n, err := t.in.Discard(n)
	t.n += int64(n)
	return err
}

// Where a header has its sum, in the field that POSIX calls chksum. In the sum it counts as spaces.
const sumFrom, sumTo = 148, 156

// maySum says that a number in octal stands where a header has its sum, or that it is of ustar,
// whatever its sum.
func maySum(block []byte) bool {
	sum := bytes.Trim(block[sumFrom:sumTo], " \x00")
	return len(sum) > 0 && sum[0] >= '0' && sum[0] <= '7' || bytes.HasPrefix(block[257:], []byte("ustar"))
}

// isTarHeader says that a block has a name and the sum that a tar header has of itself (POSIX
// ustar, chksum).
func isTarHeader(block []byte) bool {
	if len(block) < tarBlock || block[0] == 0 {
		return false
	}
	want, err := strconv.ParseInt(string(bytes.Trim(block[sumFrom:sumTo], " \x00")), 8, 64)
	sum := int64(sumTo-sumFrom) * ' '
	for i, c := range block {
		if i < sumFrom || i >= sumTo {
			sum += int64(c)
		}
	}
	return err == nil && sum == want
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
