package text

import (
	"io"

	"github.com/optrace/optrace/analyze"
)

// Options says how to render.
type Options struct {
	// Color marks headings up with ANSI sequences.
	Color bool
	// Width bounds the lines, in columns; 0 means [DefaultWidth], and less than
	// [MinWidth] means that.
	Width int
	// Rows bounds the rows of a table; 0 means [DefaultRows].
	Rows int
	// Show decides whether a section is shown; nil shows all. Sections that were
	// not computed are left out in any case, and with nil so are the steps of an
	// input that states none, launches where none is known, and sequences where nothing is
	// repeated.
	Show func(section string) bool
}

// The sections, in the order in which they are shown.
const (
	SectionSummary       = "summary"
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

// Write renders r to w with one call of Write.
func Write(w io.Writer, r *analyze.Report, opts Options) error {
	v := &view{page: newPage(opts.Width, opts.Rows, opts.Color, false), r: r, all: opts.Show == nil}
	v.envelope()
	v.clocks()
	for _, s := range []struct {
		name   string
		render func()
	}{
		{SectionOperations, v.operations},
		{SectionDevices, v.devices},
		{SectionBalance, v.balance},
		{SectionCommunication, v.communication},
		{SectionMemory, v.memory},
		{SectionSlowest, v.slowest},
		{SectionIdle, v.idle},
		{SectionLaunches, v.launches},
		{SectionCriticalPath, v.criticalPath},
		{SectionSequences, v.sequences},
		{SectionSteps, v.steps},
	} {
		if opts.Show == nil || opts.Show(s.name) {
			s.render()
		}
	}
	_, err := io.WriteString(w, v.b.String())
	return err
}

// view renders one report.
type view struct {
	page
	r   *analyze.Report
	all bool // sections were not chosen
}
