// Package html writes pages that need nothing but themselves: how they look, what they may do, and
// how text becomes part of them.
package html

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"strings"
)

// What is part of pages as it is. It holds nothing of a bundle, so that its hashes can stand in
// their content security policy.
var (
	//go:embed style.css
	style string
	//go:embed script.js
	script string // of the picture
)

// policyOf is the content security policy of a page: it lets the page's own style and scripts in,
// by their hashes, and nothing else.
func policyOf(style string, scripts ...string) string {
	hashes := make([]string, len(scripts))
	for i, script := range scripts {
		hashes[i] = policyHash(script)
	}
	if len(hashes) == 0 {
		hashes = []string{"'none'"}
	}
	return "default-src 'none'; style-src " + policyHash(style) + "; script-src " + strings.Join(hashes, " ") +
		"; base-uri 'none'; form-action 'none'"
}

func policyHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
