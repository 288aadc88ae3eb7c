package fleet

import (
	"io/fs"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/report/rows"
)

// TestQuestions holds that every file is a question that can be put into a script: one statement
// with a title.
func TestQuestions(t *testing.T) {
	names, err := fs.Glob(files, "questions/*.sql")
	require.NoError(t, err)
	require.Len(t, names, len(order)+1, "each file is asked, but for tables.sql")
	for _, q := range Questions() {
		require.NotEmpty(t, q.Title, q.Name)
		require.Regexp(t, `^(SELECT|WITH)\s`, q.SQL, q.Name)
		require.NotContains(t, q.SQL, ";", q.Name)
		require.NotRegexp(t, `(?m)^\.`, q.SQL, "DuckDB's program would take it for a command of its own")
	}
}

// TestScript holds that what a user gives is data to SQL.
func TestScript(t *testing.T) {
	split := time.Date(2026, 10, 1, 12, 0, 0, 0, time.FixedZone("", 2*60*60))
	script := Script(Asked{Rows: "it's/rows.jsonl", Label: "ring'; DROP TABLE rows; --", Split: split}, "/out'put")
	require.Contains(t, script, "SET VARIABLE rows = 'it''s/rows.jsonl';\n")
	require.Contains(t, script, "SET VARIABLE label = 'ring''; DROP TABLE rows; --';\n")
	require.Contains(t, script, "SET VARIABLE split = TIMESTAMP '2026-10-01 10:00:00';\n")
	require.Contains(t, script, "TO '/out''put/causes.json'")
	plain := Script(Asked{Rows: "rows.jsonl"}, "")
	require.NotContains(t, plain, "COPY")
	require.NotContains(t, plain, "VARIABLE label")
}

// sqlTypes are the types of SQL for the types of columns.
var sqlTypes = map[reflect.Type]string{
	reflect.TypeFor[rows.Text](): "VARCHAR", reflect.TypeFor[string](): "VARCHAR", reflect.TypeFor[rows.Moment](): "TIMESTAMP",
	reflect.TypeFor[*int](): "BIGINT", reflect.TypeFor[*rows.Float](): "DOUBLE", reflect.TypeFor[*bool](): "BOOLEAN",
	reflect.TypeFor[[]string](): "VARCHAR[]", reflect.TypeFor[map[string]string](): "MAP(VARCHAR, VARCHAR)",
}

// TestTablesHaveTheColumnsOfRows holds that tables.sql reads every column of a row, with its type.
func TestTablesHaveTheColumnsOfRows(t *testing.T) {
	text := read("tables")
	_, text, _ = strings.Cut(text, "columns = {")
	text, _, _ = strings.Cut(text, "});")
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`"?(\w+)"?: '([^']+)'`).FindAllStringSubmatch(text, -1) {
		found[m[1]] = m[2]
	}
	row := reflect.TypeFor[rows.Row]()
	for field := range row.Fields() {
		name := field.Tag.Get("json")
		if name == "schema" {
			continue
		}
		require.Equal(t, sqlTypes[field.Type], found[name], name)
		delete(found, name)
	}
	require.Empty(t, found, "no such columns")
}
