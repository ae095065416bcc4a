package text

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/internal/termtext"
	"github.com/optrace/optrace/internal/units"
)

// The width of the text where none is stated, and the least there is.
const (
	DefaultWidth = 200
	MinWidth     = 60
)

// DefaultRows bounds the rows of a table where no bound is stated.
const DefaultRows = 30

// maxInText bounds names within sentences.
const maxInText = 48

// page is the text under way.
type page struct {
	b     strings.Builder
	width int
	rows  int // bounds the rows of a table
	color bool
	// hyperlinks is set where links stand behind the names. Elsewhere they are
	// numbered and listed at the foot.
	hyperlinks bool
	addresses  []string
	numbers    map[string]int
}

// newPage returns an empty page; 0 stands for the default of a number.
func newPage(width, rows int, color, hyperlinks bool) page {
	if width == 0 {
		width = DefaultWidth
	}
	if rows == 0 {
		rows = DefaultRows
	}
	return page{width: max(width, MinWidth), rows: rows, color: color, hyperlinks: hyperlinks}
}

// labelWidth is the width of the labels of the envelope.
const labelWidth = 11

// field writes a labelled line, and further ones where it takes several; a value
// that asks for attention is marked.
func (p *page) field(label, value string, attention bool) {
	label += strings.Repeat(" ", max(1, labelWidth-len(label)))
	for i, line := range termtext.Wrap(value, p.width-len(label), p.width-len(label)) {
		if attention {
			line = p.warn(line)
		}
		if i == 0 {
			p.b.WriteString(p.bold(label) + line + "\n")
		} else {
			p.b.WriteString(strings.Repeat(" ", len(label)) + line + "\n")
		}
	}
}

func (p *page) heading(text string) {
	p.b.WriteByte('\n')
	for _, line := range termtext.Wrap(text, p.width, p.width) {
		p.b.WriteString(p.bold(line) + "\n")
	}
}

// note writes a line below a heading, indented; its further lines are indented
// more.
func (p *page) note(text string) { p.noteIn(text, func(line string) string { return line }) }

func (p *page) noteIn(text string, style func(string) string) {
	const first, further = "  ", "    "
	lines := termtext.Wrap(text, p.width-len(first), p.width-len(further))
	for i, line := range lines {
		indent := further
		if i == 0 {
			indent = first
		}
		p.b.WriteString(indent + style(line) + "\n")
	}
}

// table writes a table and tells of the rows that it leaves out.
func (p *page) table(t *table) { p.first(t, p.rows, 0) }

// first writes the first rows of a table. It tells of those that it leaves out, of
// others that are not in the table, and of columns that there is no room for.
func (p *page) first(t *table, rows, others int) {
	more := max(0, len(t.rows)-rows)
	t.rows = t.rows[:len(t.rows)-more]
	left, needed := t.write(p)
	p.more(more + others)
	if len(left) > 0 {
		p.noteIn(fmt.Sprintf("without %s: -width %d", strings.Join(left, ", "), needed), p.dim)
	}
}

// more tells of rows that are not shown.
func (p *page) more(rows int) {
	if rows > 0 {
		p.note("… and " + units.Count(int64(rows)) + " more")
	}
}

func (p *page) bold(text string) string { return p.wrap("1", text) }
func (p *page) dim(text string) string  { return p.wrap("2", text) }
func (p *page) warn(text string) string { return p.wrap("33", text) }

func (p *page) wrap(code, text string) string {
	if !p.color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
