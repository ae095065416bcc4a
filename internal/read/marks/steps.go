package marks

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"

	"github.com/optrace/optrace/op"
)

// MaxPath bounds the ranges in a path, and MaxDepth those that are looked at around one, so that what nests
// without end is no text, and takes no time, without end.
const (
	MaxPath  = 64
	MaxDepth = 1024
)

// Names are the marks of names, by the numbers that a reader gave these.
type Names []*Mark

var unknown Mark

// Of returns the mark of a name, the zero Mark where no rule knows it.
func (n *Names) Of(number uint32, name string) *Mark {
	if more := int(number) + 1 - len(*n); more > 0 {
		*n = append(*n, make(Names, more)...)
	}
	m := (*n)[number]
	if m == nil {
		m = &unknown
		if mark, ok := Of(name); ok {
			m = &mark
		}
		(*n)[number] = m
	}
	return m
}

// Step is a step as one process saw it. Times are those of the recording.
type Step struct {
	Process    int64
	Start, End int64
	Number     op.Int // known of the steps that [Steps.At] returns
	Name       uint32 // by a reader's numbers
	rank       int    // of the mark, math.MaxInt for a range without one
}

// Steps are the steps of a recording: those that [Steps.Add] collected, until [Steps.Settle], and
// from then on those that count.
type Steps []Step

// Add adds a range whose mark is that of a step.
func (s *Steps) Add(m *Mark, step Step) {
	step.Number = m.Number
	step.rank = m.Rank
	*s = append(*s, step)
}

// Settle leaves for each process the steps of one rank, by time, and numbers those that state no
// number. Of these, one that begins in another is a part of that. A process without any step has the
// ranges that repeat: outermost yields the ranges of each thread, in order of time, that no rule knows and
// that lie in no others. It is called twice.
func (s *Steps) Settle(outermost iter.Seq2[uint32, Step]) {
	s.addRepeated(outermost)
	all := *s
	slices.SortStableFunc(all, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.rank, b.rank), cmp.Compare(a.Start, b.Start),
			cmp.Compare(b.End, a.End))
	})
	kept := all[:0]
	for i := 0; i < len(all); {
		process := all[i].Process
		rank := all[i].rank
		ordinal := int64(0)
		end := int64(math.MinInt64)
		for ; i < len(all) && all[i].Process == process; i++ {
			step := all[i]
			if step.rank != rank || !step.Number.Known && step.Start < end {
				continue
			}
			if !step.Number.Known {
				step.Number = op.Known(ordinal)
				ordinal = ordinal + 1
				end = step.End
			}
			kept = append(kept, step)
		}
	}
	*s = kept
}

// leastRepeated is how often a range that no rule knows has to come to be a step.
const leastRepeated = 4

// addRepeated adds the steps of processes that have no marks of steps: of the outermost ranges those
// of one name on one thread, which come at least leastRepeated times and take the most time.
func (s *Steps) addRepeated(outermost iter.Seq2[uint32, Step]) {
	type key struct{ thread, name uint32 }
	type repeated struct{ n, time int64 }
	marked := make(map[int64]bool)
	for _, step := range *s {
		marked[step.Process] = true
	}
	all := make(map[key]repeated)
	best := make(map[int64]key)
	for thread, r := range outermost {
		if marked[r.Process] {
			continue
		}
		k := key{thread, r.Name}
		of := repeated{all[k].n + 1, all[k].time + r.End - r.Start}
		all[k] = of
		if b, ok := best[r.Process]; of.n >= leastRepeated && (!ok || of.time > all[b].time) {
			best[r.Process] = k
		}
	}
	for thread, r := range outermost {
		if k, ok := best[r.Process]; ok && k == (key{thread, r.Name}) {
			r.Number = op.Int{}
			r.rank = math.MaxInt
			*s = append(*s, r)
		}
	}
}

// At returns the step that a process was in, nil for none. Steps of one process follow each other.
func (s Steps) At(process, at int64) *Step {
	i := sort.Search(len(s), func(i int) bool {
		return s[i].Process > process || s[i].Process == process &&
			s[i].Start > at
	}) - 1
	if i < 0 || s[i].Process != process || s[i].End <= at {
		return nil
	}
	return &s[i]
}
