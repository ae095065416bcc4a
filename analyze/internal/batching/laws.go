package batching

import (
	"maps"
	"slices"
)

// Laws are the times of operations by their kinds, in executions without and with prompts. The zero value has none.
type Laws struct {
	times []timed
	of    map[inStep]int // the place in times
	laws  map[operation]Law
}

// operation is a kind of operation, in executions of a class, or in later steps of executions.
type operation struct {
	kind  int32
	class int
}

const later = 2 // the class of later steps

// inStep is an operation in an execution.
type inStep struct {
	operation
	step *Step
}

// timed is the time of all calls of an operation in an execution.
type timed struct {
	inStep
	ns, calls float64
}

// Add adds the time of an operation in an execution, isLater for one in a later step of it.
func (l *Laws) Add(kind int32, s *Step, ns int64, isLater bool) {
	if l.of == nil {
		l.of = make(map[inStep]int)
	}
	in := inStep{operation{kind, s.Class()}, s}
	if isLater {
		in.class = later
	}
	i, known := l.of[in]
	if !known {
		i = len(l.times)
		l.of[in] = i
		l.times = append(l.times, timed{inStep: in})
	}
	l.times[i].ns += float64(ns)
	l.times[i].calls++
}

// Host is the kind of the host's time in executions.
const Host = -1

// Fit learns the laws of all operations added, from their mean time in each execution.
// Attention grows with the weights for it, everything else with the weights. Without weights for attention, it grows with
// the weights and their pairs. The host's time grows with the steps of an engine that has several in an execution, and so
// do operations of later steps, with the requests in each, and attention with the tokens before.
func (l *Laws) Fit(e *Engine, isAttention func(kind int32) bool) {
	samples := make(map[operation][]Sample)
	for _, t := range l.times {
		load := t.step.Load
		if t.class == later {
			load = Load{Weight: float64(t.step.Links), Attention: t.step.Load.Attention / max(1, t.step.Load.Steps)}
		}
		samples[t.operation] = append(samples[t.operation], Sample{load, t.ns / t.calls})
	}
	pairs := Load{Attention: 1, Context: 1}
	l.laws = make(map[operation]Law)
	for o, list := range samples {
		single := samples[operation{o.kind, 0}]
		switch {
		case o.class == later:
			along := []Load{{Weight: 1}, {Attention: 1}}
			if !isAttention(o.kind) {
				along = along[:1]
			}
			law := Fit(list, Law{}, along...)
			l.laws[o] = Law{Per: Load{Steps: law.Fixed, Context: law.Per.Weight, Attention: law.Per.Attention}}
		case o.kind == Host && e.ToLongest:
			l.laws[o] = Fit(list, Law{}, Load{Steps: 1})
		case o.kind == Host || e.ToLongest || !isAttention(o.kind):
			l.laws[o] = Fit(list, Law{}, Load{Weight: 1})
		case !e.HasAttention:
			l.laws[o] = Fit(list, Law{}, Load{Weight: 1}, pairs)
		case len(single) == 0:
			l.laws[o] = Fit(list, Law{}, pairs)
		default:
			law := Fit(single, Law{}, Load{Context: 1})
			if o.class > 0 {
				law = Fit(list, law, Load{Weight: 1}, Load{Attention: 1})
			}
			l.laws[o] = law
		}
	}
	l.times, l.of = nil, nil
}

// Of returns the law of an operation in an execution, the zero law for an unknown operation.
func (l *Laws) Of(kind int32, s *Step) Law { return l.laws[operation{kind, s.Class()}] }

// OfLater is Of for all later steps of an execution.
func (l *Laws) OfLater(kind int32) Law { return l.laws[operation{kind, later}] }

// Kinds returns the kinds of all operations with a law, sorted.
func (l *Laws) Kinds() []int32 {
	kinds := make(map[int32]bool)
	for o := range l.laws {
		kinds[o.kind] = true
	}
	return slices.Sorted(maps.Keys(kinds))
}

// FirstTimes returns the time of the first execution of each worker by the law of the others of its class, relative to the
// recorded one; nil without others.
func (e *Engine) FirstTimes(load func(*Step) Load) (factors []float64) {
	firsts := max(1, e.Places)
	var others []Sample
	for i := range e.Steps[firsts:] {
		s := &e.Steps[firsts+i]
		if s.Class() == e.Steps[0].Class() && (e.Stages == 0 || s.Worker == e.Steps[0].Worker) {
			others = append(others, Sample{load(s), float64(s.End - s.Start)})
		}
	}
	if len(others) == 0 {
		return nil
	}
	law := Fit(others, Law{}, Load{Weight: 1})
	for i := range firsts {
		s := &e.Steps[i]
		factors = append(factors, law.At(load(s))/float64(max(1, s.End-s.Start)))
	}
	return factors
}
