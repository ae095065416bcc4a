package diff

import (
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
)

// requestTimes returns the durations in nanoseconds of the requests with operations, by name and start.
func requestTimes(f *trace.Forest) map[string][]float64 {
	ns := make(map[string][]float64)
	all := requests.Find(f).List
	for i := range all {
		if q := &all[i]; q.StartNS.Known && q.DurationNS.V > 0 && q.Ops()+q.SharedOps > 0 {
			ns[q.Name] = append(ns[q.Name], float64(q.DurationNS.V))
		}
	}
	return ns
}

// requestsOf returns the number of the requests of some runs and the sum of their durations.
func requestsOf(runs []*Run) (n int, sum float64) {
	for _, r := range runs {
		for _, ns := range r.requests {
			n += len(ns)
			sum += mean(ns) * float64(len(ns))
		}
	}
	return n, sum
}

// mainRequest returns the name with the most time in the base among the requests present in all runs. It omits names with
// as many requests as steps: these are the steps.
func mainRequest(base, all []*Run) (name string, ok bool) {
	sums := make(map[string]float64)
	for _, r := range base {
		for name, ns := range r.requests {
			sums[name] += mean(ns) * float64(len(ns))
		}
	}
	for _, other := range slices.Sorted(maps.Keys(sums)) {
		isEverywhere := true
		areSteps := true
		for _, r := range all {
			isEverywhere = isEverywhere && len(r.requests[other]) > 0
			areSteps = areSteps && len(r.requests[other]) == r.steps.count
		}
		if isEverywhere && !areSteps && (!ok || sums[other] > sums[name]) {
			name = other
			ok = true
		}
	}
	return name, ok
}

// percentile returns the function for a percentile, as a report has it.
func percentile(percent int64) func(ns []float64) float64 {
	return func(ns []float64) float64 {
		sorted := slices.Sorted(slices.Values(ns))
		return sorted[sketch.Place(int64(len(sorted)), percent)]
	}
}

func mean(ns []float64) float64 {
	sum := 0.0
	for _, v := range ns {
		sum += v
	}
	return sum / float64(len(ns))
}

// requestParts compares the median, the 95th percentile and the sum of the durations of requests of one name, or their
// mean if their numbers differ. A run alone on its side is divided into blocks of consecutive requests.
func requestParts(base, head []*Run, alpha float64) (parts []Part) {
	all := slices.Concat(base, head)
	name, ok := mainRequest(base, all)
	if !ok {
		return nil
	}
	counts := make(map[int]bool)
	for _, r := range all {
		counts[len(r.requests[name])] = true
	}
	last := partRequestMean
	times := 1.0
	if len(counts) == 1 {
		last = partRequestSum
		times = float64(len(base[0].requests[name]))
	}
	single := len(base) == 1 && len(head) == 1
	for _, figure := range []struct {
		name  string
		of    func(ns []float64) float64
		block int
	}{
		{partRequestP50, percentile(50), 1},
		{partRequestP95, percentile(95), minBlock},
		{last, func(ns []float64) float64 { return times * mean(ns) }, minBlock},
	} {
		values := func(runs []*Run) (values []float64) {
			for _, r := range runs {
				ns := r.requests[name]
				blocks := 1
				if single {
					blocks = min(maxValues, max(1, len(ns)/figure.block))
				}
				for i := range blocks {
					values = append(values, figure.of(ns[i*len(ns)/blocks:(i+1)*len(ns)/blocks]))
				}
			}
			return values
		}
		unit := UnitRuns
		if single {
			unit = unitRequests
		}
		c := compare(unit, values(base), values(head), false, alpha)
		if single {
			c.rescale(figure.of(base[0].requests[name]), figure.of(head[0].requests[name]))
		}
		c.whole = true
		c.block = figure.block
		parts = append(parts, Part{Part: figure.name, Request: name, Comparison: c})
	}
	return parts
}

// rescale sets both times, and the changes in nanoseconds to the same fractions of the base.
func (c *Comparison) rescale(base, head float64) {
	for _, ns := range []*float64{&c.ShiftNS.V, &c.LowNS.V, &c.HighNS.V} {
		*ns *= base / c.BaseNS.V
	}
	c.BaseNS.V = base
	c.HeadNS.V = head
}
