package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// manyRules is a large catalogue: the rules that ship, filled up with variations of themselves.
const manyRules = 200

// catalogFiles are the rules that ship, from the root of the repository.
const catalogFiles = "internal/rules/catalog/*.yaml"

// writeRules fills a directory with as many rules as the program lacks to n.
// Each is one that ships under another name, with other limits, so that no two
// ask the same, and with a line of a log that only it asks for.
func writeRules(program, dir string, n int) error {
	list, err := exec.Command(program, "rules", "list").Output()
	if err != nil {
		return fmt.Errorf("rules list: %w", err)
	}
	own := strings.Count(string(list), "\n")
	files, err := filepath.Glob(catalogFiles)
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no %s here", catalogFiles)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	var catalog []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.HasPrefix(string(text), "id: ") { // the table of effects is no rule
			catalog = append(catalog, string(text))
		}
	}
	for i := range max(0, n-own) {
		name := filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
		if err := os.WriteFile(name, []byte(varyRule(catalog[i%len(catalog)], i)), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// limit is a bound on a duration: duration|gte: 30s.
var limit = regexp.MustCompile(`((?:gte|gt|lte|lt): \d+)(s|m)\b`)

// varyRule makes a rule that differs from text, and for each i from every other one.
func varyRule(text string, i int) string {
	// the first line is the id
	text = strings.Replace(text, "\n", fmt.Sprintf("-variation-%d\n", i), 1)
	text = limit.ReplaceAllString(text, fmt.Sprintf("${1}${2}%dms", i+1))
	return strings.Replace(text, "\nsteps:\n", fmt.Sprintf(`
steps:
  - id: line_of_its_own
    role: symptom
    text: "a line"
    kind: log.line
    match: {text|contains: "variation %d of a message"}
`, i), 1)
}
