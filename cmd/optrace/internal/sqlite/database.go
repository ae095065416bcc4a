// Package sqlite reads the rows of an SQLite database by the description of its [file format], one table after another.
// It has no queries, indexes, views or computed columns, and does not write.
//
// The database is untrusted input. The reader visits no page more often than there are pages, limits a row to 1 MiB,
// and its memory does not grow with the database. It reports damage by page and reads the other pages.
//
// [file format]: https://www.sqlite.org/fileformat2.html
package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	magic         = "SQLite format 3\x00"
	headerBytes   = 100
	schemaRoot    = 1
	maxSchema     = 16 << 20 // bytes of statements
	maxPageBytes  = 1 << 16
	minPageBytes  = 512
	minUsable     = 480
	utf8Encoding  = 1
	schemaColumns = "CREATE TABLE sqlite_schema (type TEXT, name TEXT, tbl_name TEXT, rootpage INTEGER, sql TEXT)"
)

// Database is a read-only database. Its methods may be called concurrently.
type Database struct {
	src           io.ReaderAt
	page          int // bytes
	usable        int // of these
	pages, stated int64
	tables        map[string]table
}

type table struct {
	root int64
	sql  string
}

// DamageError describes a damaged page.
type DamageError struct {
	Page int64 // from 1
	Msg  string
}

func (e *DamageError) Error() string { return fmt.Sprintf("page %d: %s", e.Page, e.Msg) }

// Open reads the schema of a database of size bytes.
func Open(src io.ReaderAt, size int64) (*Database, error) {
	var head [headerBytes]byte
	if _, err := src.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	d := &Database{src: src, page: int(binary.BigEndian.Uint16(head[16:])), tables: make(map[string]table)}
	if d.page == 1 {
		d.page = maxPageBytes
	}
	d.usable = d.page - int(head[20])
	encoding := binary.BigEndian.Uint32(head[56:])
	switch {
	case string(head[:len(magic)]) != magic:
		return nil, errors.New("no SQLite database")
	case d.page < minPageBytes || d.page&(d.page-1) != 0 || d.usable < minUsable:
		return nil, fmt.Errorf("pages of %d bytes", d.page)
	case encoding > utf8Encoding:
		return nil, errors.New("texts in UTF-16")
	}
	d.pages = size / int64(d.page)
	if string(head[24:28]) == string(head[92:96]) {
		d.stated = int64(binary.BigEndian.Uint32(head[28:]))
	}
	d.tables["sqlite_schema"] = table{schemaRoot, schemaColumns}
	bytes := 0
	for v, err := range d.Rows("sqlite_schema", "type", "name", "rootpage", "sql") {
		if err != nil {
			return nil, fmt.Errorf("table sqlite_schema: %w", err)
		}
		if sql := string(v[3].Text); string(v[0].Text) == "table" && strings.HasPrefix(sql, "CREATE TABLE") {
			d.tables[string(v[1].Text)] = table{v[2].Int, sql}
			if bytes += len(sql); bytes > maxSchema {
				return nil, errors.New("table sqlite_schema: too large")
			}
		}
	}
	delete(d.tables, "sqlite_schema")
	return d, nil
}

// Tables returns the sorted names of the tables.
func (d *Database) Tables() []string { return slices.Sorted(maps.Keys(d.tables)) }

// Has reports whether there is a table.
func (d *Database) Has(table string) bool { _, ok := d.tables[table]; return ok }

// Lacks returns the number of pages missing at the end of the file.
func (d *Database) Lacks() int64 { return max(0, d.stated-d.pages) }

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
