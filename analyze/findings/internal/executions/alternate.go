package executions

import (
	"math"

	"github.com/optrace/optrace/analyze/internal/drivers"
	"github.com/optrace/optrace/analyze/trace"
)

// Alternate reports whether devices work one at a time, though by chance they would work at the same time: a lock may
// hold them back. served is the sum of the durations of requests, of which several are to be under way.
func Alternate(f *trace.Forest, served int64) bool {
	const (
		several = 2
		least   = 0.01 // of the whole at the same time, by chance
		most    = 0.02 // of that
	)
	o := drivers.Find(f, f.Devices.ByStart, math.Inf(1))
	return float64(served) >= several*o.WholeNS && o.Chance >= least*o.WholeNS && o.NS <= most*o.Chance && o.WholeNS > 0
}
