package engines

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// solver follows the possible courses of an engine. Requests and steps go by their places.
type solver struct {
	all    []ask
	passes []pass
	slack  int64
	work   int // batches tried for a step
}

// course is one possible course so far: the requests that have arrived and not ended, and the batch of each step, the
// last first. Equal courses with other batches are joined, and the steps of these are in doubt.
type course struct {
	active []progress
	last   *batch
	doubt  map[int]bool
}

type progress struct {
	request int32
	left    int64 // tokens of the prompt
	more    int64 // tokens to generate
}

type batch struct {
	before *batch
	step   int
	parts  []part
}

type part struct {
	request int32
	tokens  int64
}

// Bounds of the courses of an engine, and of the batches tried for one step and for all.
const (
	maxCourses = 4096
	maxTried   = 100_000
	maxWork    = 4_000_000
)

// addTo adds the told steps to c and links.
func (s *solver) addTo(c *Composition, f *trace.Forest, links map[int32][]op.Link) {
	if !s.addsUp() {
		return
	}
	courses := []*course{{}}
	arrived, whole := 0, 0
	for i := range s.passes {
		p := &s.passes[i]
		for ; arrived < len(s.all) && s.all[arrived].arrival <= p.start+s.slack; arrived++ {
			for _, of := range courses {
				of.active = append(of.active, progress{int32(arrived), s.all[arrived].in, s.all[arrived].more})
			}
		}
		next := make(map[string]*course)
		s.work = 0
		for _, of := range courses {
			s.step(of, i, next)
		}
		whole += s.work
		if len(next) > maxCourses || s.work > maxTried || whole > maxWork {
			c.Ambiguous += int64(len(s.passes))
			return
		}
		courses = slices.Collect(maps.Values(next))
	}
	courses = slices.DeleteFunc(courses, func(of *course) bool { return len(of.active) > 0 })
	if len(courses) == 0 || arrived < len(s.all) {
		return
	}
	told := s.agreed(courses)
	c.Told += int64(len(told))
	c.Ambiguous += int64(len(s.passes) - len(told))
	for i, parts := range told {
		for _, p := range parts {
			n := f.Node(s.all[p.request].row)
			row := s.passes[i].row
			links[row] = append(links[row], op.Link{TraceID: n.TraceID(), SpanID: n.SpanID(), Weight: op.Known(p.tokens)})
		}
	}
}

// addsUp reports whether the requests read and generate the tokens of the steps.
func (s *solver) addsUp() bool {
	var in, more int64
	for i := range s.all {
		if s.all[i].in < 0 {
			return false
		}
		in -= s.all[i].in
		more -= s.all[i].more
	}
	for i := range s.passes {
		in += s.passes[i].tokens
		more += s.passes[i].decode
	}
	return in == 0 && more == 0
}

// step adds the courses after a step.
func (s *solver) step(of *course, number int, next map[string]*course) {
	p := &s.passes[number]
	var waiting, running []int
	for i, a := range of.active {
		q := &s.all[a.request]
		late := p.end > q.end+s.slack || a.left > 0 && p.end > q.first+s.slack
		switch {
		case late: // this and any later step ends after the request
			return
		case a.left == 0:
			running = append(running, i)
		case q.ready <= p.start+s.slack:
			waiting = append(waiting, i)
		}
	}
	tokens := make([]int64, len(of.active)) // of the step
	s.choose(waiting, int(p.prefill), func(read []int) {
		sum := int64(0)
		for _, i := range read {
			sum += of.active[i].left
		}
		if sum < p.tokens {
			return
		}
		for k := -1; k < len(read); k++ { // the prompt that is read in part
			rest := sum - p.tokens
			if k < 0 && rest > 0 || k >= 0 && (rest == 0 || rest >= of.active[read[k]].left) {
				continue
			}
			s.choose(running, int(p.decode), func(generate []int) {
				clear(tokens)
				for _, i := range generate {
					tokens[i] = 1
				}
				for j, i := range read {
					tokens[i] = of.active[i].left
					if j == k {
						tokens[i] -= rest
					}
				}
				s.take(of, number, tokens, next)
			})
		}
	})
}

// choose yields the choices of n of a list.
func (s *solver) choose(list []int, n int, yield func([]int)) {
	chosen := make([]int, 0, n)
	var from func(list []int)
	from = func(list []int) {
		if len(chosen) == n {
			s.work++
			yield(chosen)
			return
		}
		for i := 0; i <= len(list)-(n-len(chosen)) && s.work <= maxTried; i++ {
			chosen = append(chosen, list[i])
			from(list[i+1:])
			chosen = chosen[:len(chosen)-1]
		}
	}
	from(list)
}

// take adds the course after a step with some tokens of each active request.
func (s *solver) take(of *course, number int, tokens []int64, next map[string]*course) {
	to := &course{last: &batch{before: of.last, step: number}, doubt: of.doubt}
	var id []byte
	for i, a := range of.active {
		switch n := tokens[i]; {
		case n == 0:
		case a.left > 0:
			a.left -= n
		default:
			a.more -= n
		}
		if tokens[i] > 0 {
			to.last.parts = append(to.last.parts, part{a.request, tokens[i]})
		}
		if a.left > 0 || a.more > 0 {
			to.active = append(to.active, a)
			for _, n := range []int64{int64(a.request), a.left, a.more} {
				id = binary.AppendVarint(id, n)
			}
		}
	}
	if before := next[string(id)]; before != nil {
		before.join(to)
	} else {
		next[string(id)] = to
	}
}

// join puts the steps in doubt in which c and another course differ.
func (c *course) join(o *course) {
	doubt := maps.Clone(c.doubt)
	if doubt == nil {
		doubt = make(map[int]bool)
	}
	maps.Copy(doubt, o.doubt)
	for a, b := c.last, o.last; a != b; a, b = a.before, b.before {
		if !slices.Equal(a.parts, b.parts) {
			doubt[a.step] = true
		}
	}
	c.doubt = doubt
}

// agreed returns the batches that are the same in all courses, by step.
func (s *solver) agreed(courses []*course) map[int][]part {
	told := make(map[int][]part)
	last := make([]*batch, len(courses))
	for k, of := range courses {
		last[k] = of.last
	}
	for i := len(s.passes) - 1; i >= 0; i-- {
		same := true
		for k, of := range courses {
			same = same && !of.doubt[i] && slices.Equal(last[0].parts, last[k].parts)
		}
		if same {
			told[i] = last[0].parts
		}
		for k := range last {
			last[k] = last[k].before
		}
	}
	return told
}
