package text

import (
	"strings"

	"github.com/optrace/optrace/internal/termtext"
)

// maxCell is the widest a cell gets: kernel names run to hundreds of characters.
const maxCell = 48

// table lays out rows of cells in columns.
type table struct {
	// columns are the headings; one that starts with '<' is aligned left.
	columns []string
	rows    [][]string
	// keys has the names that make the first cell of a row, by number of the row.
	keys map[int][]string
}

func newTable(columns ...string) *table { return &table{columns: columns} }

// add appends a row. Cells are cleaned, so that names from the input cannot
// reach the terminal as control sequences.
func (t *table) add(cells ...string) {
	for i, c := range cells {
		cells[i] = termtext.Truncate(termtext.Clean(c), maxCell)
	}
	t.rows = append(t.rows, cells)
}

// addKeyed appends a row whose first cell is made of the names, and differs from
// those of other rows where the names do.
func (t *table) addKeyed(names []string, cells ...string) {
	if t.keys == nil {
		t.keys = make(map[int][]string)
	}
	t.keys[len(t.rows)] = names
	t.add(append([]string{""}, cells...)...)
}

// setLabels fills in the first cells of the rows that were added with names.
func (t *table) setLabels() {
	var numbers []int
	var keys [][]string
	for i := range t.rows {
		if names, ok := t.keys[i]; ok {
			numbers, keys = append(numbers, i), append(keys, names)
		}
	}
	for i, label := range labels(keys) {
		t.rows[numbers[i]][0] = label
	}
}

// addWide appends a row whose last cell is ours and may be of any width.
func (t *table) addWide(cells ...string) {
	last := cells[len(cells)-1]
	t.add(cells...)
	t.rows[len(t.rows)-1][len(cells)-1] = last
}

// write appends the table to b, indented by two spaces, without the columns in
// which no row has anything. Where the first cell of a row has several lines, the
// other cells are on the last of them.
func (t *table) write(b *strings.Builder, emphasis style) {
	t.setLabels()
	head := make([]string, len(t.columns))
	left := make([]bool, len(t.columns))
	widths := make([]int, len(t.columns))
	used := make([]bool, len(t.columns))
	for i, c := range t.columns {
		head[i], left[i] = strings.CutPrefix(c, "<")
		widths[i] = termtext.Width(head[i])
	}
	for _, row := range t.rows {
		for i, c := range row {
			for part := range strings.SplitSeq(c, "\n") {
				widths[i] = max(widths[i], termtext.Width(part))
			}
			used[i] = used[i] || c != "" && c != absent
		}
	}
	b.WriteString(emphasis.dim(line(head, widths, left, used)))
	b.WriteByte('\n')
	for _, row := range t.rows {
		lines := strings.Split(row[0], "\n")
		last := len(lines) - 1
		for _, above := range lines[:last] {
			b.WriteString("  " + above + "\n")
		}
		b.WriteString(line(append([]string{lines[last]}, row[1:]...), widths, left, used))
		b.WriteByte('\n')
	}
}

func line(cells []string, widths []int, left, used []bool) string {
	var b strings.Builder
	for i, c := range cells {
		if !used[i] {
			continue
		}
		pad := strings.Repeat(" ", widths[i]-termtext.Width(c))
		b.WriteString("  ")
		if left[i] {
			b.WriteString(c + pad)
		} else {
			b.WriteString(pad + c)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// style marks text up, where the output is a terminal.
type style struct{ color bool }

func (s style) bold(text string) string { return s.wrap("1", text) }
func (s style) dim(text string) string  { return s.wrap("2", text) }
func (s style) warn(text string) string { return s.wrap("33", text) }

func (s style) wrap(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
