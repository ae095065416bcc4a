// Package marks interprets the names of a host's ranges: steps with their numbers, tokens and requests, and phases.
// Engines give these names to annotations of PyTorch's profiler and to NVTX ranges. table.go lists them with their
// sources.
package marks

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/optrace/optrace/op"
)

// The phases.
const (
	Prefill       = "prefill"
	Decode        = "decode"
	Mixed         = "mixed"
	Forward       = "forward"
	Backward      = "backward"
	Optimizer     = "optimizer"
	Communication = "communication"
	Data          = "data"
)

// Mark is the meaning of a range's name.
type Mark struct {
	// Rank is 0 for a range other than a step. The steps of a process are the marks of its lowest rank: an engine
	// tells more about its iterations than a profiler.
	Rank   int
	Number op.Int // the step's number in the name
	Phase  string // the phase in the name, or ""
	// Tokens and Requests are the step's, in the name.
	Tokens, Requests op.Int
	// Prefill and Decode are the parts of the batch, in the name.
	Prefill, Decode Part
}

// Part is the requests of a batch that read their prompts, or that generate, and their tokens in the step.
type Part struct{ Requests, Tokens op.Int }

// IsStep reports whether the range is a step.
func (m *Mark) IsStep() bool { return m.Rank > 0 }

// IsKnown reports whether a rule knows the name.
func (m *Mark) IsKnown() bool { return m.IsStep() || m.Phase != "" }

const maxWord = 64

// Of returns the meaning of a name, ok false for an unknown name. It is safe for concurrent use.
func Of(name string) (m Mark, ok bool) {
	name = strings.TrimPrefix(name, ":") // NVTX puts it before a name without a domain
	lower := strings.ToLower(name)
	for i := range rules {
		r := &rules[i]
		if !strings.Contains(lower, r.has) || r.source == "" && len(name) > maxWord {
			continue
		}
		found := r.pattern.FindStringSubmatch(name)
		if found == nil {
			continue
		}
		if m.Phase = r.phase; m.Phase == "" {
			m.Rank = i + 1
		}
		m.read(r.pattern.SubexpNames(), found)
		return m, true
	}
	return Mark{}, false
}

// read takes the parts of a name:
//
//	n          number of the step
//	requests, tokens
//	context, generation                 requests in prefill, and in decode
//	contextTokens, generationTokens     their tokens
//	mode       of the batch, a word
func (m *Mark) read(names, values []string) {
	parts := make(map[string]op.Int, len(names))
	mode := ""
	for i, name := range names {
		if n, err := strconv.ParseInt(values[i], 10, 64); err == nil {
			parts[name] = op.Known(n)
		} else if name == "mode" {
			mode = strings.ToLower(values[i])
		}
	}
	m.Number = parts["n"]
	m.Requests = cmp.Or(parts["requests"], sum(parts["context"], parts["generation"]))
	m.Tokens = cmp.Or(parts["tokens"], sum(parts["contextTokens"], parts["generationTokens"]))
	context := parts["context"].V > 0
	generation := parts["generation"].V > 0
	switch {
	case context && generation:
		m.Phase = Mixed
	case context:
		m.Phase = Prefill
	case generation:
		m.Phase = Decode
	case mode != "":
		m.Phase = modes[mode]
	}
	m.Prefill = Part{parts["context"], parts["contextTokens"]}
	m.Decode = Part{parts["generation"], parts["generationTokens"]}
	if m.Prefill.Requests.Known || mode == "" {
		return
	}
	switch all, none := (Part{m.Requests, m.Tokens}), (Part{op.Known(0), op.Known(0)}); m.Phase {
	case Prefill:
		m.Prefill, m.Decode = all, none
	case Decode:
		m.Prefill, m.Decode = none, all
	}
}

func sum(a, b op.Int) op.Int {
	if !a.Known || !b.Known {
		return op.Int{}
	}
	return op.Known(a.V + b.V)
}

// MaxPath bounds the ranges in a path, and MaxDepth the search around one, against endless nesting.
const (
	MaxPath  = 64
	MaxDepth = 1024
)

// Names are the marks of names by a reader's numbers.
type Names []*Mark

var unknown Mark

// Of returns the mark of a name, the zero Mark for an unknown name.
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

// Step is a step of one process. Times are in the recording's clock.
type Step struct {
	Process    int64
	Start, End int64
	Number     op.Int // known after [Steps.Settle]
	Name       uint32 // by a reader's numbers
	Used       bool   // set by a reader with an operation in the step
	rank       int    // of the mark, math.MaxInt for a range without one
}

// Steps are the steps of a recording: all of [Steps.Add] until [Steps.Settle], then the valid ones.
type Steps []Step

// Add adds a range with the mark of a step.
func (s *Steps) Add(m *Mark, step Step) {
	step.Number = m.Number
	step.rank = m.Rank
	*s = append(*s, step)
}

// Settle keeps for each process the steps of one rank, by time, and numbers steps without a number. Of these, a step
// that begins within another is a part of it. A process without steps gets its repeated ranges: outermost yields each
// thread's unknown outermost ranges in order of time. Settle calls it twice.
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
				ordinal++
				end = step.End
			}
			kept = append(kept, step)
		}
	}
	*s = kept
}

const leastRepeated = 4

// addRepeated adds the steps of processes without marks of steps: among the outermost ranges the ones of one name and
// thread that come at least leastRepeated times and take the most time.
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

// Empty counts the numbers of steps that are not used in any process.
func (s Steps) Empty() (n int64) {
	used := make(map[int64]bool)
	for i := range s {
		used[s[i].Number.V] = used[s[i].Number.V] || s[i].Used
	}
	for _, is := range used {
		if !is {
			n++
		}
	}
	return n
}

// At returns the step of a process at a time, or nil. Steps of one process follow each other.
func (s Steps) At(process, at int64) *Step {
	i := sort.Search(len(s), func(i int) bool {
		return s[i].Process > process || s[i].Process == process && s[i].Start > at
	}) - 1
	if i < 0 || s[i].Process != process || s[i].End <= at {
		return nil
	}
	return &s[i]
}
