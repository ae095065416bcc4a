package text

import (
	"io"
	"strconv"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/internal/text/termtext"
)

// The sections, in their order.
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

// sections are the parts below the envelope. The envelope is always shown. A section may have several parts.
var sections = []struct {
	name  string
	write func(*view)
}{
	{SectionFindings, (*view).findings},
	{SectionOperations, (*view).operations},
	{SectionOperations, (*view).groups},
	{"roofline", (*view).roofline},
	{SectionOperators, (*view).operators},
	{SectionDevices, (*view).devices},
	{SectionBalance, (*view).balance},
	{SectionCommunication, (*view).communication},
	{SectionMemory, (*view).memory},
	{SectionSlowest, (*view).slowest},
	{"errors", (*view).errors},
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
	v.headline()
	v.envelope()
	v.clocks()
	for _, s := range sections {
		if opts.Show == nil || opts.Show(s.name) {
			s.write(v)
		}
	}
	return v.writeTo(w)
}

const maxFindings = 8

func (v *view) findings() {
	v.listFindings(v.r.Findings, " See -section ", ".")
}

// listFindings lists findings, each with its section between before and after, unless before is "".
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

// finding shows a finding, with what to try and the gain, and between before and after its section.
func (p *page) finding(list []findings.Finding, i int, before, after string) {
	f := &list[i]
	lines := []string{strconv.Itoa(i+1) + ". " + f.Text}
	if f.Try != "" {
		lines = append(lines, "try: "+f.Try)
	}
	if gain := f.Gain(); gain != "" {
		lines = append(lines, "gain: "+gain+".")
	}
	for n, line := range lines {
		line = termtext.Clean(line) // of a report from a file
		if n == len(lines)-1 && f.Where.Section != "" && before != "" {
			line += before + termtext.Clean(f.Where.Section) + after
		}
		first := "  "
		if n > 0 {
			first = "     "
		}
		p.fold(first, "     ", line, "")
	}
}
