package trace

import "github.com/optrace/optrace/analyze/internal/wide"

// Shift subtracts shifts[r] from the times of each row r. Times that leave the valid range become unknown.
// Calls are dropped because their clock is unknown.
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
