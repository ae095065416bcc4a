package trace

import "github.com/optrace/optrace/analyze/internal/wide"

// Shift moves the times of each row back. A time that would be out of range is not known
// any more. Calls are forgotten: which clock is theirs is not known.
func (f *Forest) Shift(shifts []int64) {
	for r := range f.Rows() {
		b := f.block(r)
		i := at(r)
		if f.Has(r, FlagStart) {
			b.start[i] = wide.AddSaturating(b.start[i], -shifts[r])
			if !IsTime(b.start[i], b.duration[i]) {
				b.start[i] = 0
				f.clearFlags(r, FlagStart)
				f.Counts.BadTimes++
			}
		}
		if f.Has(r, FlagLaunch) {
			launches := made(&f.columns, &b.numbers[colLaunch])
			launches[i] = wide.AddSaturating(launches[i], -shifts[r])
		}
	}
	for i := range f.Collectives {
		if c := &f.Collectives[i]; c.Started {
			c.Start = wide.AddSaturating(c.Start, -shifts[c.Row])
		}
	}
	f.Calls = nil
	f.built.Store(false)
}
