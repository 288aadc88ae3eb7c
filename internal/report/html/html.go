// Package html holds how the pages of plegdiag look, and what they may do.
package html

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"strings"
)

// Style is the style sheet of all pages. It holds nothing of a bundle.
//
//go:embed style.css
var Style string

// Policy is the content security policy of a page: it lets the page's own style and scripts in, by
// their hashes, and nothing else.
func Policy(style string, scripts ...string) string {
	hashes := make([]string, len(scripts))
	for i, script := range scripts {
		hashes[i] = hashOf(script)
	}
	if len(hashes) == 0 {
		hashes = []string{"'none'"}
	}
	return "default-src 'none'; style-src " + hashOf(style) + "; script-src " + strings.Join(hashes, " ") +
		"; base-uri 'none'; form-action 'none'"
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
