package language

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest names the rules of some trees, in hexadecimal: two catalogues with the same digest have
// the same rules. An error is that of a file that cannot be read.
func Digest(trees ...Files) (string, error) {
	sum := sha256.New()
	for _, tree := range trees {
		err := tree.readEach(func(name string, text []byte) {
			fmt.Fprintf(sum, "%d %s %d\n", len(name), name, len(text))
			sum.Write(text)
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
