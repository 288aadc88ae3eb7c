package scan

// The digits that numbers are written with, and the letters of disks.
const (
	decimals = "0123456789"
	Hex      = "0123456789abcdef"
	Letters  = "abcdefghijklmnopqrstuvwxyz"
)

// WithEach are the texts that have one of some characters between two parts: what is looked for in
// every line must be eight bytes long, and a message may have no such part that never changes.
func WithEach(before, chars, behind string) []string {
	all := make([]string, 0, len(chars))
	for _, c := range chars {
		all = append(all, before+string(c)+behind)
	}
	return all
}

// WithDigit is WithEach of the digits.
func WithDigit(before, behind string) []string { return WithEach(before, decimals, behind) }
