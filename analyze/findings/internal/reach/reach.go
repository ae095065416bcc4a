// Package reach finds operations far from the peaks of their devices.
package reach

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/operators"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/analyze/work"
)

// Reach has the calls of an operation with a known bound by the peaks.
type Reach struct {
	// Name is the operator that launches them, for IsOperator, or the operation.
	Name       string
	IsOperator bool
	Bound      string // work.BoundCompute or work.BoundMemory
	// Path is the path of the slowest like, "" for several.
	Path string
	// Slow of All calls are far from the peak, together with their like. They take NS, and LeastNS at the peak, the time of an
	// empty kernel included.
	All, Slow, NS, LeastNS int64
}

// Far is slow operations to change together, with the share of the peak of others with their bound, 0 if unknown.
type Far struct {
	Slow []Reach
	Like float64
	// UnknownKernels is set for an operator with kernels of unknown work.
	UnknownKernels bool
}

// Where says in which module most of the excess is, "" if unknown.
func (f *Far) Where(named func(path string) string) string {
	if path := f.Slow[0].Path; path != "" {
		return ", most in " + named(path)
	}
	return ""
}

// Sum returns the sums of a change's operations.
func (f *Far) Sum() (all Reach) {
	for _, r := range f.Slow {
		all.All += r.All
		all.Slow += r.Slow
		all.NS += r.NS
		all.LeastNS += r.LeastNS
	}
	return all
}

// Find returns calls below a share of their peak: arithmetic of up to most operations together, operations bound by memory
// apart. Without a forest, which may be nil, they are all calls of an operation.
func Find(f *trace.Forest, operations []profile.Operation, rows []operators.Row, least float64, most int) (all []Far) {
	var slow []Reach
	likes := make(map[string]float64)
	if f == nil {
		for i := range operations {
			slow = append(slow, whole(operations[i].Operation, operations[i].Roofline, least))
		}
	} else {
		slow, likes = Of(f, least)
		for i := range rows {
			r := whole(rows[i].Operator, rows[i].Roofline, least)
			isOf := func(s Reach) bool { return s.Name == r.Name }
			known := int64(0)
			for _, s := range slow {
				if isOf(s) {
					known += s.All
				}
			}
			if r.Slow == 0 || known >= r.All {
				continue
			}
			slow = slices.DeleteFunc(slow, isOf)
			r.IsOperator = true
			all = append(all, Far{Slow: []Reach{r}, Like: likes[r.Bound], UnknownKernels: true})
		}
	}
	slow = slices.DeleteFunc(slow, func(r Reach) bool { return r.Slow == 0 })
	for len(slow) > 0 {
		n := 1
		for n < min(len(slow), most) && slow[0].Bound == work.BoundCompute && slow[n].Bound == work.BoundCompute {
			n++
		}
		all = append(all, Far{Slow: slow[:n], Like: likes[slow[0].Bound]})
		slow = slow[n:]
	}
	return all
}

// whole returns what all calls of an operation reach together.
func whole(name string, r *work.Roofline, least float64) Reach {
	if r == nil || !r.Share.Known || r.Share.V >= least {
		return Reach{Name: name}
	}
	return Reach{Name: name, Bound: r.Bound, All: r.Count, Slow: r.Count, NS: r.SumNS, LeastNS: int64(r.BoundNS)}
}

// Of returns the operations with a bound, the most excess first, and by bound the share of the peak of all calls
// above the share least, absent without such calls. Calls below it are slow. A call of twice the median of those with equal
// work counts with the median if it is rare, in a third at most: its own time is no property of the operation.
func Of(f *trace.Forest, least float64) (all []Reach, likes map[string]float64) {
	const (
		perNS, slower = 1000, 2 // ps
		empty         = selection.EmptyKernel * perNS
	)
	type like struct {
		trace.Likeness
		launcher string
		ps       int64 // below 0 by memory
	}
	type calls struct {
		durations []int64
		path      int32 // 0 for several
	}
	groups := make(map[like]*calls)
	for _, r := range f.Devices.ByStart {
		if ps := f.Work(r).Bound; ps != 0 {
			c := order.At(groups, like{f.Likeness(r), f.LauncherName(r), ps})
			if path := f.Path(r); len(c.durations) == 0 {
				c.path = path
			} else if path != c.path {
				c.path = 0
			}
			c.durations = append(c.durations, f.Duration(r))
		}
	}
	type key struct{ name, bound string }
	found := make(map[key]*Reach)
	took, bounds := make(map[string]int64), make(map[string]int64) // of calls above least, in ns and ps
	longest := make(map[key]int64)                                 // excess of a like
	for of, c := range groups {
		name := cmp.Or(of.launcher, f.Names.Operations.Values[of.Name])
		bound := work.BoundCompute
		if of.ps < 0 {
			bound = work.BoundMemory
		}
		k := key{name, bound}
		r := order.At(found, k)
		r.Name, r.IsOperator, r.Bound = name, of.launcher != "", bound
		r.All += int64(len(c.durations))
		ps, median, sum := max(of.ps, -of.ps)+empty, sketch.Median(c.durations), int64(0)
		rare := func(ns int64) bool { return ns >= slower*median }
		few := 0
		for _, ns := range c.durations {
			if rare(ns) {
				few++
			}
		}
		for _, ns := range c.durations {
			if at := float64(ps) / perNS; at <= float64(ns) && at > least*float64(ns) {
				took[bound] += ns
				bounds[bound] += ps - empty
			}
			if 3*few <= len(c.durations) && rare(ns) {
				ns = median
			}
			sum += ns
		}
		if n := int64(len(c.durations)); float64(n*ps) < least*perNS*float64(sum) {
			r.Slow += n
			r.NS += sum
			r.LeastNS += n * ps / perNS
			path := f.Names.Paths.Values[c.path]
			if excess := sum - n*ps/perNS; excess > longest[k] || excess == longest[k] && path < r.Path {
				longest[k] = excess
				r.Path = path
			}
		}
	}
	for _, r := range found {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Reach) int {
		return cmp.Or(cmp.Compare(b.NS-b.LeastNS, a.NS-a.LeastNS), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Bound, b.Bound))
	})
	likes = make(map[string]float64)
	for bound, ns := range took {
		likes[bound] = float64(bounds[bound]) / perNS / float64(ns)
	}
	return all, likes
}
