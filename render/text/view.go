package text

import (
	"slices"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/profile"
)

// view is a page about a report.
type view struct {
	page
	r     *analyze.Report
	ranks bool // devices have several ranks, shown in their labels
}

func newView(r *analyze.Report, opts Options) *view {
	several := slices.ContainsFunc(r.Devices, func(d profile.Device) bool { return d.Rank != r.Devices[0].Rank })
	return &view{page: newPage(opts), r: r, ranks: several}
}

// whyNothingRan explains why no device ran an operation.
func (v *view) whyNothingRan() string {
	if len(v.r.Operations) > 0 {
		return "no operations of a device: all are the host's view"
	}
	return "no operations in the input"
}
