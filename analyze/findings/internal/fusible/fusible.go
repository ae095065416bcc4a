// Package fusible finds operations that one kernel could do.
package fusible

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/sequences"
	"github.com/optrace/optrace/analyze/trace"
)

// Find returns at most some changes that replace each run of elementwise operations by one kernel, and the time of the runs
// beyond the least of one kernel on the same data. If most of it is in runs through tensors one by one, it counts them.
func Find(f *trace.Forest, operations []profile.Operation, maxChanges int) (changes []replay.Change, most, runs, tensors int64) {
	changes = []replay.Change{{Kind: replay.Fuse, Select: replay.Elementwise}}
	if f == nil {
		return changes, 0, 0, 0
	}
	gone, more := make(map[string]int64), make(map[string]int64) // a replay leaves the longest, and a kernel takes more
	inTensors := int64(0)
	for run := range selection.Runs(f, f.Devices.ByStart, selection.ElementwiseRun(f)) {
		fused, least, n := selection.Fused(f, run)
		longest := slices.MaxFunc(run, func(a, b int32) int { return cmp.Compare(f.Duration(a), f.Duration(b)) })
		for _, r := range run {
			gone[f.RowName(r)] += f.Duration(r)
		}
		gone[f.RowName(longest)] -= f.Duration(longest)
		more[f.RowName(longest)] += max(0, fused-f.Duration(longest))
		first, last := run[0], run[len(run)-1]
		ns := max(0, f.End(last)-f.Start(first)-least, f.Launched(last)-f.Launch(first)-least)
		if most += ns; n > 0 {
			runs++
			tensors += n
			inTensors += ns
		}
	}
	if 2*inTensors < most {
		runs = 0
	}
	for i := range operations {
		o := &operations[i]
		if ns := more[o.Operation]; o.Side == "" && ns > 0 && len(changes) < maxChanges {
			factor := 1 + float64(ns)/float64(max(1, o.SumNS-gone[o.Operation]))
			changes = append(changes, replay.Change{Kind: replay.Scale, Select: o.Operation, Factor: factor})
		}
	}
	return changes, most, runs, tensors
}

// Gaps returns the time between the operations of repeated sequences, and the sequence with the longest gaps, or nil.
func Gaps(all *sequences.Sequences) (gaps int64, most *sequences.Sequence) {
	if all == nil {
		return 0, nil
	}
	for i := range all.Rows {
		s := &all.Rows[i]
		gaps += s.GapNS
		if most == nil || s.GapNS > most.GapNS {
			most = s
		}
	}
	return gaps, most
}
