// Package fleet asks what the rows of plegdiag batch say of all nodes together. The questions are
// SQL for DuckDB, which is asked as a program: nothing of it is in plegdiag.
package fleet

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

//go:embed questions/*.sql
var files embed.FS

// Question is one thing that somebody wants to know of a fleet.
type Question struct {
	Name  string // of its file, without .sql
	Title string
	About string // what its columns count; empty where the title says it
	SQL   string // one statement without a semicolon, on the tables of tables.sql
}

// order is that of the dashboard. tables.sql asks nothing: it makes the tables.
var order = []string{"summary", "causes", "days", "compare", "versions", "first", "nodes", "unexplained", "missing", "failed"}

// Questions are all questions, in the order in which they are answered.
func Questions() []Question {
	all := make([]Question, len(order))
	for i, name := range order {
		all[i] = parseQuestion(name, read(name))
	}
	return all
}

// read is the text of a file of the package itself.
func read(name string) string {
	text, err := fs.ReadFile(files, "questions/"+name+".sql")
	if err != nil {
		panic(err) //nolint:forbidigo // the file is built in
	}
	return string(text)
}

// parseQuestion takes a file apart: the first comment line is the title, those after it are what it
// is about.
func parseQuestion(name, text string) Question {
	q := Question{Name: name}
	for {
		line, rest, _ := strings.Cut(text, "\n")
		comment, ok := strings.CutPrefix(line, "-- ")
		if !ok {
			break
		}
		if q.Title == "" {
			q.Title = comment
		} else {
			q.About = strings.TrimSpace(q.About + " " + comment)
		}
		text = rest
	}
	q.SQL = strings.TrimRight(text, " \n;")
	return q
}

// Asked is what the questions are about.
type Asked struct {
	// Rows is the file with the rows, as DuckDB shall open it.
	Rows string
	// Label is the key of the label by whose values the question compare counts; empty for none.
	Label string
	// Split is the moment before and after which it counts; zero for none.
	Split time.Time
}

// Script is the SQL that makes the tables and answers all questions. With outDir each answer
// becomes the file NAME.json there, one JSON object a line; without, DuckDB prints it.
func Script(a Asked, outDir string) string {
	var b strings.Builder
	// The answers need nothing from the network, and an extension that is missing shall not be
	// fetched.
	b.WriteString("SET autoinstall_known_extensions = false;\n")
	fmt.Fprintf(&b, "SET VARIABLE rows = %s;\n", literal(a.Rows))
	if a.Label != "" {
		fmt.Fprintf(&b, "SET VARIABLE label = %s;\n", literal(a.Label))
	}
	if !a.Split.IsZero() {
		fmt.Fprintf(&b, "SET VARIABLE split = TIMESTAMP %s;\n", literal(a.Split.UTC().Format("2006-01-02 15:04:05")))
	}
	fmt.Fprintf(&b, "\n%s\n", read("tables"))
	for _, q := range Questions() {
		fmt.Fprintf(&b, "-- %s\n", q.Title)
		if outDir == "" {
			fmt.Fprintf(&b, "%s;\n\n", q.SQL)
		} else {
			fmt.Fprintf(&b, "COPY (\n%s\n) TO %s (FORMAT json, TIMESTAMPFORMAT '%%Y-%%m-%%dT%%H:%%M:%%SZ');\n\n", q.SQL, literal(outDir+"/"+q.Name+".json"))
		}
	}
	return b.String()
}

// literal is a text as SQL writes it.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
