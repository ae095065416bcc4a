package text

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
)

// The width of the text where none is stated, and the least there is.
const (
	defaultWidth = 200
	MinWidth     = 60
)

// defaultRows bounds the rows of a table where no bound is stated.
const defaultRows = 30

// Options says how to render.
type Options struct {
	// Color marks headings up with ANSI sequences.
	Color bool
	// Hyperlinks makes names lead to the tracing backend, on terminals that know such
	// links. Otherwise links are numbered and listed at the foot.
	Hyperlinks bool
	// Width bounds the lines, in columns; 0 means 200, and less than
	// [MinWidth] means that. Addresses at the foot and lines of code are as long as they are.
	Width int
	// Rows bounds the rows of a table; 0 means 30. [WriteDoctor] shows all.
	Rows int
	// Top bounds the requests of a correlation; the slowest are shown.
	Top int
	// Show decides whether a section of a report is shown; nil shows all. Sections that were
	// not computed are left out in any case, and with nil so are the steps of an
	// input that states none, launches where none is known, and sequences where nothing is
	// repeated.
	Show func(section string) bool
}

// page is the text under way.
type page struct {
	Options
	b         strings.Builder
	addresses symbols.Table[string] // that the text refers to
}

func newPage(opts Options) page {
	opts.Width, opts.Rows = max(cmp.Or(opts.Width, defaultWidth), MinWidth), cmp.Or(opts.Rows, defaultRows)
	return page{Options: opts}
}

func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

// labelWidth is the width of the labels of the envelope.
const labelWidth = 11

// field writes a labelled line, and further ones where it takes several, nothing without a value; a value
// that asks for attention is marked.
func (p *page) field(label, value string, attention bool) {
	if value == "" {
		return
	}
	label += strings.Repeat(" ", max(1, labelWidth-len(label)))
	style := ""
	if attention {
		style = warn
	}
	p.fold(p.styled(bold, label), strings.Repeat(" ", len(label)), value, style)
}

// fault writes a labelled line about n things that are wrong, nothing where there are none, and fact about n that are not wrong.
func (p *page) fault(label string, n int64, text string) { p.field(label, ifAny(n, text), true) }
func (p *page) fact(label string, n int64, text string)  { p.field(label, ifAny(n, text), false) }

// ifAny returns a text unless there is nothing that it is about.
func ifAny(n int64, text string) string {
	if n <= 0 {
		return ""
	}
	return text
}

func (p *page) heading(text string) {
	p.b.WriteByte('\n')
	p.fold("", "", termtext.Clean(text), bold)
}

// empty writes a heading and, where there is nothing below it, why; it reports whether that is so.
func (p *page) empty(heading string, nothing bool, why string) bool {
	p.heading(heading)
	if nothing {
		p.note(why)
	}
	return nothing
}

// note writes a line below a heading, indented; its further lines are indented
// more.
func (p *page) note(text string) { p.styledNote("", text) }

func (p *page) styledNote(style, text string) { p.fold("  ", "    ", text, style) }

// fold writes text in as many lines as it takes, in a style, behind the beginnings of the first and of the further ones.
func (p *page) fold(first, further, text, style string) {
	// A label has a style of its own, and is as wide as what stands below it.
	for i, line := range termtext.Wrap(text, p.Width-min(len(first), len(further)), p.Width-len(further)) {
		if i > 0 {
			first = further
		}
		p.b.WriteString(first + p.styled(style, line) + "\n")
	}
}

// table writes a table and tells of the rows that it leaves out.
func (p *page) table(t *table) { p.first(t, p.Rows, 0) }

// first writes the first rows of a table, nothing if there are none. It tells of those that it leaves out, of
// others that are not in the table, and of columns that there is no room for.
func (p *page) first(t *table, rows, others int) {
	if len(t.rows) == 0 {
		return
	}
	more := max(0, len(t.rows)-rows)
	t.rows = t.rows[:len(t.rows)-more]
	left, needed := t.write(p)
	p.more(more + others)
	if len(left) > 0 {
		p.styledNote(dim, fmt.Sprintf("without %s: -width %d", strings.Join(left, ", "), needed))
	}
}

func (p *page) more(rows int) {
	if rows > 0 {
		p.note("… and " + units.Count(int64(rows)) + " more")
	}
}

// The styles of text, as parameters of ANSI sequences.
const (
	bold = "1"
	dim  = "2"
	warn = "33"
)

func (p *page) styled(style, text string) string {
	if !p.Color || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}
