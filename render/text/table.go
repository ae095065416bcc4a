package text

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/internal/text/termtext"
)

// The least widths of shortened names: names of rows, other names, and any name if even these are too wide. The names
// of a row's keys share the first width.
const (
	leastKey  = 24
	leastName = 12
	leastAny  = 4
)

const gap = 2 // the space in front of each column

type table struct {
	columns []column
	rows    []row
	key     int // the least width of the names of rows before columns are left out; 0 means [leastKey]
}

type column struct {
	head string
	left bool // texts are aligned left, and figures right
	name bool // texts are from the input, and shortened to the available room
	// drop orders the columns left out of a table without room, highest first. A column with 0 stays.
	drop int

	used, shown           bool
	width, cells, natural int // shown width; width of the cells; with the head
}

// row is a row of a table. Its first cell links to address unless this is "".
type row struct {
	cells   []string
	address string
}

// newTable returns a table with a column of names for each key, then the given columns. They are separated by "|". Each
// has a head and, behind a colon, "n" for names or "t" for other text (figures have neither), and its [column.drop].
func newTable(columns string, keys ...string) *table {
	t := &table{}
	for _, key := range keys {
		t.columns = append(t.columns, column{head: key, left: true, name: true})
	}
	for head := range strings.SplitSeq(columns, "|") {
		how := ""
		if i := strings.LastIndexByte(head, ':'); i >= 0 {
			head, how = head[:i], head[i+1:]
		}
		drop, _ := strconv.Atoi(strings.TrimLeft(how, "nt"))
		name := strings.HasPrefix(how, "n")
		t.columns = append(t.columns, column{head: head, left: name || strings.HasPrefix(how, "t"), name: name,
			drop: drop})
	}
	return t
}

// show writes a table with the rows that add makes of the elements of a list.
func show[T any](p *page, columns string, list []T, add func(*table, *T)) {
	t := newTable(columns)
	for i := range list {
		add(t, &list[i])
	}
	p.table(t)
}

// add appends a row. It cleans cells, so that names from the input cannot reach the terminal as control sequences.
func (t *table) add(cells ...string) { t.addLinked("", cells...) }

// addLinked appends a row whose first cell links to link, unless this is "".
func (t *table) addLinked(link correlate.Link, cells ...string) {
	for i, c := range cells {
		cells[i] = termtext.Clean(c)
	}
	t.rows = append(t.rows, row{cells, address(link)})
}

// write appends the table to the page, indented by two spaces and at most as wide as the page, without empty columns.
// It returns the heads of columns without room, and the width needed for them.
func (t *table) write(p *page) (left []string, needed int) {
	if !p.Hyperlinks && slices.ContainsFunc(t.rows, func(r row) bool { return r.address != "" }) {
		t.columns = append(t.columns, column{head: "link", left: true})
		for i, r := range t.rows {
			t.rows[i] = row{append(r.cells, p.footnote(r.address)), ""}
		}
	}
	left, needed = t.layOut(p.Width)
	heads := make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i] = termtext.Truncate(c.head, c.width)
	}
	p.b.WriteString(p.styled(dim, t.line(row{heads, ""})) + "\n")
	for _, r := range t.rows {
		p.b.WriteString(t.line(r) + "\n")
	}
	return left, needed
}

// layOut fits the table into a width: it shortens names, then leaves out columns, then widens names to the remaining
// room.
func (t *table) layOut(width int) (left []string, needed int) {
	for i := range t.columns {
		c := &t.columns[i]
		c.head = termtext.Clean(c.head) // a key of attributes may be any text
		for _, r := range t.rows {
			c.cells = max(c.cells, termtext.Width(r.cells[i]))
			c.used = c.used || r.cells[i] != "" && r.cells[i] != absent
		}
		c.shown = c.used
		c.natural = max(termtext.Width(c.head), c.cells)
		if c.width = c.natural; c.name {
			c.width = min(c.natural, t.least(i))
		}
	}
	needed = t.total()
	for t.total() > width {
		last := t.pick(func(c, than *column) bool { return c.drop > 0 && (than == nil || c.drop >= than.drop) })
		if last == nil {
			break
		}
		last.shown = false
	}
	for _, c := range t.columns {
		if c.used && !c.shown && c.head != "" {
			left = append(left, c.head)
		}
	}
	// Narrow the widest names, then heads wider than their cells.
	for t.total() > width {
		widest := t.pick(func(c, than *column) bool {
			return c.name && c.width > leastAny && (than == nil || c.width > than.width)
		})
		if widest == nil {
			widest = t.pick(func(c, than *column) bool { return than == nil && c.width > c.cells })
		}
		if widest == nil {
			break
		}
		widest.width--
	}
	// Give the remaining room to the narrowest names.
	for room := width - t.total(); room > 0; room-- {
		narrowest := t.pick(func(c, than *column) bool {
			return c.width < c.natural && (than == nil || c.width < than.width)
		})
		if narrowest == nil {
			break
		}
		narrowest.width++
	}
	t.shortenNames()
	return left, needed
}

// pick returns the shown column preferred by better, nil for no column.
func (t *table) pick(better func(c, than *column) bool) (best *column) {
	for i := range t.columns {
		if c := &t.columns[i]; c.shown && better(c, best) {
			best = c
		}
	}
	return best
}

// least returns the least width of the names of column i before columns are left out. The first columns of names hold
// the keys of the rows.
func (t *table) least(i int) int {
	keys := slices.IndexFunc(t.columns, func(c column) bool { return !c.name || c.drop > 0 })
	if keys < 0 {
		keys = len(t.columns)
	}
	if i < keys {
		return max(leastName, cmp.Or(t.key, leastKey)/keys)
	}
	return leastName
}

func (t *table) total() (sum int) {
	for _, c := range t.columns {
		if c.shown {
			sum += gap + c.width
		}
	}
	return sum
}

func (t *table) shortenNames() {
	for i, c := range t.columns {
		if !c.name || !c.shown {
			continue
		}
		names := make([]string, len(t.rows))
		for n, r := range t.rows {
			names[n] = r.cells[i]
		}
		for n, short := range distinct(names, c.width) {
			t.rows[n].cells[i] = short
		}
	}
}

// line returns a line of the table without trailing blanks.
func (t *table) line(r row) string {
	var b strings.Builder
	pad := 0
	for i, text := range r.cells {
		c := &t.columns[i]
		if !c.shown {
			continue
		}
		before, after := 0, c.width-termtext.Width(text)
		if !c.left {
			before, after = after, 0
		}
		pad += gap + before
		if text != "" {
			b.WriteString(strings.Repeat(" ", pad))
			pad = 0
			if i == 0 && r.address != "" {
				text = hyperlink(r.address, text)
			}
			b.WriteString(text)
		}
		pad += after
	}
	return b.String()
}
