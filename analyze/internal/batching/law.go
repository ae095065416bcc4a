package batching

import (
	"cmp"
	"math"
	"slices"
)

// Load is the work of an execution: the weights of its links, those for attention in prompts, and those for attention
// behind prompts. Of an engine that runs batches to their longest answer it is the padded prompts, the later steps, as
// Context those of all requests, and as Attention the tokens before all of these.
type Load struct{ Weight, Attention, Context, Steps float64 }

// Add adds times a load.
func (l *Load) Add(o Load, times float64) {
	l.Weight += times * o.Weight
	l.Attention += times * o.Attention
	l.Context += times * o.Context
	l.Steps += times * o.Steps
}

func (l Load) times(o Load) float64 {
	return l.Weight*o.Weight + l.Attention*o.Attention + l.Context*o.Context + l.Steps*o.Steps
}

// Law is the time of an operation by the load of its execution, in ns.
type Law struct {
	Fixed float64
	Per   Load // slopes
}

// At returns the time at a load.
func (l Law) At(x Load) float64 { return l.Fixed + l.Per.times(x) }

// Add adds times an operation's law.
func (l *Law) Add(o Law, times float64) {
	l.Fixed += times * o.Fixed
	l.Per.Add(o.Per, times)
}

// Sample is a recorded operation.
type Sample struct {
	Load Load
	NS   float64
}

// Fit returns the law of samples by least squares, without the twentieth farthest from it, and without up to a quarter of
// them, such as pauses, that are ten times as far as usual. The time grows along one load or two, and by slopes that are
// known. It grows along both only if no slope is negative. A known fixed part is above 0.
func Fit(list []Sample, known Law, along ...Load) (l Law) {
	const rounds, least, part, quarter, far = 4, 3, 20, 4, 10
	keep := list
	for range rounds {
		l = fitTo(keep, known, along)
		off := func(s Sample) float64 { return math.Abs(s.NS-l.At(s.Load)) / max(1, l.At(s.Load)) }
		slices.SortFunc(list, func(a, b Sample) int { return cmp.Compare(off(a), off(b)) })
		n := len(list) - len(list)/part
		for n > len(list)-len(list)/quarter && off(list[n-1]) > far*off(list[len(list)/2]) {
			n--
		}
		keep = list[:max(min(least, len(list)), n)]
	}
	return l
}

// fitTo is Fit for all samples.
func fitTo(list []Sample, known Law, along []Load) (l Law) {
	of := func(k int, s Sample) float64 { // its load, or else its time
		if k < len(along) {
			return along[k].times(s.Load)
		}
		return s.NS - known.At(s.Load)
	}
	var means [3]float64
	var products [3][3]float64 // of the differences from the means
	for k := range len(along) + 1 {
		if known.Fixed > 0 {
			break // through the known part
		}
		for _, s := range list {
			means[k] += of(k, s) / float64(len(list))
		}
	}
	for _, s := range list {
		for k := range len(along) + 1 {
			for m := range len(along) + 1 {
				products[k][m] += (of(k, s) - means[k]) * (of(m, s) - means[m])
			}
		}
	}
	l = Law{known.Fixed + means[len(along)], known.Per}
	if len(along) == 2 {
		const alike = 1e-6 // loads growing together are indistinguishable
		p := &products
		det := p[0][0]*p[1][1] - p[0][1]*p[0][1]
		first, second := (p[0][2]*p[1][1]-p[1][2]*p[0][1])/det, (p[1][2]*p[0][0]-p[0][2]*p[0][1])/det
		fixed := means[2] - first*means[0] - second*means[1]
		if det <= alike*p[0][0]*p[1][1] || first < 0 || second < 0 || fixed < 0 {
			one, other := fitTo(list, known, along[:1]), fitTo(list, known, along[1:])
			if p[0][2]*p[0][2]*p[1][1] < p[1][2]*p[1][2]*p[0][0] {
				one = other
			}
			return one
		}
		l.Fixed = known.Fixed + fixed
		l.Per.Add(along[0], first)
		l.Per.Add(along[1], second)
		return l
	}
	if products[0][0] > 0 {
		slope := max(0, products[0][1]/products[0][0])
		if known.Fixed == 0 {
			slope = min(slope, means[1]/means[0])
		}
		l.Fixed -= slope * means[0]
		l.Per.Add(along[0], slope)
	}
	return l
}

// PromptOf returns the tokens and the number of steps of a prompt: the steps with more weight than the last one. Tokens
// are 0 if weights do not tell them.
func PromptOf(loads []Load) (tokens int64, steps int) {
	sum := 0.0
	for steps < len(loads) && (steps == 0 || loads[steps].Weight > loads[len(loads)-1].Weight) {
		sum += loads[steps].Weight
		steps++
	}
	if sum <= float64(steps) {
		return 0, steps
	}
	return int64(sum), steps
}
