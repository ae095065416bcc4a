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

// The default and the least width of the text.
const (
	defaultWidth = 200
	MinWidth     = 60
)

const defaultRows = 30

// Options configures rendering.
type Options struct {
	// Color marks headings with ANSI sequences.
	Color bool
	// Hyperlinks makes names link to the tracing backend, for terminals with OSC 8. Otherwise links are numbered and
	// listed at the foot.
	Hyperlinks bool
	// Width bounds the lines, in columns; 0 means 200, and less than [MinWidth] means MinWidth. Addresses at the foot
	// and lines of code may be longer.
	Width int
	// Rows bounds the rows of a table; 0 means 30. [WriteDoctor] shows all rows.
	Rows int
	// Top bounds the requests of a correlation; the slowest are shown.
	Top int
	// FirstScreen begins a correlation with its most important parts.
	FirstScreen bool
	// Show selects the sections of a report; nil shows all. Sections without a computed result are left out. So are, if
	// Show is nil, steps without stated steps, launches without known launches, and sequences without repetition.
	Show func(section string) bool
}

type page struct {
	Options
	b         strings.Builder
	addresses symbols.Table[string] // linked from the text
}

func newPage(opts Options) page {
	opts.Width = max(cmp.Or(opts.Width, defaultWidth), MinWidth)
	opts.Rows = cmp.Or(opts.Rows, defaultRows)
	return page{Options: opts}
}

func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.b.String())
	return err
}

const labelWidth = 11

// field writes a label and a value, folded, and marks values that need attention. It writes no line for an empty value.
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

// fault writes a labelled line about n wrong things, fact about n other things; neither does for n = 0.
func (p *page) fault(label string, n int64, text string) { p.field(label, ifAny(n, text), true) }
func (p *page) fact(label string, n int64, text string)  { p.field(label, ifAny(n, text), false) }

// ifAny returns text if n is positive, else "".
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

// empty writes a heading. If nothing is true it also writes why. It returns nothing.
func (p *page) empty(heading string, nothing bool, why string) bool {
	p.heading(heading)
	if nothing {
		p.note(why)
	}
	return nothing
}

// note writes an indented line below a heading.
func (p *page) note(text string) { p.styledNote("", text) }

func (p *page) styledNote(style, text string) { p.fold("  ", "    ", text, style) }

// fold wraps text to the width, in a style. first begins the first line, further all others.
func (p *page) fold(first, further, text, style string) {
	// first may contain style sequences, so the shorter of the two gives its width.
	for i, line := range termtext.Wrap(text, p.Width-min(len(first), len(further)), p.Width-len(further)) {
		if i > 0 {
			first = further
		}
		p.b.WriteString(first + p.styled(style, line) + "\n")
	}
}

// table writes a table and the number of omitted rows.
func (p *page) table(t *table) { p.first(t, p.Rows, 0) }

// first writes the first rows of a table, if it has any. It adds the number of omitted rows, including others outside
// the table, and the columns without room.
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
