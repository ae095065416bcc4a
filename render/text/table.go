package text

import (
	"slices"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/internal/termtext"
)

// column describes a column of a table.
type column struct {
	head string
	// left is set for texts, which are aligned left; numbers are aligned right.
	left bool
	// name is set for texts from the input. They are shortened to the room there is.
	name bool
	// drop says when the column is left out of a table that is too wide: the one with
	// the highest number goes first, those with 0 stay.
	drop int
}

func names(head string, drop int) column {
	return column{head: head, left: true, name: true, drop: drop}
}
func texts(head string, drop int) column   { return column{head: head, left: true, drop: drop} }
func figures(head string, drop int) column { return column{head: head, drop: drop} }

// table lays out rows of cells in columns.
type table struct {
	columns []column
	rows    [][]string
	// links has the addresses that the first cells of rows lead to, by number of the row.
	links map[int]string
	// key is the width down to which the names of the rows are shortened before columns are left out; 0 means
	// [leastKey].
	key int
}

func newTable(columns ...column) *table { return &table{columns: columns} }

// add appends a row. Cells are cleaned, so that names from the input cannot
// reach the terminal as control sequences.
func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = termtext.Clean(c)
	}
	t.rows = append(t.rows, cells)
}

// addLinked appends a row whose first cell leads to a link, "" for none.
func (t *table) addLinked(link correlate.Link, cells ...string) {
	if to := address(link); to != "" {
		if t.links == nil {
			t.links = make(map[int]string)
		}
		t.links[len(t.rows)] = to
	}
	t.add(cells...)
}

// write appends the table to the page, indented by two spaces and at most as wide as the
// page, without the columns in which no row has anything. It returns the heads of
// the columns that there is no room for, and the width that would show them.
func (t *table) write(p *page) (left []string, needed int) {
	t.numberLinks(p)
	l := newLayout(t, p.Width)
	l.shortenNames(t)
	heads := make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i] = termtext.Truncate(c.head, l.widths[i])
	}
	p.b.WriteString(p.dim(l.line(t, heads, func(head string) string { return head })) + "\n")
	for n, row := range t.rows {
		p.b.WriteString(l.line(t, row, func(name string) string {
			if address := t.links[n]; address != "" && p.Hyperlinks {
				return hyperlink(address, name)
			}
			return name
		}) + "\n")
	}
	return l.left, l.needed
}

// numberLinks adds a column that refers to the foot, where links cannot be
// followed in the text.
func (t *table) numberLinks(p *page) {
	if len(t.links) == 0 || p.Hyperlinks {
		return
	}
	t.columns = append(t.columns, texts("link", 0))
	for i, row := range t.rows {
		t.rows[i] = append(row, p.footnote(t.links[i]))
	}
}

// gap is the space in front of each column.
const gap = 2

// isUsed reports whether any row has something in a column.
func (t *table) isUsed(i int) bool {
	return slices.ContainsFunc(t.rows, func(row []string) bool { return !isEmpty(row[i]) })
}
