package dashboard

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plegdiag/plegdiag/fleet"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// columnKind is how the values of a column are shown. The name of a column tells it.
type columnKind int

const (
	plain columnKind = iota
	report
	share
	seconds
)

// kindOfColumn tells what a column holds: share or …_share is a part of 1, …_seconds a length of
// time, report or …_report the path of a report below the directory of the rows.
func kindOfColumn(column string) columnKind {
	switch word := column[strings.LastIndexByte(column, '_')+1:]; word {
	case "report":
		return report
	case "share":
		return share
	case "seconds":
		return seconds
	}
	return plain
}

// columnTitle is what a column is called: its name as words, without what the cells say themselves.
func columnTitle(column string) string {
	if kindOfColumn(column) == seconds {
		column = strings.TrimSuffix(column, "_seconds")
	}
	return strings.ReplaceAll(column, "_", " ")
}

// isNumberColumn says that all values of a column are numbers, where they are known.
func isNumberColumn(a *fleet.Answer, column int) bool {
	return !slices.ContainsFunc(a.Rows, func(row []any) bool {
		_, ok := row[column].(float64)
		return !ok && row[column] != nil
	})
}

// isWholeColumn says that all numbers of a column are whole ones.
func isWholeColumn(a *fleet.Answer, column int) bool {
	return !slices.ContainsFunc(a.Rows, func(row []any) bool {
		v, ok := row[column].(float64)
		return ok && v != math.Trunc(v)
	})
}

// formatValue is a value as people read it; empty where it is unknown. It is not escaped. Whole
// says that numbers of the column have no decimals.
func formatValue(column string, value any, whole bool) string {
	switch v := value.(type) {
	case float64:
		switch kindOfColumn(column) {
		case share:
			return strconv.FormatFloat(100*v, 'f', 0, 64) + " %"
		case seconds:
			return show.Duration(time.Duration(v*float64(time.Second)), false)
		}
		if whole {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return strconv.FormatFloat(v, 'f', 2, 64)
	case string:
		if at, err := time.Parse(time.RFC3339, v); err == nil {
			return at.UTC().Format(time.DateTime)
		}
		return v
	case []any:
		words := make([]string, len(v))
		for i, word := range v {
			words[i] = fmt.Sprint(word)
		}
		return strings.Join(words, ", ")
	}
	return ""
}
