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

// sample is a recorded operation.
type sample struct {
	load load
	ns   float64
}

// fit returns the law of samples by least squares, without the twentieth farthest from it. Attention grows with the
// weights for it, everything else with the weights.
func fit(list []sample, isAttention bool) (l law) {
	const rounds, least, part = 3, 3, 20
	weight := func(s sample) float64 {
		if isAttention {
			return s.load.attention
		}
		return s.load.weight
	}
	keep := list
	for range rounds {
		var mean, ns float64
		for _, s := range keep {
			mean += weight(s) / float64(len(keep))
			ns += s.ns / float64(len(keep))
		}
		var square, product float64
		for _, s := range keep {
			square += (weight(s) - mean) * (weight(s) - mean)
			product += (weight(s) - mean) * (s.ns - ns)
		}
		slope := 0.0
		if square > 0 {
			slope = max(0, min(product/square, ns/mean))
		}
		l = law{ns - slope*mean, load{weight: slope}}
		if isAttention {
			l.per = load{attention: slope}
		}
		off := func(s sample) float64 { return math.Abs(s.ns-l.at(s.load)) / max(1, l.at(s.load)) }
		slices.SortFunc(list, func(a, b sample) int { return cmp.Compare(off(a), off(b)) })
		keep = list[:max(min(least, len(list)), len(list)-len(list)/part)]
	}
	return l
}

// promptOf returns the tokens and the number of steps of a prompt: the steps with more weight than the last one. Tokens
// are 0 if weights do not tell them.
func promptOf(loads []load) (tokens int64, steps int) {
	sum := 0.0
	for steps < len(loads) && (steps == 0 || loads[steps].weight > loads[len(loads)-1].weight) {
		sum += loads[steps].weight
		steps++
	}
	if sum <= float64(steps) {
		return 0, steps
	}
	return int64(sum), steps
}

// divide divides tokens of a prompt into equal parts. Later tokens attend to more tokens before them.
func (l load) divide(parts float64) (all []load) {
	if parts <= 1 {
		return []load{l}
	}
	tokens := l.weight / parts
	before := max(0, l.attention/l.weight-(l.weight+1)/2)
	for i := range int(parts) {
		all = append(all, load{tokens, tokens * (before + float64(i)*tokens + (tokens+1)/2)})
	}
	return all
}
