package batching

// course is the progress of the requests of an engine.
type course struct {
	*Engine
	done  []int     // executions, or only behind the prompt if the engine has a budget
	read  []float64 // tokens of prompts
	begun []int     // in the last step
}

func (e *Engine) course() course {
	return course{Engine: e, done: make([]int, len(e.Served)), read: make([]float64, len(e.Served))}
}

// noPrompt is the request of an execution without prompts.
const noPrompt = -1

// step adds an execution for requests, and returns its load and the request with the most of a prompt in it. With a budget,
// the waiting ones join while tokens are left, and step returns their number.
func (c *course) step(requests, waiting []int, places int) (sum Load, reads, joined int) {
	reads = noPrompt
	c.begun = c.begun[:0]
	most := 0.0
	var loads []Load
	add := func(i int, l Load, isPrompt bool) {
		loads = append(loads, l)
		if isPrompt && (reads == noPrompt || l.Weight > most) {
			reads, most = i, l.Weight
		}
	}
	if c.Budget == 0 {
		for _, i := range requests {
			if c.done[i] == 0 {
				c.begun = append(c.begun, i)
			}
			add(i, c.Served[i].Loads[c.done[i]], c.done[i] < c.Served[i].Prompt)
			c.done[i]++
		}
		return c.Together(loads), reads, 0
	}
	left := c.Budget
	var prompts []int
	for _, i := range requests {
		if q := &c.Served[i]; c.read[i] < q.tokens.Weight {
			prompts = append(prompts, i)
		} else {
			l := q.Loads[q.Prompt+c.done[i]]
			add(i, l, false)
			left -= l.Weight
			c.done[i]++
		}
	}
	for k, i := range append(prompts, waiting[:max(0, min(places, len(waiting)))]...) {
		if left < 1 {
			break
		}
		if c.read[i] == 0 {
			c.begun = append(c.begun, i)
		}
		l := c.Served[i].part(c.read[i], left)
		add(i, l, true)
		left -= l.Weight
		c.read[i] += l.Weight
		if k >= len(prompts) {
			joined++
		}
	}
	return c.Together(loads), reads, joined
}

// isDone reports whether a request has ended.
func (c *course) isDone(i int) bool {
	q := &c.Served[i]
	if c.Budget == 0 {
		return c.done[i] == len(q.Loads)
	}
	return c.read[i] >= q.tokens.Weight && q.Prompt+c.done[i] == len(q.Loads)
}

// part returns the load of at most some tokens of a prompt, behind the tokens read before. Each attends to all before it.
func (q *Request) part(read, most float64) Load {
	tokens := min(most, q.tokens.Weight-read)
	share := (tokens*tokens + 2*tokens*read) / (q.tokens.Weight * q.tokens.Weight)
	return Load{Weight: tokens, Attention: q.tokens.Attention * share}
}

// nearBudget is the least part of the most tokens in a full execution.
const nearBudget = 0.95

// findBudget finds the most tokens of an execution: most executions that leave a prompt unfinished have about as many.
func (e *Engine) findBudget() {
	most := 0.0
	leaves := make(map[int]bool) // executions
	for i := range e.Steps {
		most = max(most, e.Steps[i].Load.Weight)
	}
	for k := range e.Served {
		q := &e.Served[k]
		for i, l := range q.Loads[:q.Prompt] {
			q.tokens.Add(l, 1)
			if i+1 < q.Prompt && q.Last-q.First+1 == int32(len(q.Loads)) { // in executions that follow each other
				leaves[int(q.First)+i] = true
			}
		}
	}
	const few = 3
	full := 0
	for i := range leaves {
		if e.Steps[i].Load.Weight >= nearBudget*most {
			full++
		}
	}
	if full >= few && 2*full >= len(leaves) {
		e.Budget = most
	}
}
