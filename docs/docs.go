// Package docs holds the documents of plegdiag, for those who read them through the program.
package docs

import "embed"

// Files are those that help to read reports, bundles and JSON; how plegdiag is tested and measured
// is left out, and what the tool rules says itself.
//
//go:embed clocks.md collecting.md facts.md formats.md glossary.md json.md mcp.md
//go:embed reading.md redact.md rule-language.md samples.md stacks.md syscalls.md timeline.md
var Files embed.FS
