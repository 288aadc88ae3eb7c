package lines

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// answers are the documents of JSON in which the clients of a cloud print what a machine wrote as
// one value: what each of them holds besides, and the name of that value.
//
//	{"InstanceId": "i-05d8", "Output": "[    0.000000] Linux version …\r\n…"}     aws ec2 get-console-output
//	{"CommandId": "…", "StandardOutputContent": "…"}                             aws ssm get-command-invocation
//	{"value": [{"message": "Enable succeeded: \n[stdout]\n…\n[stderr]\n"}]}       az vm run-command invoke
var answers = []struct{ sign, name string }{
	{`"InstanceId"`, "Output"},
	{`"CommandId"`, "StandardOutputContent"},
	{`\n[stdout]\n`, "message"},
}

// findAnswer is the name of the value with the text; empty for any other document.
func findAnswer(head *Head) string {
	if !bytes.HasPrefix(bytes.TrimLeft(head.Text, " \t\r\n"), []byte{'{'}) {
		return ""
	}
	for _, a := range answers {
		at := bytes.Index(head.Text, []byte(`"`+a.name+`"`))
		if at >= 0 && head.Holds(a.sign) && len(head.Lines) < len(head.Text)/100 {
			return a.name
		}
	}
	return ""
}

// answerReader gives the texts of a document that have one name. Lines are counted in them.
type answerReader struct {
	in   *bufio.Reader
	name string
	key  []byte // the last string, as far as it may be the name
	text bool   // within a text that is wanted
	out  []byte
	err  error
}

// withAnswer reads the texts of that name.
func withAnswer(name string) func(io.Reader) io.Reader {
	return func(r io.Reader) io.Reader { return &answerReader{in: bufio.NewReader(r), name: name} }
}

// Read implements io.Reader.
func (a *answerReader) Read(p []byte) (int, error) {
	for len(a.out) == 0 && a.err == nil {
		if a.text {
			a.readText()
		} else {
			a.findText()
		}
	}
	n := copy(p, a.out)
	a.out = a.out[n:]
	if n == 0 {
		return 0, a.err
	}
	return n, nil
}

// findText goes on to the next text.
func (a *answerReader) findText() {
	for {
		c, err := a.in.ReadByte()
		if err != nil {
			a.err = err
			return
		}
		switch {
		case c == '"' && string(a.key) == a.name+":":
			a.key, a.text = nil, true
			return
		case c == '"':
			a.readName()
		case c == ':':
			a.key = append(a.key, c)
		case c > ' ':
			a.key = nil
		}
	}
}

// readName reads a string that is no text.
func (a *answerReader) readName() {
	a.key = a.key[:0]
	for {
		c, err := a.in.ReadByte()
		switch {
		case err != nil:
			a.err = err
			return
		case c == '"':
			return
		case c == '\\':
			_, _ = a.in.ReadByte() // its error comes again
		}
		if len(a.key) <= len(a.name) {
			a.key = append(a.key, c)
		}
	}
}

// readText decodes a part of a text.
func (a *answerReader) readText() {
	a.out = a.out[:0]
	for len(a.out) < HeadSize {
		c, err := a.in.ReadByte()
		switch {
		case err != nil:
			a.err = err
			return
		case c == '"':
			a.text = false
			a.out = append(a.out, '\n')
			return
		case c == '\\':
			a.readEscape()
		default:
			a.out = append(a.out, c)
		}
	}
}

// readEscape decodes what follows a backslash.
func (a *answerReader) readEscape() {
	c, err := a.in.ReadByte()
	if err != nil {
		a.err = err
		return
	}
	switch c {
	case 'n':
		c = '\n'
	case 't':
		c = '\t'
	case 'r':
		c = '\r'
	case 'b', 'f':
		c = ' '
	case 'u':
		a.out = utf8.AppendRune(a.out, a.readRune())
		return
	}
	a.out = append(a.out, c)
}

// readRune decodes the digits of \uXXXX, and of the second half where one belongs to it.
func (a *answerReader) readRune() rune {
	r := a.readDigits()
	if !utf16.IsSurrogate(r) {
		return r
	}
	if next, _ := a.in.Peek(2); string(next) != `\u` {
		return utf8.RuneError
	}
	_, _ = a.in.Discard(2)
	return utf16.DecodeRune(r, a.readDigits())
}

func (a *answerReader) readDigits() rune {
	digits, _ := a.in.Peek(4)
	n, err := strconv.ParseUint(string(digits), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	_, _ = a.in.Discard(4)
	return rune(n)
}
