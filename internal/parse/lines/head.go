package lines

import (
	"bytes"
	"iter"
	"slices"
)

// HeadSize is how much of a file decides its format. Headers of all formats stand in it.
const HeadSize = 64 << 10

// OfHead are the lines of head that are not blank, without a last one that is cut, unless it is all
// there is.
func OfHead(head []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		coloured := bytes.IndexByte(head, '\x1b') >= 0
		for first := true; len(head) > 0; first = false {
			end := bytes.IndexByte(head, '\n')
			if end < 0 && !first {
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
			if !IsBlank(line) && !yield(line) {
				return
			}
		}
	}
}

// MayHold says that a line of head may hold one of some texts. Colours may stand inside of a text:
// where head has any, all may be there.
func MayHold(head []byte, texts ...string) bool {
	return bytes.IndexByte(head, '\x1b') >= 0 || slices.ContainsFunc(texts, func(text string) bool {
		return bytes.Contains(head, []byte(text))
	})
}

// MayHoldAny is MayHold for many texts.
func MayHoldAny(head []byte, texts *Literals) bool {
	return bytes.IndexByte(head, '\x1b') >= 0 || texts.Match(head)
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
func Share(head []byte, look func(line []byte) Sign) float64 {
	var count [Proves + 1]int
	left := bytes.Count(head, []byte{'\n'}) + 1
	for line := range OfHead(head) {
		count[look(line)]++
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
func Sniffer(isOfFormat func(line []byte) bool) func(head []byte) float64 {
	return func(head []byte) float64 {
		return Share(head, Unindented(func(line []byte) Sign { return SignIf(isOfFormat(line), Proves) }))
	}
}
