package analyze

// coverage measures how much of [from, low) a set of intervals covers, each
// moment once. Add the intervals in order of descending end; their order stays
// right when they are clipped, which is why the tree lists children like that.
//
//	window [0,100)   add [60,120)  [50,70)  [10,20)   covered 40+10+10 = 60
type coverage struct {
	from    int64
	low     int64 // what lies above is settled
	covered int64
}

func newCoverage(from, to int64) coverage { return coverage{from: from, low: to} }

// add adds the interval [start, end).
func (c *coverage) add(start, end int64) {
	start, end = max(start, c.from), min(end, c.low)
	if start < end {
		c.covered += end - start
		c.low = start
	}
}
