package executions

import "github.com/optrace/optrace/analyze/trace"

// Alternate reports whether devices work one at a time, though by chance they would work at the same time: a lock may hold
// them back. served is the sum of the durations of requests, of which several are to be under way.
func Alternate(f *trace.Forest, served int64) bool {
	const (
		several = 2
		least   = 0.01 // of the whole at the same time, by chance
		most    = 0.02 // of that
	)
	type device struct{ busy, end int64 }
	devices := make(map[int32]*device)
	var begin, end, sum, together int64
	for _, r := range f.Devices.ByStart {
		if !f.CountsInSums(r) || !f.IsDeviceSide(r) || f.Duration(r) == 0 {
			continue
		}
		from, to := f.Start(r), f.End(r)
		if len(devices) == 0 {
			begin, end = from, from
		}
		d := devices[f.Device(r)]
		if d == nil {
			d = &device{end: begin}
			devices[f.Device(r)] = d
		}
		if own := to - max(from, d.end); own > 0 {
			d.busy += own
			sum += own
			d.end = to
		}
		if beyond := to - max(from, end); beyond > 0 {
			together += beyond
			end = to
		}
	}
	whole := end - begin
	if served < several*whole || whole == 0 {
		return false
	}
	chance := float64(sum) * float64(sum) // twice the products of the shares of two devices
	for _, d := range devices {
		chance -= float64(d.busy) * float64(d.busy)
	}
	chance /= 2 * float64(whole)
	return chance >= least*float64(whole) && float64(sum-together) <= most*chance
}
