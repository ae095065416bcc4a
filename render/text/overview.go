package text

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/internal/text/termtext"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// The default width of an overview, its lines in this width, and bounds of its parts.
const (
	overviewWidth    = 80
	overviewLines    = 30
	overviewFaults   = 3
	overviewFindings = 5
	overviewRows     = 10
	overviewKey      = 24
)

// WriteOverview renders the first screen of r to w, with one call of Write: the headline, the input and its faults, the
// most important findings, the operations with the most self time (or groups, if the report has any), and the devices.
// Operations of the host's side are shown if there are no others.
//
// In 80 columns, the default width here, it has at most 30 lines, unless opts.Rows is set. The sections selected by
// opts.Show follow in full.
func WriteOverview(w io.Writer, r *analyze.Report, opts Options) error {
	if opts.Width == 0 {
		opts.Width = overviewWidth
	}
	o := overview{view: newView(r, opts), most: cmp.Or(opts.Rows, overviewRows)}
	o.write()
	for _, s := range sections {
		if s.name != SectionFindings && opts.Show != nil && opts.Show(s.name) {
			s.write(o.view)
		}
	}
	return o.writeTo(w)
}

type overview struct {
	*view
	most int // rows of a table
}

// write divides the lines among the parts: a few rows of each table, then findings, then more rows.
func (o *overview) write() {
	head := o.lines(o.head)
	foot := o.lines(o.foot)
	keys, stats := o.rows()
	rows := [2]int{min(len(stats), 3), min(len(o.r.Devices), 2)}
	most := [2]int{min(len(stats), o.most), min(len(o.r.Devices), o.most)}
	left := overviewLines - len(head) - len(foot)
	for i := range rows {
		if rows[i] > 0 {
			left -= 2 + rows[i] // an empty line and the heads
		}
	}
	left -= len(o.lines((*view).legend))
	spare := max(0, rows[0]-1) + max(0, rows[1]-1)
	told, left := o.told(left, spare)
	for i := 1; left < 0; i++ {
		if t := i % 2; rows[t] > 1 {
			rows[t]--
			left++
		}
	}
	for i := 0; left > 0 && rows != most; i++ {
		if t := i % 2; rows[t] < most[t] {
			rows[t]++
			left--
		}
	}
	if o.most != overviewRows {
		rows = most
	}
	for _, line := range append(head, told...) {
		o.b.WriteString(line + "\n")
	}
	if rows[0] > 0 {
		o.b.WriteByte('\n')
		keys[0] = ofAll(rows[0], len(stats), keys[0])
		t := briefTable(keys, stats[:rows[0]])
		t.key = overviewKey
		t.write(&o.page)
	}
	if rows[1] > 0 {
		o.b.WriteByte('\n')
		t := o.devicesTable(rows[1])
		for _, row := range t.rows {
			for i := range row.cells {
				if row.cells[i] == part(0, 1) || row.cells[i] == part(0, 0) {
					row.cells[i] = "" // drop columns with only zeros
				}
			}
		}
		t.columns[0].head = ofAll(rows[1], len(o.r.Devices), t.columns[0].head)
		t.write(&o.page)
		o.legend()
	}
	if o.r.Input.Entries == 0 && len(o.r.Engines) > 0 {
		o.b.WriteByte('\n')
		enginesTable(o.r.Engines[:min(len(o.r.Engines), o.most)], o.r.By).write(&o.page)
	}
	for _, line := range foot {
		o.b.WriteString(line + "\n")
	}
}

func (o *overview) lines(write func(*view)) []string {
	v := newView(o.r, o.Options)
	write(v)
	if v.b.Len() == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(v.b.String(), "\n"), "\n")
}

// ofAll returns the head of a column with n of all names.
func ofAll(n, all int, noun string) string {
	if n == all {
		return noun
	}
	return fmt.Sprintf("%s (%d of %s)", noun, n, units.Count(int64(all)))
}

// rows returns the rows of operations or groups and the heads of their names. Rows of the host are left out unless
// there are no others.
func (o *overview) rows() (keys []string, rows []namedStats) {
	keys = []string{"operation"}
	rows = operationStats(o.r.Operations)
	if o.r.Groups != nil {
		keys = append([]string(nil), o.r.By...)
		rows = groupStats(o.r.Groups, len(o.r.By))
	}
	if n := bySelf(rows); n > 0 {
		rows = rows[:n]
	}
	return keys, rows
}

// told returns the lines of as many findings as fit, and the number of lines left. It is below 0, by at most spare, for
// the first change, which matters more than rows of tables.
func (o *overview) told(left, spare int) (told []string, rest int) {
	hasTry := func(f findings.Finding) bool { return f.Try != "" }
	first := slices.IndexFunc(o.r.Findings, hasTry)
	for i := range o.r.Findings {
		f := o.lines(func(v *view) { v.finding(o.r.Findings, i, " → ", "") })
		more := min(1, len(o.r.Findings)-1-i) // one line for the rest
		room := left - 1
		if i <= first {
			room = left + spare
		}
		if i > 0 && (i >= overviewFindings || len(told)+len(f)+more > room) {
			return append(told,
					o.lines(func(v *view) { v.note(fmt.Sprintf("… and %d more → findings", len(v.r.Findings)-i)) })...),
				left - len(told) - 1
		}
		if i == 0 {
			told = append(told, "")
		}
		told = append(told, f...)
	}
	return told, left - len(told)
}

// head describes the input, its faults and its size.
func (o *overview) head(v *view) {
	v.headline()
	in := &v.r.Input
	skipped, others, missing := splitSkipped(in.SkippedBy)
	for _, usual := range []op.SkipReason{
		op.SkipNonOp, op.SkipAnnotation, op.SkipRuntime, op.SkipPython, op.SkipFlow, op.SkipMetadata,
	} {
		delete(skipped, string(usual))
		delete(others, string(usual))
	}
	v.field("input", inputText(in)+": "+units.Plural(in.Spans, "span")+
		ifAny(in.Skipped, ", "+units.Count(in.Skipped)+" skipped"+reasons(skipped))+
		ifAny(int64(len(others)), "; others: "+strings.Join(counted(others), ", ")), false)
	v.missingTables(missing)
	faults := o.lines(func(v *view) { v.faults(in) })
	most := overviewFaults
	if len(v.r.Operations) == 0 {
		most *= 5 // the room of the tables
	}
	if n := len(faults); n > most {
		faults = append(faults[:most-1], o.lines(func(v *view) {
			v.note(fmt.Sprintf("… and %d more lines of what is wrong → summary", n-most+1))
		})...)
	}
	for _, line := range faults {
		v.b.WriteString(line + "\n")
	}
	if in.Sampling != analyze.SamplingNone {
		v.field("sampling", samplingText(in), in.Sampling == analyze.SamplingUnknown)
	}
	v.total(true)
	v.field("left out", v.r.LeftOut, false)
	v.clocks()
}

func (o *overview) foot(v *view) {
	v.b.WriteByte('\n')
	v.fold("", "", "More detail: optrace report -section NAME FILE", dim)
}

// headline shows the first figures of the run, and an empty line behind them.
func (v *view) headline() {
	if h := v.r.Headline; h != nil {
		for _, line := range h.Text {
			v.fold("", "", termtext.Clean(line), bold)
		}
		v.b.WriteByte('\n')
	}
}
