package yamlfile

import (
	"bytes"
	"errors"
	"io"

	"go.yaml.in/yaml/v3"
)

// MaxSize bounds a file, in bytes; the longest rules of the catalogue are a tenth of it.
const MaxSize = 64 << 10

// Read reads the one YAML document of a file.
func Read(file string, text []byte) (*Source, *Problem) {
	src := &Source{File: file}
	if len(text) > MaxSize {
		return src, src.Problem(nil, "larger than %d bytes", MaxSize)
	}
	documents := 0
	for in := yaml.NewDecoder(bytes.NewReader(text)); ; documents++ {
		var document yaml.Node
		err := in.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return src, src.yamlProblem(err)
		}
		if len(document.Content) > 0 && src.root == nil {
			src.root = document.Content[0]
		}
	}
	if documents != 1 || src.root == nil {
		src.root = nil
		return src, src.Problem(nil, "expected one YAML document, not %d", documents)
	}
	if problem := src.findRepeatedKey(src.root); problem != nil {
		return src, problem
	}
	return src, nil
}

// findRepeatedKey returns a problem where a mapping has a key twice: one of the two would be lost.
func (s *Source) findRepeatedKey(node *yaml.Node) *Problem {
	first := map[string]int{}
	for key := range listEntries(node) {
		if line, repeated := first[key.Value]; repeated {
			return s.problemAt(key, "mapping key %q already defined in line %d", key.Value, line)
		}
		first[key.Value] = key.Line
	}
	for _, child := range node.Content {
		if problem := s.findRepeatedKey(child); problem != nil {
			return problem
		}
	}
	return nil
}
