package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// root is the repository, seen from this package.
const root = "../.."

var (
	fencedBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	heading     = regexp.MustCompile(`(?m)^#{1,6} +(.*?)\s*$`)
	link        = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	pageInText  = regexp.MustCompile(`\bdocs/[\w/-]+\.md(?:#[\w-]+)?`)
)

// TestLinks: every relative link of every document leads to a file that is there, and its anchor to
// a heading of that file. So does every page of docs that a document names without a link.
func TestLinks(t *testing.T) {
	checked, linked := 0, map[string]bool{}
	for _, page := range documents(t) {
		text := readPage(t, page)
		for _, m := range link.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			target := requireTarget(t, page, filepath.Dir(page), m[1])
			if target != page {
				linked[target] = true
			}
			checked++
		}
		for _, name := range pageInText.FindAllString(text, -1) {
			linked[requireTarget(t, page, root, name)] = true
		}
	}
	require.Greater(t, checked, 50, "the expression finds the links")
	for _, page := range documents(t) {
		if strings.HasPrefix(page, filepath.Join(root, "docs")+string(filepath.Separator)) {
			require.True(t, linked[page], "no other document leads to %s", page)
		}
	}
}

// documents are the pages of the project. Those below testdata belong to incidents.
func documents(t *testing.T) []string {
	var pages []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".md"):
			pages = append(pages, path)
		}
		return nil
	})
	require.NoError(t, err)
	return pages
}

// requireTarget returns the file to which a link of page leads. The link is relative to dir.
func requireTarget(t *testing.T, page, dir, to string) string {
	path, anchor, _ := strings.Cut(to, "#")
	target := page
	if path != "" {
		target = filepath.Join(dir, path)
		_, err := os.Stat(target)
		require.NoError(t, err, "%s: the link to %s", page, to)
	}
	if anchor != "" {
		require.True(t, slices.Contains(anchors(readPage(t, target)), anchor), "%s: the link to %s: no heading of %s", page, to, target)
	}
	return target
}

// anchors are the names that GitHub gives to the headings of a page.
func anchors(page string) []string {
	var names []string
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fencedBlock.ReplaceAllString(page, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, link.ReplaceAllString(m[1], "]"))
		count := seen[name]
		seen[name]++
		if count > 0 {
			name += "-" + strconv.Itoa(count)
		}
		names = append(names, name)
	}
	return names
}

func readPage(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// TestAnchors holds the names against some that GitHub gives.
func TestAnchors(t *testing.T) {
	const page = "# Speed and memory\n## `plegdiag stacks`: JSON, schema v1\n## Limits\n```\n# no heading\n```\n## Limits\n## See [here](x.md)\n"
	require.Equal(t, []string{"speed-and-memory", "plegdiag-stacks-json-schema-v1", "limits", "limits-1", "see-here"}, anchors(page))
}
