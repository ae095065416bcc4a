// Package backward finds the backward passes whose gradients collectives reduce.
package backward

import (
	"math"
	"sort"
	"strings"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Pass is a backward pass on a device, with the collectives behind it, by start. Nothing computes between these.
type Pass struct {
	Collectives, Computed []int32 // rows
	starts                []int64 // of the work of Computed in all of it, in ns, with its sum at the end
}

// Find returns the backward passes of selected collectives. The computing operations since the collective before are of
// it if their phase says so, or else their last two thirds: a backward pass makes two products for one of the forward
// pass.
func Find(f *trace.Forest, selected func(r int32) bool) (all []Pass) {
	isBackward := make([]bool, len(f.Names.Marks.Values))
	for i, m := range f.Names.Marks.Values {
		phase := strings.ToLower(m.Phase)
		isBackward[i] = strings.Contains(phase, "backward") || strings.Contains(phase, "bwd")
	}
	for _, rows := range f.Devices.All() {
		var computed []int32
		var last *Pass
		for _, r := range rows {
			switch {
			case !f.CountsInSums(r) || !f.IsDeviceSide(r):
			case f.Kind(r) == op.KindCompute && f.Duration(r) > 0:
				computed = append(computed, r)
			case f.Kind(r) != op.KindCollective || !selected(r):
			case len(computed) == 0 && last != nil:
				last.Collectives = append(last.Collectives, r)
			case len(computed) > 0:
				all = append(all, passOf(f, computed, isBackward))
				last = &all[len(all)-1]
				last.Collectives = []int32{r}
				computed = nil
			}
		}
	}
	return all
}

// passOf returns the backward pass at the end of computed, by start.
func passOf(f *trace.Forest, computed []int32, isBackward []bool) Pass {
	var marked []int32
	for _, r := range computed {
		if isBackward[f.Mark(r)] {
			marked = append(marked, r)
		}
	}
	if marked == nil {
		sum, ns := int64(0), int64(0)
		for _, r := range computed {
			sum += f.Duration(r)
		}
		for _, r := range computed {
			if ns += f.Duration(r); 3*ns > sum {
				marked = append(marked, r)
			}
		}
	}
	p := Pass{Computed: marked, starts: []int64{0}}
	for i, r := range marked {
		p.starts = append(p.starts, p.starts[i]+f.Duration(r))
	}
	return p
}

// Ready returns the operation of the pass at whose end a share of its work is done, such as 0.25.
func (p *Pass) Ready(share float64) int32 {
	ns := int64(math.Ceil(share * float64(p.starts[len(p.Computed)])))
	return p.Computed[sort.Search(len(p.Computed)-1, func(i int) bool { return p.starts[i+1] >= ns })]
}
