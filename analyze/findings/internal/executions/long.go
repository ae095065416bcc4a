package executions

import (
	"cmp"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
)

// LongRequests are requests with far more work in shared steps than others: the first Long of Rows. Kind, Has and Unit say what
// they have more of.
type LongRequests struct {
	Kind, Has, Unit string
	BySteps         bool
	Weights         map[int32]float64
	Rows            []int32 // by weight, the largest first
	Long            int
}

// LongOnes returns the requests with long prompts, by weight. Without weights it compares first executions, and where batches
// run to their longest answer also the numbers of executions. isOfTurns says that there are no shared executions.
func LongOnes(f *trace.Forest, isOfTurns bool) (x LongRequests) {
	x = LongRequests{Kind: "prompt", Has: "has a weight of", Unit: "count", Weights: Weights(f)}
	if len(x.Weights) == 0 {
		x = LongRequests{Kind: "request", Has: "has a first step of", Unit: "ns", Weights: FirstTime(f)}
		if isOfTurns {
			x.Weights, x.Has = OwnTime(f), "has work of"
		}
	}
	if x.find(f); x.Long == 0 {
		x = LongRequests{Kind: "request", Has: "takes", Unit: "count", Weights: stepsOf(f), BySteps: true}
		x.find(f)
	}
	return x
}

func (x *LongRequests) find(f *trace.Forest) {
	x.Rows = slices.SortedFunc(maps.Keys(x.Weights), func(a, b int32) int {
		return cmp.Or(cmp.Compare(x.Weights[b], x.Weights[a]), cmp.Compare(a, b))
	})
	x.Rows = slices.DeleteFunc(x.Rows, func(r int32) bool { return int(r) >= f.Len() }) // without a span
	x.Long = Long(x.Weights, x.Rows, x.Kind == "prompt")
}

// Amount returns the weight of a request, by its place, as text.
func (x *LongRequests) Amount(place int) string {
	w := int64(x.Weights[x.Rows[place]])
	switch {
	case x.BySteps:
		return units.Plural(w, "step")
	case x.Unit == "count":
		return units.Count(w)
	}
	return units.Duration(w)
}

// stepsOf returns the number of executions of each request, by row, if new requests join no others: then they wait until the
// longest answer of a batch. It is nil for others.
func stepsOf(f *trace.Forest) map[int32]float64 {
	steps := make(map[int32]float64)
	for _, w := range Spans(f) {
		known := 0
		for _, r := range w.Requests {
			if steps[r] > 0 {
				known++
			}
			steps[r]++
		}
		if known > 0 && known < len(w.Requests) {
			return nil
		}
	}
	return steps
}

// Long returns how many requests have far more weight than the others, given all by weight, the largest first: a few with some
// times that of nine tenths, and of prompts also many with as many times that of three quarters.
func Long(weights map[int32]float64, requests []int32, arePrompts bool) int {
	const (
		least = 8
		times = 4
		few   = 4
		many  = 16
		apart = 2
	)
	if len(requests) < least {
		return 0
	}
	weight := func(i int) float64 { return weights[requests[i]] }
	longer := func(part, most int) (n int) { // than the requests behind the first of many parts
		for n < most && weight(n) >= times*weight(len(requests)/part) {
			n++
		}
		return n
	}
	long := longer(10, few)
	for long > 1 && weight(long-1) < apart*weight(long) { // of a long tail
		long--
	}
	all := longer(4, min(many, len(requests)/5))
	if arePrompts && all > long && weight(all-1) >= apart*weight(all) {
		return all
	}
	return long
}
