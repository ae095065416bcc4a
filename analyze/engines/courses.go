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
	work   int  // batches tried for a step
	left   *int // batches that may be tried for all steps
}

// course is one possible course so far: the requests that have arrived and not ended, and the batches of the steps.
type course struct {
	active []progress
	last   *batch
}

type progress struct {
	request int32
	left    int64 // tokens of the prompt
	more    int64 // tokens to generate
}

// batch is the batch of a step. parts is nil in doubt: equal courses had other batches.
type batch struct {
	before *batch
	parts  []part
}

// join returns the common batches of two courses.
func join(a, b *batch) *batch {
	if a == b {
		return a
	}
	j := &batch{before: join(a.before, b.before)}
	if slices.Equal(a.parts, b.parts) {
		j.parts = a.parts
	}
	return j
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
	maxOfStep  = 64 // more for each step
)

// addTo adds the told steps to c and links.
func (s *solver) addTo(c *Composition, f *trace.Forest, links map[int32][]op.Link) {
	if !s.addsUp() {
		return
	}
	courses := []*course{{}}
	arrived := 0
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
			s.step(of, p, next)
		}
		*s.left -= s.work
		if len(next) > maxCourses || s.work > maxTried || *s.left < 0 {
			c.Ambiguous += int64(len(s.passes))
			return
		}
		courses = slices.Collect(maps.Values(next))
	}
	courses = slices.DeleteFunc(courses, func(of *course) bool { return len(of.active) > 0 })
	if len(courses) == 0 || arrived < len(s.all) {
		return
	}
	last := courses[0].last
	for _, of := range courses {
		last = join(last, of.last)
	}
	for i := len(s.passes) - 1; i >= 0; i, last = i-1, last.before {
		if last.parts == nil {
			c.Ambiguous++
			continue
		}
		c.Told++
		row := s.passes[i].row
		for _, p := range last.parts {
			n := f.Node(s.all[p.request].row)
			link := op.Link{TraceID: n.TraceID(), SpanID: n.SpanID(), Weight: op.Known(p.tokens)}
			links[row] = append(links[row], link)
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
func (s *solver) step(of *course, p *pass, next map[string]*course) {
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
				take(of, tokens, next)
			})
		}
	})
}

// choose yields the choices of n of a list.
func (s *solver) choose(list []int, n int, yield func([]int)) {
	if n > len(list) {
		return
	}
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
func take(of *course, tokens []int64, next map[string]*course) {
	to := &course{last: &batch{before: of.last}}
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
		to.last = join(before.last, to.last)
	}
	next[string(id)] = to
}
