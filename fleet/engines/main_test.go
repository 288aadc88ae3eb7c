// Package engines holds tests of what works on a fleet beside plegdiag: DuckDB, in the place of its
// program, and an object store.
package engines

import (
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
)

// TestMain is also the program duckdb: with its flags it runs the SQL of standard input, as that
// does.
func TestMain(m *testing.M) {
	if !slices.Contains(os.Args, "-batch") && filepath.Base(os.Args[0]) != "duckdb" {
		os.Exit(m.Run())
	}
	if err := answer(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer(script io.Reader) error {
	text, err := io.ReadAll(script)
	if err != nil {
		return err
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec(string(text))
	return err
}
