package lines

// IsDigit says that c is one of 0 to 9.
func IsDigit(c byte) bool { return c-'0' <= 9 }

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
