package analyze

import "github.com/optrace/optrace/analyze/internal/wide"

// shift moves the times of each row back. A time that would be out of range is not known
// any more.
func (f *Forest) shift(shifts []int64) {
	for r := range f.rowCount() {
		b, i := f.blocks[r/blockRows], r%blockRows
		if f.has(r, flagStart) {
			b.start[i] = wide.AddSaturating(b.start[i], -shifts[r])
			if !isTime(b.start[i], b.duration[i]) {
				b.start[i] = 0
				f.clearFlags(r, flagStart)
				f.counts.BadTimes++
			}
		}
		if f.has(r, flagLaunch) {
			launches := f.numbers(b, colLaunch)
			launches[i] = wide.AddSaturating(launches[i], -shifts[r])
		}
	}
	for i := range f.collected {
		if c := &f.collected[i]; c.facts&collectiveStarted != 0 {
			c.start = wide.AddSaturating(c.start, -shifts[c.row])
		}
	}
	f.built.Store(false)
}
