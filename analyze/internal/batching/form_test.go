package batching_test

import (
	"math"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/batching"
	"github.com/optrace/optrace/internal/testing/check"
)

// run returns an engine with steps of 1,000 ns and 10 ns a token, of the tokens of each request, and durations of the
// requests. Each request ends with its last step.
func run(arrivals []int64, steps []map[int]float64) (*batching.Engine, batching.Plan, []float64) {
	var e batching.Engine
	var p batching.Plan
	served := make([]*batching.Request, len(arrivals))
	at := int64(0)
	for i, tokens := range steps {
		s := batching.Step{Execution: int32(i), Start: at, Links: len(tokens)}
		for q, n := range tokens {
			if served[q] == nil {
				served[q] = &batching.Request{Root: int32(q), Arrival: arrivals[q], First: int32(i)}
				s.New++
			}
			served[q].Last = int32(i)
			served[q].Loads = append(served[q].Loads, batching.Load{Weight: n})
			s.Load.Add(batching.Load{Weight: n}, 1)
			if n > 1 {
				s.Prompts++
			}
		}
		s.End = at + 1_000 + int64(10*s.Load.Weight)
		at = s.End
		e.Steps = append(e.Steps, s)
		p.Costs = append(p.Costs, batching.Cost{Law: batching.Law{Fixed: 1_000, Per: batching.Load{Weight: 10}}})
	}
	var want []float64
	for _, q := range served {
		_, q.Prompt = batching.PromptOf(q.Loads)
		q.Duration = e.Steps[q.Last].End - q.Arrival
		want = append(want, float64(q.Duration))
		e.Served = append(e.Served, *q)
	}
	p.Tails = make([]float64, len(served))
	e.Count()
	e.Learn()
	return &e, p, want
}

// Batches formed again are the recorded ones: prompts in parts keep to the tokens of a step, and a batch that ends before
// the next one keeps others out.
func TestBatchesFormedAgainAreTheRecordedOnes(t *testing.T) {
	divided := []map[int]float64{
		{0: 100}, {0: 100}, {0: 100}, {0: 60, 1: 40}, {0: 1, 1: 20, 2: 30}, {0: 1, 1: 1, 2: 1}, {2: 1},
	}
	alone := []map[int]float64{{0: 50}, {0: 1}, {0: 1}, {0: 1}, {1: 20, 2: 30}, {1: 1, 2: 1}, {2: 1}}
	for name, c := range map[string]struct {
		steps  []map[int]float64
		budget float64
		alone  bool
	}{
		"prompts in parts":    {divided, 100, false},
		"one batch at a time": {alone, 0, true},
	} {
		e, p, want := run([]int64{0, 100, 3_000}, c.steps)
		check.Equal(t, name, want, e.Form(p, nil).Durations)
		check.Equal(t, name, c.budget, e.Budget)
		check.Equal(t, name, c.alone, e.Alone)
	}
}

// A number of requests is a limit only if one had to wait at it, and at most so many tokens are in a step in all.
func TestLimitsOfAnEngine(t *testing.T) {
	free := []map[int]float64{{0: 100}, {0: 1, 1: 20}, {0: 1, 1: 1}, {1: 1}, {2: 30}, {2: 1}}
	e, p, want := run([]int64{0, 100, 5_000}, free)
	check.Equal(t, "without waiting", want, e.Form(p, nil).Durations)
	check.Equal(t, "a limit of two", false, e.Largest == 2)
	full := []map[int]float64{{0: 100}, {0: 1, 1: 20}, {0: 1, 1: 1}, {0: 1, 1: 1}, {2: 30}, {2: 1}}
	e, p, want = run([]int64{0, 100, 2_100}, full)
	check.Equal(t, "waiting", want, e.Form(p, nil).Durations)
	check.Equal(t, "a limit of two", 2, e.Largest)
	check.Equal(t, "room", []bool{true, false}, []bool{e.HasRoom(&e.Steps[0]), e.HasRoom(&e.Steps[1])})
	chunked := e.Chunked(51) // {0: 51} {0: 49, 1: 2} {0: 1, 1: 18} {0: 1, 1: 1} {0: 1, 1: 1}
	check.Equal(t, "51 tokens", 1_510.+1_510+1_190+1_020+1_020, chunked.Form(p, nil).Durations[0])
}

