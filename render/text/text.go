package text

import (
	"io"
	"strings"

	"github.com/optrace/optrace/analyze"
)

// Options says how to render.
type Options struct {
	// Color marks headings up with ANSI sequences.
	Color bool
	// Show decides whether a section is shown; nil shows all. Sections that were
	// not computed are left out in any case.
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
	SectionCriticalPath  = "critical_path"
	SectionSteps         = "steps"
)

// Write renders r to w with one call of Write.
func Write(w io.Writer, r *analyze.Report, opts Options) error {
	v := &view{r: r, style: style{color: opts.Color}}
	v.envelope()
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
		{SectionCriticalPath, v.criticalPath},
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
	r     *analyze.Report
	style style
	b     strings.Builder
}

func (v *view) heading(text string) {
	v.b.WriteByte('\n')
	v.b.WriteString(v.style.bold(text))
	v.b.WriteByte('\n')
}

// note writes an indented line below a heading.
func (v *view) note(text string) {
	v.b.WriteString("  ")
	v.b.WriteString(text)
	v.b.WriteByte('\n')
}

func (v *view) table(t *table) { t.write(&v.b, v.style) }
