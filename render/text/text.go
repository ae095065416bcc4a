package text

import (
	"io"

	"github.com/optrace/optrace/analyze"
)

// The sections, in the order in which they are shown.
const (
	SectionSummary       = "summary"
	SectionFindings      = "findings"
	SectionOperations    = "operations"
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
