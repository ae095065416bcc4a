package analyze

import (
	"cmp"
	"slices"
)

// run is a number of rows that were added one after the other from one chunk
// of the input.
type run struct {
	chunk int64
	// row and collective are the first of the run's rows and of the collectives
	// among them.
	row, collective int32
}

// chunkRuns tells which rows of a Trace are of which chunk. It is empty as long
// as everything is of chunk 0, which is where a Trace begins.
type chunkRuns []run

// start begins a run at the place that next names.
func (c *chunkRuns) start(next run) {
	runs := *c
	last := len(runs) - 1
	switch {
	case next.chunk == runs.last():
		return
	case last >= 0 && runs[last].row == next.row: // nothing was added to it
		runs[last] = next
		return
	case last < 0 && next.row > 0:
		runs = append(runs, run{})
	}
	*c = append(runs, next)
}

// last returns the chunk to which rows are being added.
func (c chunkRuns) last() int64 {
	if len(c) == 0 {
		return 0
	}
	return c[len(c)-1].chunk
}

// sourceRun is a run of one of the traces that are merged.
type sourceRun struct {
	run
	source *mergeSource
	end    int32 // the row behind the last one
}

// inputOrder returns the runs of all sources by chunk, those of the same chunk
// in the order of the sources.
func inputOrder(sources []*mergeSource) []sourceRun {
	var all []sourceRun
	for _, s := range sources {
		runs := s.runs
		if len(runs) == 0 {
			runs = chunkRuns{{}}
		}
		for i, r := range runs {
			end := s.n
			if i+1 < len(runs) {
				end = runs[i+1].row
			}
			if r.row < end {
				all = append(all, sourceRun{run: r, source: s, end: end})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b sourceRun) int { return cmp.Compare(a.chunk, b.chunk) })
	return all
}
