// Package carry takes a bundle through a log: what a pod prints comes back through the API server
// as text, mixed with what it prints to standard error, and a part of it can be lost when the node
// rotates the log. So the bundle is written as numbered lines, and a sum at the end says whether it
// is whole.
//
//	#plegdiag:1:H4sIAAAA…
//	#plegdiag:2:8xSdqp…
//	#plegdiag:end:2:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
package carry

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
)

// lineBytes is how much of the bundle a line holds. Its base64 is shorter than 16 KiB, where the
// runtime breaks a line in two (containerd's and CRI-O's loggers).
const lineBytes = 6 << 10

// prefix begins a line of the bundle. What plegdiag says to a person begins otherwise.
const prefix = "#plegdiag:"

// Encode writes what it reads as lines, and the sum at its end.
func Encode(in io.Reader, out io.Writer) error {
	w := bufio.NewWriter(out)
	sum := sha256.New()
	chunk := make([]byte, lineBytes)
	lines := 0
	for {
		n, err := io.ReadFull(in, chunk)
		if n > 0 {
			lines++
			sum.Write(chunk[:n])
			fmt.Fprintf(w, "%s%d:%s\n", prefix, lines, base64.StdEncoding.EncodeToString(chunk[:n]))
			if failed := w.Flush(); failed != nil {
				return failed
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			fmt.Fprintf(w, "%send:%d:%x\n", prefix, lines, sum.Sum(nil))
			return w.Flush()
		}
		if err != nil {
			return err
		}
	}
}

// Decoder puts the lines together again. The zero Decoder is ready. It can read a log again from
// its start: lines that it has seen are left out.
type Decoder struct {
	// Limit is how large the bundle may be, in bytes; zero allows nothing.
	Limit int
	// Other is called with lines that are none of the bundle's; nil drops them.
	Other func(line string)

	out   bytes.Buffer
	sum   hash.Hash
	lines int
	seen  int // lines of Other that were passed on
	done  bool
}

// ErrTooLarge says that the bundle is larger than Limit.
var ErrTooLarge = errors.New("the bundle is larger than its limit")

// Whole says that all of the bundle is there, and that its sum is right.
func (d *Decoder) Whole() bool { return d.done }

// Bytes is what there is of the bundle, without gaps from its start.
func (d *Decoder) Bytes() []byte { return d.out.Bytes() }

// Read reads a log up to its end, or to the end of the bundle. An error says what is lost; what
// came before stays. A log that ends early is no error: see Whole.
func (d *Decoder) Read(log io.Reader) error {
	if d.sum == nil {
		d.sum = sha256.New()
	}
	const longest = 64 << 10
	in := bufio.NewReaderSize(log, longest)
	others := 0
	for !d.done {
		line, err := in.ReadSlice('\n')
		whole := err == nil
		for errors.Is(err, bufio.ErrBufferFull) { // what is so long is none of ours
			_, err = in.ReadSlice('\n')
		}
		text := strings.TrimRight(string(line), "\r\n")
		if rest, ours := strings.CutPrefix(text, prefix); ours && whole {
			if failed := d.takeLine(rest); failed != nil {
				return failed
			}
		} else if whole {
			if others++; others > d.seen && d.Other != nil {
				d.seen = others
				d.Other(text)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeLine takes a line of the bundle without its prefix.
func (d *Decoder) takeLine(rest string) error {
	number, content, _ := strings.Cut(rest, ":")
	if number == "end" {
		return d.takeEnd(content)
	}
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 1:
		return fmt.Errorf("line %d of the bundle has no number", d.lines+1)
	case n <= d.lines: // seen before
		return nil
	case n > d.lines+1:
		return fmt.Errorf("lines %d to %d of the bundle are lost: the node has rotated the pod's log", d.lines+1, n-1)
	}
	chunk, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		return fmt.Errorf("line %d of the bundle is damaged", n)
	}
	if d.out.Len()+len(chunk) > d.Limit {
		return ErrTooLarge
	}
	d.lines = n
	d.sum.Write(chunk)
	d.out.Write(chunk)
	return nil
}

func (d *Decoder) takeEnd(content string) error {
	number, sum, _ := strings.Cut(content, ":")
	switch n, err := strconv.Atoi(number); {
	case err != nil || n < d.lines:
		return errors.New("the end of the bundle is damaged")
	case n > d.lines:
		return fmt.Errorf("lines %d to %d of the bundle are lost: the node has rotated the pod's log", d.lines+1, n)
	case sum != hex.EncodeToString(d.sum.Sum(nil)):
		return errors.New("the bundle is damaged: its sum is another one")
	}
	d.done = true
	return nil
}
