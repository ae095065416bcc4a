package text

import (
	"io"
	"slices"
	"strconv"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/termtext"
)

// The sections, in the order in which they are shown.
const (
	SectionSummary       = "summary"
	SectionFindings      = "findings"
	SectionOperations    = "operations"
	SectionOperators     = "operators"
	SectionDevices       = "devices"
	SectionBalance       = "balance"
	SectionCommunication = "communication"
	SectionMemory        = "memory"
	SectionSlowest       = "slowest"
	SectionIdle          = "idle"
	SectionLaunches      = "launches"
	SectionCriticalPath  = "critical_path"
	SectionSequences     = "sequences"
	SectionSteps         = "steps"
	SectionPhases        = "phases"
	SectionEngines       = "engines"
)

// sections are the parts of the text below the envelope, which is always shown. A section may have
// several.
var sections = []struct {
	name  string
	write func(*view)
}{
	{SectionFindings, (*view).findings},
	{SectionOperations, (*view).operations},
	{SectionOperations, (*view).groups},
	{SectionOperations, (*view).roofline},
	{SectionOperators, (*view).operators},
	{SectionDevices, (*view).devices},
	{SectionBalance, (*view).balance},
	{SectionCommunication, (*view).communication},
	{SectionMemory, (*view).memory},
	{SectionSlowest, (*view).slowest},
	{SectionIdle, (*view).idle},
	{SectionLaunches, (*view).launches},
	{SectionCriticalPath, (*view).slowestRequest},
	{SectionCriticalPath, (*view).criticalPath},
	{SectionSequences, (*view).sequences},
	{SectionSteps, (*view).steps},
	{SectionPhases, (*view).phases},
	{SectionEngines, (*view).engines},
}

// Write renders r to w with one call of Write.
func Write(w io.Writer, r *analyze.Report, opts Options) error {
	v := newView(r, opts)
	v.envelope()
	v.clocks()
	for _, s := range sections {
		if opts.Show == nil || opts.Show(s.name) {
			s.write(v)
		}
	}
	return v.writeTo(w)
}

// maxFindings bounds the findings.
const maxFindings = 8

// findings shows what the run was bound by and what would make it faster.
func (v *view) findings() {
	v.listFindings(v.r.Findings, " See -section ", ".")
}

// listFindings lists findings and, between two texts unless the first is "", the sections that have more of them.
func (p *page) listFindings(list []findings.Finding, before, after string) {
	if len(list) == 0 {
		return
	}
	p.heading("FINDINGS")
	for i := range list {
		if i == maxFindings && p.Show == nil {
			p.more(len(list) - i)
			return
		}
		p.finding(list, i, before, after)
	}
}

// finding shows a finding and, between two texts, the section that has more of it.
func (p *page) finding(list []findings.Finding, i int, before, after string) {
	f := &list[i]
	text := strconv.Itoa(i+1) + ". " + termtext.Clean(f.Text) // of a report from a file
	if f.Where.Section != "" && before != "" {
		text += before + termtext.Clean(f.Where.Section) + after
	}
	p.note(text)
}

// view is a page about a report.
type view struct {
	page
	r     *analyze.Report
	ranks bool // devices have several ranks, which their labels then have
}

func newView(r *analyze.Report, opts Options) *view {
	several := slices.ContainsFunc(r.Devices, func(d profile.Device) bool { return d.Rank != r.Devices[0].Rank })
	return &view{page: newPage(opts), r: r, ranks: several}
}

// whyNothingRan says why there are no operations but, perhaps, those of the
// host's side.
func (v *view) whyNothingRan() string {
	if len(v.r.Operations) > 0 {
		return "no operations of a device: all are the host's view"
	}
	return "no operations in the input"
}

// noteWithout notes what a text says without suspect times, where it says something else.
func (v *view) noteWithout(text, without string) {
	if without != text {
		v.note("without suspect times: " + without)
	}
}

// maxWithout bounds the rows that are shown a second time, without suspect times.
const maxWithout = 10

// tableWithout shows the first rows of a table of figures without suspect times.
func (v *view) tableWithout(t *table) {
	if len(t.rows) > 0 {
		v.note("without suspect times:")
		v.first(t, min(v.Rows, maxWithout), 0)
	}
}
