package csv

import (
	"io"

	"github.com/optrace/optrace/analyze"
)

// writeFindings writes the findings.
func writeFindings(w io.Writer, r *analyze.Report, opts Options) error {
	out, err := newWriter(w, opts, []string{"kind", "text", "saved_ns", "of_ns", "chance", "section", "operation", "device_id", "rank"})
	if err != nil {
		return err
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		out.text(string(f.Kind))
		out.text(f.Text)
		out.known(f.SavedNS)
		out.known(f.OfNS)
		out.knownFloat(f.Chance)
		out.text(f.Where.Section)
		out.text(f.Where.Operation)
		out.text(f.Where.DeviceID)
		out.known(f.Where.Rank)
		if err := out.end(); err != nil {
			return err
		}
	}
	return out.flush()
}
