package replay

import (
	"math"
	"slices"
)

// chunk counts the executions whose prompts change c divides.
func (g *Graph) chunk(c Change) (divided int64, err error) {
	for _, e := range g.engines() {
		for _, q := range e.served {
			for _, l := range q.loads[:q.prompt] {
				if l.weight > c.Factor {
					divided++
				}
			}
		}
	}
	if divided == 0 {
		err = &UnknownError{Select: c.String()}
	}
	return divided, err
}

// chunked returns the engine with prompts read in more executions: at most size tokens of a prompt in each.
func (e *engine) chunked(size float64) *engine {
	of := *e
	of.served = slices.Clone(e.served)
	for i := range of.served {
		q := &of.served[i]
		var loads []load
		for _, l := range q.loads[:q.prompt] {
			loads = append(loads, l.divide(math.Ceil(l.weight/size))...)
		}
		prompt := len(loads)
		q.loads = append(loads, q.loads[q.prompt:]...)
		q.prompt = prompt
	}
	return &of
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
