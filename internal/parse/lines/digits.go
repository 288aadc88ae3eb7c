package lines

// IsDigit says that c is one of 0 to 9.
func IsDigit(c byte) bool { return c-'0' <= 9 }

// IsNumber says that s is digits and nothing else.
func IsNumber[T string | []byte](s T) bool {
	for i := range len(s) {
		if !IsDigit(s[i]) {
			return false
		}
	}
	return len(s) > 0
}

// ByteSet is a set of bytes.
type ByteSet [256]bool

// NewByteSet is the set of the bytes of members.
func NewByteSet(members string) *ByteSet {
	var set ByteSet
	for i := range len(members) {
		set[members[i]] = true
	}
	return &set
}

// HasAll says that all bytes of s are in the set; those of an empty s are.
func (set *ByteSet) HasAll(s string) bool {
	for i := range len(s) {
		if !set[s[i]] {
			return false
		}
	}
	return true
}

// Digits reads a whole number of at most 18 digits; n is how many there were, 0 for none.
func Digits(b []byte) (v int64, n int) {
	for n < len(b) && n < 18 && IsDigit(b[n]) {
		v = v*10 + int64(b[n]-'0')
		n++
	}
	return v, n
}

// SkipBlanks is the offset of the first byte of b from i on that is no blank.
func SkipBlanks(b []byte, i int) int {
	for i < len(b) && b[i] == ' ' {
		i++
	}
	return i
}
