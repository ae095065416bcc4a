package replay

import (
	"cmp"
	"math"
	"slices"
)

// lawKey names a law: an operation in executions without or with new requests.
type lawKey struct {
	name  int32
	class int
}

// law is the time of an operation by the weight of its execution: fixed + slope·weight, in ns.
type law struct{ fixed, slope float64 }

func (l law) at(weight float64) float64 { return l.fixed + l.slope*weight }

// sample is a recorded operation.
type sample struct{ weight, ns float64 }

// fit returns the law of samples by least squares, without the twentieth that is farthest from it.
func fit(list []sample) (l law) {
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
		slope := 0.0
		if square > 0 {
			slope = max(0, min(product/square, mean.ns/mean.weight))
		}
		l = law{mean.ns - slope*mean.weight, slope}
		off := func(s sample) float64 { return math.Abs(s.ns-l.at(s.weight)) / max(1, l.at(s.weight)) }
		slices.SortFunc(list, func(a, b sample) int { return cmp.Compare(off(a), off(b)) })
		keep = list[:max(min(least, len(list)), len(list)-len(list)/part)]
	}
	return l
}
