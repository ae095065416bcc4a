package batching

import (
	"maps"
	"slices"
)

// Laws are the times of operations by their names, in executions without and with prompts. The zero value has none.
type Laws struct {
	samples map[operation][]Sample
	laws    map[operation]Law
}

// operation is the name of an operation, in executions of a class.
type operation struct {
	name  int32
	class int
}

// Add adds the time of an operation in an execution.
func (l *Laws) Add(name int32, s *Step, ns int64) {
	if l.samples == nil {
		l.samples = make(map[operation][]Sample)
	}
	o := operation{name, s.Class()}
	l.samples[o] = append(l.samples[o], Sample{s.Load, float64(ns)})
}

// Fit learns the laws of all operations added. Attention grows with the weights for it, everything else with the weights.
// Without weights for attention, it grows with the weights and their pairs.
func (l *Laws) Fit(hasAttention bool, isAttention func(name int32) bool) {
	pairs := Load{Attention: 1, Context: 1}
	l.laws = make(map[operation]Law)
	for o, list := range l.samples {
		single := l.samples[operation{o.name, 0}]
		switch {
		case !isAttention(o.name):
			l.laws[o] = Fit(list, Load{}, Load{Weight: 1})
		case !hasAttention:
			l.laws[o] = Fit(list, Load{}, Load{Weight: 1}, pairs)
		case len(single) == 0:
			l.laws[o] = Fit(list, Load{}, pairs)
		default:
			law := Fit(single, Load{}, Load{Context: 1})
			if o.class > 0 {
				law = Fit(list, law.Per, Load{Attention: 1})
			}
			l.laws[o] = law
		}
	}
	l.samples = nil
}

// Of returns the law of an operation in an execution, the zero law for an unknown operation.
func (l *Laws) Of(name int32, s *Step) Law { return l.laws[operation{name, s.Class()}] }

// Names returns the names of all operations with a law, sorted.
func (l *Laws) Names() []int32 {
	names := make(map[int32]bool)
	for o := range l.laws {
		names[o.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}
