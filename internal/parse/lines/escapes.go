package lines

import "strings"

// UndoOctal gives a message of several lines its line breaks back, which rsyslog writes as #012,
// and tabs as #011 (parser.escapeControlCharactersOnReceive). A line of its own, as of a panic in
// the journal, starts with #011. Other messages of one line stay as they are.
func UndoOctal(s string) string {
	if !strings.Contains(s, "#012") && !strings.HasPrefix(s, "#011") {
		return s
	}
	return octal.Replace(s)
}

// UndoEscapes gives a goroutine dump its line breaks back that stands, escaped, in a line of no
// known shape, as loggers write values: dump="goroutine 1 [running]:\nmain.main()…". Other lines
// stay as they are.
func UndoEscapes(s string) string {
	if !strings.Contains(s, `]:\n`) || !strings.Contains(s, "goroutine ") {
		return s
	}
	return escapes.Replace(s)
}

var escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\r`, "\r", `\"`, `"`)

var octal = strings.NewReplacer("#012", "\n", "#011", "\t", "#015", "\r")
