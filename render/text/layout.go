package text

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/termtext"
)

// The least widths that names are shortened to: that of the names of a table's
// rows, that of other names, and that of any where even this is too much. Names
// that share the first width are keys of the rows together.
const (
	leastKey  = 24
	leastName = 12
	leastAny  = 4
)

// layout says which columns of a table are shown, and how wide.
type layout struct {
	widths []int
	shown  []bool
	cells  []int    // the widths of the cells, without their heads
	left   []string // the heads of columns that are not shown for want of room
	needed int      // the width in which all columns are shown
}

// newLayout fits a table into a width. Names are shortened first, then columns are
// left out, and names get the room that remains.
func newLayout(t *table, width int) *layout {
	l := &layout{widths: make([]int, len(t.columns)), shown: make([]bool, len(t.columns)), cells: make([]int, len(t.columns))}
	natural := make([]int, len(t.columns))
	for i, c := range t.columns {
		l.shown[i] = t.isUsed(i)
		for _, row := range t.rows {
			l.cells[i] = max(l.cells[i], termtext.Width(row[i]))
		}
		natural[i] = max(termtext.Width(c.head), l.cells[i])
		l.widths[i] = natural[i]
		if c.name {
			l.widths[i] = min(natural[i], t.least(i))
		}
	}
	l.needed = l.total()
	for l.total() > width {
		last := -1
		for i, c := range t.columns {
			if l.shown[i] && c.drop > 0 && (last < 0 || c.drop >= t.columns[last].drop) {
				last = i
			}
		}
		if last < 0 {
			break
		}
		l.shown[last] = false
	}
	for i, c := range t.columns {
		if !l.shown[i] && t.isUsed(i) && c.head != "" {
			l.left = append(l.left, c.head)
		}
	}
	l.narrow(t, width)
	l.widen(t, natural, width)
	return l
}

// least returns the width down to which the names of a column are shortened
// before columns are left out. The first columns of names have the keys of the
// rows.
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

// total returns the width of a line.
func (l *layout) total() int {
	sum := 0
	for i, w := range l.widths {
		if l.shown[i] {
			sum += gap + w
		}
	}
	return sum
}

// narrow takes from the widest names, and then from heads that are wider than what
// they stand over, while the table is too wide.
func (l *layout) narrow(t *table, width int) {
	for l.total() > width {
		widest := -1
		for i, c := range t.columns {
			if l.shown[i] && c.name && l.widths[i] > leastAny && (widest < 0 || l.widths[i] > l.widths[widest]) {
				widest = i
			}
		}
		for i := range t.columns {
			if widest < 0 && l.shown[i] && l.widths[i] > l.cells[i] {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		l.widths[widest]--
	}
}

// widen gives the room that is left to the names that are shortened, to the
// narrowest first.
func (l *layout) widen(t *table, natural []int, width int) {
	for room := width - l.total(); room > 0; room-- {
		narrowest := -1
		for i := range t.columns {
			if l.shown[i] && l.widths[i] < natural[i] && (narrowest < 0 || l.widths[i] < l.widths[narrowest]) {
				narrowest = i
			}
		}
		if narrowest < 0 {
			return
		}
		l.widths[narrowest]++
	}
}

// shortenNames cuts the names of the rows to the widths of their columns.
func (l *layout) shortenNames(t *table) {
	for i, c := range t.columns {
		if !c.name || !l.shown[i] {
			continue
		}
		column := make([]string, len(t.rows))
		for n, row := range t.rows {
			column[n] = row[i]
		}
		for n, short := range distinct(column, l.widths[i]) {
			t.rows[n][i] = short
		}
	}
}

// line returns a line of the table without blanks at its end.
func (l *layout) line(t *table, cells []string, mark func(string) string) string {
	var b strings.Builder
	pad := 0
	for i, c := range cells {
		if !l.shown[i] {
			continue
		}
		before, after := 0, l.widths[i]-termtext.Width(c)
		if !t.columns[i].left {
			before, after = after, 0
		}
		pad += gap + before
		if c != "" {
			b.WriteString(strings.Repeat(" ", pad))
			pad = 0
			if i == 0 {
				c = mark(c)
			}
			b.WriteString(c)
		}
		pad += after
	}
	return b.String()
}
