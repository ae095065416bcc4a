// Package alike finds calls with equal work.
package alike

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/trace"
)

// Calls are the calls of a device operation with equal shapes, by start. First has the first call on each device, Rest the
// others.
type Calls struct {
	Rows, First, Rest []int32
	Median            int64 // of Rest, in ns
	IsUnlike          bool  // set if the calls are in shared executions with unlike loads
}

// Find returns the calls of the named operations, by name. It omits calls of unknown size, and sizes with a single call on
// each device.
func Find(f *trace.Forest, names map[string]bool) map[string][]Calls {
	wanted := make([]bool, len(f.Names.Operations.Values))
	for i, name := range f.Names.Operations.Values {
		wanted[i] = names[name]
	}
	byShape := make(map[trace.Likeness][]int32)
	for _, r := range f.Devices.ByStart {
		if !wanted[f.Name(r)] {
			continue
		}
		if s := f.Likeness(r); s.FLOPs > 0 || s.Elements > 0 {
			byShape[s] = append(byShape[s], r)
		}
	}
	all := make(map[string][]Calls)
	for s, rows := range byShape {
		if c := callsOf(f, rows); len(c.Rest) > 0 {
			name := f.Names.Operations.Values[s.Name]
			all[name] = append(all[name], c)
		}
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b Calls) int { return f.CompareStart(a.Rows[0], b.Rows[0]) })
	}
	return all
}

// callsOf separates the first call on each device from the others.
func callsOf(f *trace.Forest, rows []int32) Calls {
	c := Calls{Rows: rows, IsUnlike: !likeLoad(f, rows)}
	seen := make(map[int32]bool)
	var durations []int64
	for _, r := range rows {
		if d := f.Device(r); !seen[d] {
			seen[d] = true
			c.First = append(c.First, r)
			continue
		}
		c.Rest = append(c.Rest, r)
		durations = append(durations, f.Duration(r))
	}
	if len(durations) > 0 {
		c.Median = sketch.Median(durations)
	}
	return c
}

// Excess returns the time of the rest of the calls above the median of their device and layer, and the longest of at
// least twice that. A device that is slow in most of its calls is a straggler, and a layer is unlike others.
func (c *Calls) Excess(f *trace.Forest) (more, longest int64) {
	const (
		slower = 2
		few    = 5
	)
	type place struct{ device, path int32 }
	at := make(map[place][]int64)
	for _, r := range c.Rest {
		of := place{f.Device(r), f.Path(r)}
		at[of] = append(at[of], f.Duration(r))
	}
	for _, calls := range at {
		median := c.Median
		if len(calls) >= few {
			median = sketch.Median(calls)
		}
		for _, ns := range calls {
			if more += ns - median; ns >= slower*median {
				longest = max(longest, ns)
			}
		}
	}
	return more, longest
}

// AreRare reports whether a quarter of the rest of the calls at most is slow, and all others take about their median: the
// work of calls with equal outputs may differ otherwise.
func (c *Calls) AreRare(f *trace.Forest) bool {
	const rare, slower, like = 4, 4, 1.5
	slow := 0
	for _, r := range c.Rest {
		switch ns := f.Duration(r); {
		case ns >= slower*c.Median:
			slow++
		case float64(ns) > like*float64(c.Median):
			return false
		}
	}
	return rare*slow <= len(c.Rest)
}

// Load is the load of a shared execution: the sums of the weights of its links, and their number.
type Load struct{ Weight, Attention, Links int64 }

// LoadOf returns the load of an execution.
func LoadOf(x *trace.Execution) Load {
	sum := func(list []int64) (n int64) {
		for _, w := range list {
			n += w
		}
		return n
	}
	return Load{sum(x.Weights), sum(x.Attention), int64(x.Links)}
}

// IsLike reports whether the figures of a and b differ by at most a quarter.
func (a Load) IsLike(b Load) bool {
	isLike := func(a, b int64) bool { return 4*a <= 5*b && 4*b <= 5*a }
	return isLike(a.Weight, b.Weight) && isLike(a.Attention, b.Attention) && isLike(a.Links, b.Links)
}

// likeLoad reports whether the shared executions of rows have like loads. It returns true without executions.
func likeLoad(f *trace.Forest, rows []int32) bool {
	of := f.Executions.Of
	if of == nil {
		return true
	}
	var first *Load
	for _, r := range rows {
		here := Load{}
		if of[r] != trace.NoExecution {
			here = LoadOf(&f.Executions.List[of[r]])
		}
		if first == nil {
			first = &here
		}
		if !here.IsLike(*first) {
			return false
		}
	}
	return true
}
