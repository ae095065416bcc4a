package profiler

import (
	"iter"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// Range is a named range of the host on a thread.
type Range struct {
	Start, End int64
	Thread     uint32
	Name       uint32 // of [Symbols]
	Nest
}

// Ranges gives the paths, the phases and the steps of a recording's ranges.
type Ranges struct {
	At    func(i int32) *Range
	Text  func(name uint32) string
	Marks *marks.Names
	// Plain reports whether a range is part of paths; nil is all.
	Plain func(i int32) bool

	paths map[int32]string // by number of the innermost range
	bytes int              // of these
}

const maxPaths = 4 << 20 // bounds the bytes of cached paths

// Intervals returns the intervals of the first n ranges.
func (s *Ranges) Intervals(n int) Intervals {
	return Intervals{N: n, At: func(i int32) Interval {
		r := s.At(i)
		return Interval{Thread: r.Thread, Start: r.Start, End: r.End}
	}}
}

// Outside returns the next range around the i-th that is open at a time, -1 for none.
func (s *Ranges) Outside(i int32, at int64) int32 {
	return Outside(i, at, func(i int32) (Nest, int64) {
		r := s.At(i)
		return r.Nest, r.End
	})
}

// Mark returns the mark of the i-th range.
func (s *Ranges) Mark(i int32) *marks.Mark {
	name := s.At(i).Name
	return s.Marks.Of(name, s.Text(name))
}

// Phase returns the phase of the innermost range with one, from range i outwards among the ranges open at a time, or "".
func (s *Ranges) Phase(i int32, at int64) string {
	for n := 0; i >= 0 && n < marks.MaxDepth; n, i = n+1, s.Outside(i, at) {
		if phase := s.Mark(i).Phase; phase != "" {
			return phase
		}
	}
	return ""
}

// Path returns the names of range i and the ranges around it that are open at a time, steps left out, outermost first,
// "" for -1.
func (s *Ranges) Path(i int32, at int64) string {
	plain := func(i int32) bool { return s.Plain == nil || s.Plain(i) }
	for n := 0; i >= 0 && !plain(i) && n < marks.MaxDepth; n++ {
		i = s.Outside(i, at) // others share the paths of the ranges around them
	}
	if i < 0 {
		return ""
	}
	path, ok := s.paths[i]
	if ok && s.At(i).Across < 0 {
		return path
	}
	var names []string
	nested := true // each range lies within the next
	for n, in := 0, i; in >= 0 && n < marks.MaxDepth && len(names) < marks.MaxPath; n++ {
		if plain(in) && !s.Mark(in).IsStep() {
			names = append(names, scalar.ValidUTF8(s.Text(s.At(in).Name)))
		}
		next := s.Outside(in, at)
		nested = nested && next == s.At(in).Parent
		in = next
	}
	slices.Reverse(names)
	path = strings.Join(names, op.PathSeparator)
	if nested && !ok {
		if s.bytes += len(path) + symbolBytes; s.paths == nil || s.bytes > maxPaths {
			s.paths = make(map[int32]string)
			s.bytes = len(path)
		}
		s.paths[i] = path
	}
	return path
}

// Step returns the i-th range as a step.
func (s *Ranges) Step(i int32, process int64) marks.Step {
	r := s.At(i)
	return marks.Step{Process: process, Start: r.Start, End: r.End, Name: r.Name}
}

// Unmarked yields the outermost ranges of order that may be steps and have no known mark, with the numbers of their
// threads.
func (s *Ranges) Unmarked(
	order []int32, may func(i int32) bool, process func(thread uint32) int64,
) iter.Seq2[uint32, marks.Step] {
	return func(yield func(uint32, marks.Step) bool) {
		for _, i := range order {
			r := s.At(i)
			if r.Parent < 0 && may(i) && !s.Mark(i).IsKnown() && !yield(r.Thread, s.Step(i, process(r.Thread))) {
				return
			}
		}
	}
}
