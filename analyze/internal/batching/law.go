package batching

import (
	"cmp"
	"math"
	"slices"
)

// Load is the work of an execution: the weights of its links, those for attention in prompts, and those for attention
// behind prompts.
type Load struct{ Weight, Attention, Context float64 }

// Add adds times a load.
func (l *Load) Add(o Load, times float64) {
	l.Weight += times * o.Weight
	l.Attention += times * o.Attention
	l.Context += times * o.Context
}

func (l Load) times(o Load) float64 {
	return l.Weight*o.Weight + l.Attention*o.Attention + l.Context*o.Context
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

// Fit returns the law of samples by least squares, without the twentieth farthest from it. The time grows along a load,
// and by slopes that are known.
func Fit(list []Sample, along, known Load) (l Law) {
	const rounds, least, part = 3, 3, 20
	rest := func(s Sample) float64 { return s.NS - known.times(s.Load) }
	keep := list
	for range rounds {
		var mean, ns float64
		for _, s := range keep {
			mean += along.times(s.Load) / float64(len(keep))
			ns += rest(s) / float64(len(keep))
		}
		var square, product float64
		for _, s := range keep {
			off := along.times(s.Load) - mean
			square += off * off
			product += off * (rest(s) - ns)
		}
		slope := 0.0
		if square > 0 {
			slope = max(0, min(product/square, ns/mean))
		}
		l = Law{ns - slope*mean, known}
		l.Per.Add(along, slope)
		off := func(s Sample) float64 { return math.Abs(s.NS-l.At(s.Load)) / max(1, l.At(s.Load)) }
		slices.SortFunc(list, func(a, b Sample) int { return cmp.Compare(off(a), off(b)) })
		keep = list[:max(min(least, len(list)), len(list)-len(list)/part)]
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

// Divide divides tokens of a prompt into equal parts. Later tokens attend to more tokens before them.
func (l Load) Divide(parts float64) (all []Load) {
	if parts <= 1 {
		return []Load{l}
	}
	tokens := l.Weight / parts
	before := max(0, l.Attention/l.Weight-(l.Weight+1)/2)
	for i := range int(parts) {
		all = append(all, Load{Weight: tokens, Attention: tokens * (before + float64(i)*tokens + (tokens+1)/2)})
	}
	return all
}