// Operations take time by tokens and by pairs of them, as far as samples tell these apart.
func TestFitOfTwoLoads(t *testing.T) {
	var list, alike []batching.Sample
	for i := range 30 {
		l := batching.Load{Weight: float64(10 + i*7%23), Attention: float64(100 * (i % 5))}
		list = append(list, batching.Sample{Load: l, NS: 500 + 20*l.Weight + 3*l.Attention})
		l.Attention = 4 * l.Weight
		alike = append(alike, batching.Sample{Load: l, NS: 500 + 20*l.Weight})
	}
	tokens, pairs := batching.Load{Weight: 1}, batching.Load{Attention: 1}
	at := batching.Load{Weight: 50, Attention: 1_000}
	check.Equal(t, "both", 4_500., math.Round(batching.Fit(list, batching.Law{}, tokens, pairs).At(at)))
	at.Attention = 200
	check.Equal(t, "alike", 1_500., math.Round(batching.Fit(alike, batching.Law{}, tokens, pairs).At(at)))
}

// Products of all sizes have one name: their law is that of the mean in an execution, and the largest do not count as far off.
func TestLawsAreThoseOfTheMeanInAnExecution(t *testing.T) {
	var laws batching.Laws
	var steps [30]batching.Step
	for i := range steps {
		s := &steps[i]
		s.Load.Weight = float64(1 + i*i%17*40)
		for size := range int64(10) {
			laws.Add(1, s, size*size*(100+int64(s.Load.Weight)), false)
		}
	}
	laws.Fit(&batching.Engine{}, func(int32) bool { return false })
	const meanOfSquares = 28.5
	got := laws.Of(1, &steps[0]).At(batching.Load{Weight: 5_000})
	check.Equal(t, "mean", meanOfSquares*5_100, math.Round(10*got)/10)
}

// opened simulates an engine that waits a window for others to join a request that finds it idle, and none behind a
// batch.
func opened(window int64) (e batching.Engine, p batching.Plan, sum float64) {
	const n, most, fixed, each = 200, 8, 1_000_000, 200_000
	arrival := func(i int) int64 { return int64(i)*1_500_000 + int64(i*i%7)*900_000 - int64(i%5)*200_000 }
	var arrivals []int64
	for i := range n {
		arrivals = append(arrivals, arrival(i))
	}
	slices.Sort(arrivals)
	free := int64(0)
	for first := 0; first < n; {
		start := free
		if arrivals[first] > free {
			start = arrivals[first] + window
		}
		s := batching.Step{Execution: int32(len(e.Steps)), Start: start}
		for first < n && s.New < most && arrivals[first] <= start {
			s.New++
			e.Served = append(e.Served, batching.Request{
				Root: int32(first), Arrival: arrivals[first], First: s.Execution, Last: s.Execution,
				Loads: []batching.Load{{Weight: 1}}, Prompt: 1,
			})
			first++
		}
		s.Links, s.Prompts = s.New, s.New
		s.Load = batching.Load{Weight: float64(s.New)}
		s.End = start + fixed + each*int64(s.New)
		free = s.End
		for i := first - s.New; i < first; i++ {
			e.Served[i].Duration = free - arrivals[i]
			sum += float64(free - arrivals[i])
		}
		e.Steps = append(e.Steps, s)
		p.Costs = append(p.Costs, batching.Cost{Law: batching.Law{Fixed: fixed, Per: batching.Load{Weight: each}}})
	}
	p.Tails = make([]float64, n)
	e.Count()
	e.Learn()
	return e, p, sum
}

func TestAWindowThatOpensWhileTheEngineIsIdle(t *testing.T) {
	e, p, sum := opened(2_000_000)
	_, _, want := opened(0)
	for within, want := range map[int64]float64{math.MaxInt64: sum, 0: want} {
		if got := e.Within(within).FormOn(1, p, nil).Sum; math.Abs(got-want) > want/100 {
			t.Errorf("a window of %d: %.0f ns, want %.0f", within, got, want)
		}
	}
}
