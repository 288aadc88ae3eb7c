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

// sort is how the values of a column are shown. The name of a column tells it.
type sort int

const (
	plain sort = iota
	report
	share
	seconds
)

// sortOf tells what a column holds: share or …_share is a part of 1, …_seconds a length of time,
// report or …_report the path of a report below the directory of the rows.
func sortOf(column string) sort {
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

// title is what a column is called: its name as words, without what the cells say themselves.
func title(column string) string {
	if sortOf(column) == seconds {
		column = strings.TrimSuffix(column, "_seconds")
	}
	return strings.ReplaceAll(column, "_", " ")
}

// isNumber says that all values of a column are numbers, where they are known.
func isNumber(a *fleet.Answer, column int) bool {
	return !slices.ContainsFunc(a.Rows, func(row []any) bool {
		_, ok := row[column].(float64)
		return !ok && row[column] != nil
	})
}

// isWhole says that all numbers of a column are whole ones.
func isWhole(a *fleet.Answer, column int) bool {
	return !slices.ContainsFunc(a.Rows, func(row []any) bool {
		v, ok := row[column].(float64)
		return ok && v != math.Trunc(v)
	})
}

// format is a value as people read it; empty where it is unknown. It is not escaped. Whole says
// that numbers of the column have no decimals.
func format(column string, value any, whole bool) string {
	switch v := value.(type) {
	case float64:
		switch sortOf(column) {
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
