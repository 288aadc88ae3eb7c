package event

import (
	"strconv"
	"time"
)

// LongestSpan is the longest length of time that means one. What is longer is the difference to a
// moment that was never set: time.Since of the zero time is cut to 292 years.
const LongestSpan = 100 * 365 * 24 * time.Hour

// Value is one typed value: a string, a number, a duration or a truth. The zero
// Value is the empty string.
type Value struct {
	kind valueKind
	s    string
	n    float64
}

type valueKind uint8

const (
	isString valueKind = iota
	isNumber
	isDuration
	isBool
)

// String is a Value that holds text.
func String(s string) Value { return Value{s: s} }

// Int is a Value that holds a whole number. Above 2^53 it loses digits.
func Int(n int64) Value { return Value{kind: isNumber, n: float64(n)} }

// Number is a Value that holds any number.
func Number(n float64) Value { return Value{kind: isNumber, n: n} }

// Duration is a Value that holds a length of time.
func Duration(d time.Duration) Value { return Value{kind: isDuration, n: float64(d)} }

// Bool is a Value that holds yes or no.
func Bool(b bool) Value {
	v := Value{kind: isBool}
	if b {
		v.n = 1
	}
	return v
}

// Text is the value as a reader would write it: "1m59s", "true", "42".
func (v Value) Text() string {
	switch v.kind {
	case isNumber:
		return strconv.FormatFloat(v.n, 'f', -1, 64)
	case isDuration:
		return time.Duration(v.n).String()
	case isBool:
		return strconv.FormatBool(v.n != 0)
	}
	return v.s
}

// IsText says that the value is text, which [Value.Text] gives as it is.
func (v Value) IsText() bool { return v.kind == isString }

// Number is the value for comparison: seconds of a duration, the number itself,
// 1 or 0 for a truth. Ok is false for text.
func (v Value) Number() (n float64, ok bool) {
	switch v.kind {
	case isNumber, isBool:
		return v.n, true
	case isDuration:
		return v.n / float64(time.Second), true
	}
	return 0, false
}

// Any is the value as JSON writes it: a string, a number (seconds for a duration) or a bool.
func (v Value) Any() any {
	switch v.kind {
	case isBool:
		return v.n != 0
	case isNumber, isDuration:
		n, _ := v.Number()
		return n
	}
	return v.s
}
