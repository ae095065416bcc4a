package kineto

import (
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// encloseRanges finds the ranges around each range and returns the ranges by thread and start.
func (t *tables) encloseRanges() []int32 {
	ranges := profiler.Intervals{N: t.ranges.n, InnerFirst: t.innerFirst, At: func(i int32) profiler.Interval {
		r := t.ranges.at(i)
		return profiler.Interval{Thread: r.thread, Start: r.start, End: r.start + r.dur}
	}}
	return ranges.Enclose(&profiler.Intervals{}, func(i int32, n profiler.Nest) { t.ranges.at(i).Nest = n }, nil)
}

// outside returns the next range outward from the i-th among those that are open at a time, -1 for none.
func (t *tables) outside(i int32, at int64) int32 {
	return profiler.Outside(i, at, func(i int32) (profiler.Nest, int64) {
		r := t.ranges.at(i)
		return r.Nest, r.start + r.dur
	})
}

// rangeAt returns the innermost range open on a thread at a time, -1 for none.
func (j *join) rangeAt(thread uint32, at int64) int32 {
	i := sort.Search(len(j.byRange), func(i int) bool {
		r := j.ranges.at(j.byRange[i])
		return r.thread > thread || r.thread == thread && r.start > at
	}) - 1
	if i < 0 || j.ranges.at(j.byRange[i]).thread != thread {
		return -1
	}
	in := j.byRange[i]
	for n := 0; in >= 0 && n < marks.MaxDepth; n++ {
		if r := j.ranges.at(in); r.start+r.dur > at || r.start == at {
			return in
		}
		in = j.outside(in, at)
	}
	return -1
}

// setRanges sets the path and phase of an entry from the ranges around its launch, and else the phase from the
// operators around it. Arguments of the entry take precedence.
func (m *entryMaker) setRanges(e *op.Entry, thread uint32, at int64, operator int32) {
	around := int32(-1)
	if m.ranges.n > 0 {
		around = m.rangeAt(thread, at)
	}
	if e.Path == "" {
		e.Path = m.pathOf(around, at)
	}
	if e.Phase == "" {
		e.Phase = m.phaseOf(around, at)
	}
	if e.Phase == "" && operator >= 0 {
		e.Phase = m.operatorPhase(operator)
	}
}

// rangeMark returns the mark of a range's name.
func (t *tables) rangeMark(i int32) *marks.Mark {
	name := t.ranges.at(i).name
	return t.marks.Of(name, t.notes.Text(name))
}

// phaseOf returns the phase that the innermost range tells, of a range and those around it that are open at a time.
func (m *entryMaker) phaseOf(i int32, at int64) string {
	for n := 0; i >= 0 && n < marks.MaxDepth; n, i = n+1, m.outside(i, at) {
		if phase := m.rangeMark(i).Phase; phase != "" {
			return phase
		}
	}
	return ""
}

// operatorPhase returns the phase of the outermost operator around operator i. The autograd engine computes gradients
// on threads of its own.
func (m *entryMaker) operatorPhase(i int32) string {
	for n := 0; m.hostOps.at(i).parent >= 0; n++ {
		if n == marks.MaxDepth {
			return ""
		}
		i = m.hostOps.at(i).parent
	}
	name := m.hostOps.at(i).name
	phase, ok := m.phases[name]
	if !ok {
		if mark, known := marks.Of(m.symbols.Text(name)); known && !mark.IsStep() {
			phase = mark.Phase
		}
		remember(&m.phases, name, phase)
	}
	return phase
}

// rangeAround returns the name of the innermost range around a call that is no step, "" for none.
func (m *entryMaker) rangeAround(call *launch) string {
	if m.ranges.n == 0 {
		return ""
	}
	i := m.rangeAt(call.thread, call.start)
	for n := 0; i >= 0 && n < marks.MaxDepth; n, i = n+1, m.outside(i, call.start) {
		if !m.rangeMark(i).IsStep() {
			return lexer.ValidUTF8(m.notes.Text(m.ranges.at(i).name))
		}
	}
	return ""
}

// pathOf returns the names of a range and of those around it that are open at a time and no steps, the outermost first.
// It returns "" for -1.
func (m *entryMaker) pathOf(i int32, at int64) string {
	if i < 0 {
		return ""
	}
	path, ok := m.paths[i]
	if ok && m.ranges.at(i).Across < 0 {
		return path
	}
	var names []string
	nested := true // every range lies within the next
	for n, in := 0, i; in >= 0 && n < marks.MaxDepth && len(names) < marks.MaxPath; n++ {
		if !m.rangeMark(in).IsStep() {
			names = append(names, lexer.ValidUTF8(m.notes.Text(m.ranges.at(in).name)))
		}
		next := m.outside(in, at)
		nested = nested && next == m.ranges.at(in).Parent
		in = next
	}
	slices.Reverse(names)
	path = strings.Join(names, op.PathSeparator)
	if nested {
		remember(&m.paths, i, path)
	}
	return path
}
