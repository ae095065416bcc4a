package steps

import (
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Pipeline is the use of the ranks of a pipeline by the microbatches of its steps.
type Pipeline struct {
	Ranks int64 `json:"ranks"`
	Steps int64 `json:"steps"`
	// Microbatches counts forward passes of all ranks and steps.
	Microbatches int64 `json:"microbatches"`
	// RankNS is the time of all ranks from the first microbatch of a step to the end of the last one on any rank, and
	// BubbleNS its part without a microbatch of the rank. Bubble is their ratio.
	RankNS   int64   `json:"rank_ns"`
	BubbleNS int64   `json:"bubble_ns"`
	Bubble   float64 `json:"bubble"`
}

// PipelineOf returns the use of a pipeline, nil if no two ranks have microbatches. Microbatches are operations named
// as in Megatron-LM, without overlap on a rank. The steps of a rank are the spans above them, in order of time.
func PipelineOf(f *trace.Forest) *Pipeline {
	f.Build()
	ranks := make(map[op.Int][]int32)
	for _, r := range f.Devices.ByStart {
		if name := f.RowName(r); strings.Contains(name, "microbatch.") && f.CountsInSums(r) {
			rank := f.DeviceKey(r).Rank
			ranks[rank] = append(ranks[rank], r)
		}
	}
	if len(ranks) < 2 {
		return nil
	}
	type step struct{ start, end, busy, ranks int64 }
	var all []step
	p := &Pipeline{Ranks: int64(len(ranks))}
	for _, rows := range ranks {
		n := -1
		above := map[int32]bool{}
		for _, r := range rows {
			if parent := f.Tree.Parent[r]; n < 0 || !above[parent] {
				above[parent] = true
				if n++; n == len(all) {
					all = append(all, step{start: f.Start(r), end: f.End(r)})
				}
				all[n].ranks++
			}
			s := &all[n]
			s.start, s.end = min(s.start, f.Start(r)), max(s.end, f.End(r))
			s.busy += f.Duration(r)
			if strings.HasSuffix(f.RowName(r), "forward") {
				p.Microbatches++
			}
		}
	}
	all = slices.DeleteFunc(all, func(s step) bool { return s.ranks < p.Ranks }) // not all ranks have it
	for _, s := range all {
		p.Steps++
		p.RankNS += (s.end - s.start) * s.ranks
		p.BubbleNS += (s.end-s.start)*s.ranks - s.busy
	}
	if p.RankNS == 0 || p.BubbleNS < 0 {
		return nil
	}
	p.Bubble = float64(p.BubbleNS) / float64(p.RankNS)
	return p
}
