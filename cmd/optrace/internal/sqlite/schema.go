package sqlite

import (
	"regexp"
	"slices"
	"strings"
)

// columnsOf returns the columns of a CREATE TABLE statement in the order of a row, "" for a computed one, and the index
// of the row id's column, or -1.
func columnsOf(sql string) (names []string, rowid int) {
	integers := make(map[string]int)
	primary := ""
	for _, d := range definitions(sql) {
		name := d[0].text
		isKey := d.has("PRIMARY")
		switch {
		case !d[0].quoted && slices.Contains(constraints, strings.ToUpper(name)):
			if inner := d.inner(); isKey && inner != "" {
				primary = strings.ToLower(inner)
			}
		case d.has("AS") && !d.has("STORED"): // in no row
		case d.has("AS"):
			names = append(names, "")
		default:
			if len(d) > 1 && d[1].is("INTEGER") {
				integers[strings.ToLower(name)] = len(names)
			}
			if isKey {
				primary = strings.ToLower(name)
			}
			names = append(names, name)
		}
	}
	if at, ok := integers[primary]; ok {
		return names, at
	}
	return names, -1
}

var constraints = []string{"CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"}

// token is a word, a quoted name, a text or a mark, at a depth of parentheses.
type token struct {
	text   string
	quoted bool
	depth  int
}

func (t token) is(word string) bool { return !t.quoted && strings.EqualFold(t.text, word) }

type definition []token

// has reports whether the definition has a word outside of parentheses.
func (d definition) has(word string) bool {
	return slices.ContainsFunc(d, func(t token) bool { return t.depth == 1 && t.is(word) })
}

// inner returns the single name in parentheses, "" for several.
func (d definition) inner() (name string) {
	for _, t := range d {
		switch {
		case t.depth > 1 && t.is(","):
			return ""
		case t.depth > 1 && name == "":
			name = t.text
		}
	}
	return name
}

func definitions(sql string) (all []definition) {
	var d definition
	depth := 0
	for _, m := range tokens.FindAllStringSubmatch(sql, -1) {
		t := token{text: m[1] + m[2] + m[3] + m[4] + m[5], quoted: m[1] == "", depth: depth}
		switch {
		case t.is("("):
			depth++
		case t.is(")") && depth <= 1, t.is(",") && depth == 1:
			if len(d) > 0 {
				all = append(all, d)
			}
			if d = nil; t.is(")") {
				return all
			}
		case t.is(")"):
			depth--
		case depth > 0 && !strings.HasPrefix(m[0], "--") && !strings.HasPrefix(m[0], "/*"):
			d = append(d, t)
		}
	}
	return all
}

// tokens matches comments, texts, quoted names, marks and words.
var tokens = regexp.MustCompile(`(?s)--[^\n]*|/\*.*?(?:\*/|$)|([(),/-]|[^\s"'` + "`" + `\[(),/-]+)|` +
	`"([^"]*)"?|'([^']*)'?|` + "`([^`]*)`?" + `|\[([^]]*)\]?`)
