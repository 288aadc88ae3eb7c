package report

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/json.md describes every field of the document that explains a line.
func TestExplainIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/json.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(text), "`"+ExplainSchema+"`")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n### ")
	described := func(rows ...any) {
		for _, row := range rows {
			of := reflect.TypeOf(row)
			for field := range of.Fields() {
				if tag := field.Tag.Get("json"); tag != "" && tag != "schema" && tag != "tool" {
					require.Regexp(t, "`"+tag+`(\[\])?`+"`", section)
				}
			}
		}
	}
	described(explanation{}, readEventRow{}, fitRow{}, droppedRow{}, useRow{}, mention{})
}
