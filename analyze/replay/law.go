package replay

import (
	"cmp"
	"math"
	"slices"
)

// lawKey names a law: an operation in executions without or with prompts.
type lawKey struct {
	name  int32
	class int
}

// load is the work of an execution: the weights of its links, and those for attention.
type load struct{ weight, attention float64 }

func (l *load) add(o load) {
	l.weight += o.weight
	l.attention += o.attention
}

// law is the time of an operation by the load of its execution, in ns.
type law struct {
	fixed float64
	per   load // slopes
}

func (l law) at(x load) float64 { return l.fixed + l.per.weight*x.weight + l.per.attention*x.attention }

// add adds times an operation's law.
func (l *law) add(o law, times float64) {
	l.fixed += times * o.fixed
	l.per.weight += times * o.per.weight
	l.per.attention += times * o.per.attention
}

// sample is a recorded operation with the weights that count for it.
type sample struct{ weight, ns float64 }

// fit returns the law fixed + slope·weight of samples by least squares, without the twentieth farthest from it.
func fit(list []sample) (fixed, slope float64) {
	const rounds, least, part = 3, 3, 20
	keep := list
	for range rounds {
		var mean sample
		for _, s := range keep {
			mean.weight += s.weight / float64(len(keep))
			mean.ns += s.ns / float64(len(keep))
		}
		var square, product float64
		for _, s := range keep {
			square += (s.weight - mean.weight) * (s.weight - mean.weight)
			product += (s.weight - mean.weight) * (s.ns - mean.ns)
		}
		slope = 0
		if square > 0 {
			slope = max(0, min(product/square, mean.ns/mean.weight))
		}
		fixed = mean.ns - slope*mean.weight
		off := func(s sample) float64 {
			lawful := fixed + slope*s.weight
			return math.Abs(s.ns-lawful) / max(1, lawful)
		}
		slices.SortFunc(list, func(a, b sample) int { return cmp.Compare(off(a), off(b)) })
		keep = list[:max(min(least, len(list)), len(list)-len(list)/part)]
	}
	return fixed, slope
}
