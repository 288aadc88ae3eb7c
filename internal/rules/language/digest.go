package language

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// ExtendedDigest names the rules of c with those of trees, in hexadecimal: two catalogues with the
// same digest have the same rules. An error is that of a file that cannot be read.
func (c *Catalog) ExtendedDigest(trees ...Files) (string, error) {
	if len(trees) == 0 {
		return c.Digest, nil
	}
	own, err := digest(trees...)
	sum := sha256.Sum256([]byte(c.Digest + own))
	return hex.EncodeToString(sum[:]), err
}

// digest names the rules of some trees as [Catalog.ExtendedDigest] does.
func digest(trees ...Files) (string, error) {
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
