package selection

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/analyze/work"
)

// Reach has the calls of an operation with a known bound by the peaks.
type Reach struct {
	// Name is the operator that launches them, for IsOperator, or the operation.
	Name       string
	IsOperator bool
	Bound      string // work.BoundCompute or work.BoundMemory
	// Slow of All calls are far from the peak, together with their like. They take NS, and LeastNS at the peak.
	All, Slow, NS, LeastNS int64
}

// Excess is the time beyond that at the peak.
func (r *Reach) Excess() int64 { return r.NS - r.LeastNS }

// Reaches returns the operations with a bound, those with the most excess first, and by bound the share of the peak of all calls
// above the share least, absent without such calls. Calls below it are slow. A call of twice the median of those with equal
// work counts with the median: its own time is no property of the operation.
func Reaches(f *trace.Forest, least float64) (all []Reach, likes map[string]float64) {
	const perNS, slower = 1000, 2 // ps
	type like struct {
		trace.Likeness
		launcher string
		ps       int64 // below 0 by memory
	}
	groups := make(map[like]*[]int64)
	for _, r := range f.Devices.ByStart {
		if ps := f.Work(r).Bound; ps != 0 {
			list := order.At(groups, like{f.Likeness(r), f.LauncherName(r), ps})
			*list = append(*list, f.Duration(r))
		}
	}
	type key struct{ name, bound string }
	found := make(map[key]*Reach)
	took, bounds := make(map[string]float64), make(map[string]float64) // of calls above least
	for of, list := range groups {
		name := cmp.Or(of.launcher, f.Names.Operations.Values[of.Name])
		bound := work.BoundCompute
		if of.ps < 0 {
			bound = work.BoundMemory
		}
		r := order.At(found, key{name, bound})
		r.Name, r.IsOperator, r.Bound = name, of.launcher != "", bound
		r.All += int64(len(*list))
		ps, median, sum := max(of.ps, -of.ps), sketch.Median(*list), int64(0)
		for _, ns := range *list {
			if at := float64(ps) / perNS; at <= float64(ns) && at > least*float64(ns) {
				took[bound] += float64(ns)
				bounds[bound] += at
			}
			if ns >= slower*median {
				ns = median
			}
			sum += ns
		}
		if n := int64(len(*list)); float64(n*ps) < least*perNS*float64(sum) {
			r.Slow += n
			r.NS += sum
			r.LeastNS += n * ps / perNS
		}
	}
	for _, r := range found {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Reach) int {
		return cmp.Or(cmp.Compare(b.Excess(), a.Excess()), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Bound, b.Bound))
	})
	likes = make(map[string]float64)
	for bound, ns := range took {
		likes[bound] = bounds[bound] / ns
	}
	return all, likes
}
