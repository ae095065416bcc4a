package trace

// run is a number of rows that were added one after the other from one part
// of the input.
type run struct {
	part int64
	row  int32 // the first one
}

// partRuns lists which rows of a Forest belong to which part. It is empty as long
// as everything belongs to part 0.
type partRuns []run

// start begins a run at the place that next names.
func (c *partRuns) start(next run) {
	runs := *c
	last := len(runs) - 1
	switch {
	case last < 0 && next.part == 0, last >= 0 && runs[last].part == next.part:
		return
	case last >= 0 && runs[last].row == next.row: // nothing was added to it
		runs[last] = next
		return
	case last < 0 && next.row > 0:
		runs = append(runs, run{})
	}
	*c = append(runs, next)
}
