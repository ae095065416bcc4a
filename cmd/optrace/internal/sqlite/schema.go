package sqlite

import (
	"regexp"
	"slices"
	"strings"
)

// columnsOf returns the columns of a CREATE TABLE statement in the order in which rows have them, and the place of the one
// that is the number of the row, -1 for none. It reads statements as exports have them: names are words, and the number of
// the row is named where the column is.
func columnsOf(sql string) (names []string, rowid int) {
	rowid = -1
	_, list, _ := strings.Cut(comments.ReplaceAllString(sql, ""), "(")
	list = list[:max(0, strings.LastIndexByte(list, ')'))]
	for inner.MatchString(list) {
		list = inner.ReplaceAllString(list, "")
	}
	for definition := range strings.SplitSeq(list, ",") {
		words := strings.Fields(strings.ToUpper(definition))
		if len(words) == 0 || slices.Contains(constraints, words[0]) ||
			slices.Contains(words, "AS") && !slices.Contains(words, "STORED") { // computed, and in no row
			continue
		}
		if len(words) > 2 && words[1] == "INTEGER" && slices.Contains(words, "PRIMARY") {
			rowid = len(names)
		}
		names = append(names, strings.Trim(strings.Fields(definition)[0], "\"`[]"))
	}
	return names, rowid
}

var (
	comments = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?\*/`)
	inner    = regexp.MustCompile(`\([^()]*\)`) // types, references and expressions
)

// constraints begin definitions that are no columns.
var constraints = []string{"CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"}
