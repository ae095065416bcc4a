package batching

import (
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/heap"
)

// turn is the next step of a request that comes to a worker at a time.
type turn struct {
	at         float64
	request, n int
}

// formTurns runs the turns of requests again. A turn begins after its request came, and after its worker was free, at the
// time between that is recorded for the later one. For the other one it is at most the usual time of turns like it.
func (e *Engine) formTurns(p Plan, without map[int32]bool) Formed {
	r := Formed{Durations: slices.Repeat([]float64{-1}, len(e.Served))}
	usual := [2]map[int32]float64{e.usualGaps(p, 0), e.usualGaps(p, 1)} // of turns behind others, and of those that wait for none
	held := func(s *Step, i int32) float64 {                            // by a worker that stops before its turn
		if at, known := usual[1][s.Kind]; s.Holds && s.Idle == 1 && known {
			return max(0, p.Costs[i].Gap-at)
		}
		return 0
	}
	gap := func(s *Step, i int32, idle int) float64 {
		if s.Idle == idle {
			return p.Costs[i].Gap - held(s, i)
		}
		since := s.Came
		if idle == 0 {
			since = s.Freed
		}
		return min(max(0, float64(s.Start-since)), usual[idle][s.Kind])
	}
	arrivals := make([]float64, len(e.Served))
	coming := heap.Heap[turn]{Less: func(a, b turn) bool { return a.at > b.at }}
	come := func(request, n int, at float64) {
		i := e.Served[request].Turns[n]
		coming.Push(turn{at + gap(&e.Steps[i], i, 1), request, n})
	}
	arrive := func(i int, at float64) {
		if i, isSent := e.sent(i, without); isSent {
			arrivals[i] = at
			come(i, 0, at)
		}
	}
	late := e.begin(p, arrive)
	free := make(map[int32]float64)
	for len(coming.Items) > 0 {
		t := coming.Pop()
		q := &e.Served[t.request]
		i := q.Turns[t.n]
		s := &e.Steps[i]
		begin := t.at
		if at, used := free[s.Worker]; used {
			begin = max(begin, at+gap(s, i, 0))
		}
		end := begin + held(s, i) + p.Costs[i].At(s.Load)
		free[s.Worker] = end
		r.Busy += p.Costs[i].Device.At(s.Load)
		if t.n+1 < len(q.Turns) {
			come(t.request, t.n+1, end)
			continue
		}
		e.answer(&r, t.request, end+p.Tails[t.request], arrivals, late, arrive)
	}
	return r
}

// usualGaps returns the median of the times before turns with a value of Idle, by kind.
func (e *Engine) usualGaps(p Plan, idle int) map[int32]float64 {
	gaps := make(map[int32][]float64)
	for i := range e.Steps {
		if s := &e.Steps[i]; s.Idle == idle && s.Freed > math.MinInt64 {
			gaps[s.Kind] = append(gaps[s.Kind], p.Costs[i].Gap)
		}
	}
	usual := make(map[int32]float64)
	for kind, list := range gaps {
		slices.Sort(list)
		usual[kind] = list[len(list)/2]
	}
	return usual
}
