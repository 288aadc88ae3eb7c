package lines

import (
	"bytes"
	"iter"
	"slices"
)

// HeadSize is how much of a file decides its format. Headers of all formats stand in it.
const HeadSize = 64 << 10

// Head is the start of a file, taken apart once for all who ask what the file is.
type Head struct {
	Text []byte // at most HeadSize, which may end inside a line
	// Lines are those that are not blank, without colours. Where Text is less than HeadSize, and so
	// all of a file, the last one is among them although no end of a line follows it; else it is
	// cut, and is left out unless it is all there is.
	Lines   [][]byte
	unended bool // the last of Lines may be cut: no end of a line follows it
	// Marks are what package logs found of each line, nil before it looked. Rows is whether a line may
	// be one of a listing, by package snapshots.
	Marks []uint8
	Rows  Answer

	has      ByteSet // of Text
	coloured bool    // a line may have colours
}

// Answer is what is known of a question about a head.
type Answer uint8

// The answers.
const (
	NotAsked Answer = iota
	Yes
	No
)

// AnswerOf is Yes or No.
func AnswerOf(is bool) Answer {
	if is {
		return Yes
	}
	return No
}

// NewHead takes the start of a file apart. It keeps text.
func NewHead(text []byte) *Head {
	h := &Head{Text: text}
	for _, c := range text {
		h.has[c] = true
	}
	h.coloured = h.has['\x1b']
	const most = 1 << 10 // at once: a text may be of line breaks alone
	ended := text
	if n := len(text); 0 < n && n < HeadSize && text[n-1] != '\n' { // all of a file
		ended, h.unended = append(slices.Clone(text), '\n'), bytes.IndexByte(text, '\n') >= 0
	}
	h.Lines = slices.AppendSeq(make([][]byte, 0, min(most, bytes.Count(text, []byte{'\n'})+1)), OfHead(ended))
	return h
}

// Holds says that a text stands in the head, which may have colours inside of it.
func (h *Head) Holds(text string) bool {
	return h.has.HasAll(text) && bytes.Contains(h.Text, []byte(text))
}

// HoldsByte says that a byte stands in the head.
func (h *Head) HoldsByte(c byte) bool { return h.has[c] }

// MayHold says that a line may hold one of some texts. Colours may stand inside of a text: where
// there are any, all may be there.
func (h *Head) MayHold(texts ...string) bool {
	return h.coloured || slices.ContainsFunc(texts, h.Holds)
}

// MayHoldAny is MayHold for many long texts.
func (h *Head) MayHoldAny(texts *Literals) bool { return h.coloured || texts.Match(h.Text) }

// OfHead are the lines of head that are not blank, without a last one that is cut, unless it is all
// there is.
func OfHead(head []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		coloured := bytes.IndexByte(head, '\x1b') >= 0
		for blank := true; len(head) > 0; {
			end := bytes.IndexByte(head, '\n')
			if end < 0 && !blank {
				return
			}
			line := head
			if head = nil; end >= 0 {
				line, head = line[:end], line[end+1:]
			}
			for len(line) > 0 && line[len(line)-1] == '\r' {
				line = line[:len(line)-1]
			}
			if coloured && bytes.IndexByte(line, '\x1b') >= 0 {
				line = WithoutColours(nil, line)
			}
			if IsBlank(line) {
				continue
			}
			blank = false
			if !yield(line) {
				return
			}
		}
	}
}

// Sign is what a line says about the format of its file.
type Sign uint8

// The signs of a line.
const (
	Foreign Sign = iota // it is not of the format
	Silent              // it may be of any format, and does not count
	Fits                // it is of the format, or of others that look alike
	Proves              // it is of the format beyond doubt
)

// SignIf is sign where is holds, and Foreign elsewhere.
func SignIf(is bool, sign Sign) Sign {
	if is {
		return sign
	}
	return Foreign
}

// Share is the share of the lines of head that are of a format, 0 to 1: look says what each of them
// shows. It is 0 where no line proves the format, and where it is less than half: no line is looked
// at behind those that show so.
func Share(head *Head, look func(line []byte) Sign) float64 {
	return ShareOf(head, func(n int) Sign { return look(head.Lines[n]) })
}

// ShareOf is Share where look is given the place of each line.
func ShareOf(head *Head, look func(n int) Sign) float64 {
	var count [Proves + 1]int
	left := len(head.Lines)
	for n := range head.Lines {
		sign := look(n)
		if sign == Foreign && head.unended && n == len(head.Lines)-1 {
			sign = Silent
		}
		count[sign]++
		if left--; count[Foreign] > count[Fits]+count[Proves]+left {
			return 0
		}
	}
	good := count[Fits] + count[Proves]
	if count[Proves] == 0 || count[Foreign] > good {
		return 0
	}
	return float64(good) / float64(count[Foreign]+good)
}

// Unindented looks only at lines that do not continue the one before.
func Unindented(look func(line []byte) Sign) func(line []byte) Sign {
	return func(line []byte) Sign {
		if line[0] == ' ' || line[0] == '\t' {
			return Silent
		}
		return look(line)
	}
}

// Sniffer makes a sniffer of a test for one line, which a line that continues the one before need
// not pass.
func Sniffer(isOfFormat func(line []byte) bool) func(head *Head) float64 {
	return func(head *Head) float64 {
		return Share(head, Unindented(func(line []byte) Sign { return SignIf(isOfFormat(line), Proves) }))
	}
}
