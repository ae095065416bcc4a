package engines

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/read/marks"
	"github.com/optrace/optrace/op"
)

// Composition counts the steps of an engine with the numbers of requests and tokens in their batches, but without links.
type Composition struct {
	Steps int64 `json:"steps"`
	// Told counts the steps with requests determined by the counts. Ambiguous counts steps with several possible batches,
	// or too many to examine. Unmatched counts steps of a busy time with more or fewer tokens than its requests:
	// requests or steps are missing, or tokens came from a cache or several at once.
	Told      int64 `json:"told"`
	Ambiguous int64 `json:"ambiguous"`
	Unmatched int64 `json:"unmatched"`
	// Engines counts the engines. With several engines no step is told: requests do not name their engine.
	Engines int64 `json:"engines"`
}

// Compose finds the requests of the steps of an engine, from the counts in the names of steps and the tokens and times
// of requests, and adds them to f as links with the tokens of each request. It returns nil without such steps and
// requests.
//
// It follows every possible course of the engine from a time without requests to the next: a step reads arrived prompts,
// at most one of them in part, and each of its other requests generates one token. A request ends within its recorded
// times, after its recorded tokens. A batch is told if it is the same in all courses.
func Compose(f *trace.Forest) *Composition {
	f.Build()
	passes, engines := passesOf(f)
	all := asksOf(f)
	if len(passes) == 0 || len(all) == 0 {
		return nil
	}
	c := &Composition{Steps: int64(len(passes)), Engines: int64(engines)}
	if engines > 1 {
		return c
	}
	links := make(map[int32][]op.Link)
	slack := slackOf(f, all)
	left := maxWork + maxOfStep*len(passes)
	for from := 0; from < len(all); {
		to := from + 1
		end := all[from].end
		for ; to < len(all) && all[to].arrival <= end+slack; to++ {
			end = max(end, all[to].end)
		}
		s := solver{all: all[from:to], slack: slack, left: &left}
		first := firstFrom(passes, all[from].arrival-slack)
		s.passes = passes[first:max(first, firstFrom(passes, end+1))]
		s.addTo(c, f, links)
		from = to
	}
	c.Unmatched = c.Steps - c.Told - c.Ambiguous
	if len(links) > 0 {
		f.AddLinks(links)
		f.Build()
	}
	return c
}

func firstFrom(passes []pass, at int64) int {
	i, _ := slices.BinarySearchFunc(passes, at, func(p pass, at int64) int { return cmp.Compare(p.start, at) })
	return i
}

// pass is a step of an engine. tokens counts the tokens of prompts.
type pass struct {
	row                     int32
	start, end              int64
	prefill, decode, tokens int64
}

// passesOf returns the steps by start, and the number of engines. Steps are spans, or operations if each is a whole
// step. It returns no steps if one has links, lacks counts, or generates several tokens for a request.
func passesOf(f *trace.Forest) (passes []pass, engines int) {
	names := make([]marks.Mark, len(f.Names.Marks.Values))
	for i, m := range f.Names.Marks.Values {
		names[i], _ = marks.Of(m.StepName)
	}
	var found [2][]pass // spans and operations
	for r := range f.Rows() {
		m := &names[f.Mark(r)]
		d := m.Decode
		p := m.Prefill
		if !p.Requests.Known || p.Requests.V+d.Requests.V == 0 || !f.Has(r, trace.FlagStart) || f.Has(r, trace.FlagRepeat) {
			continue
		}
		if !p.Tokens.Known && p.Requests.V > 0 || d.Tokens.Known && d.Tokens != d.Requests || f.HasLinks(r) {
			return nil, 0
		}
		list := &found[f.Flags(r)&trace.FlagOp]
		*list = append(*list, pass{r, f.Start(r), f.End(r), p.Requests.V, d.Requests.V, p.Tokens.V})
	}
	if passes = found[0]; len(passes) == 0 {
		passes = found[trace.FlagOp]
	}
	slices.SortStableFunc(passes, func(a, b pass) int { return cmp.Compare(a.start, b.start) })
	type process struct {
		service string
		lane    int32
	}
	steps := make(map[process]int64) // the last step
	overlapping := 0
	for i, p := range passes {
		of := process{f.Node(p.row).Service(), f.Lane(p.row)}
		if step, known := steps[of]; known && f.Has(p.row, trace.FlagOp) && step == f.Step(p.row) {
			return nil, 0 // an operation is a part of a step
		}
		steps[of] = f.Step(p.row)
		if i > 0 && p.start < (passes[i-1].start+passes[i-1].end)/2 {
			overlapping++
		}
	}
	engines = len(steps)
	const few = 8
	if few*overlapping > len(passes) { // of ranks that share the work, or of two engines
		engines = max(engines, 2)
	}
	return passes, engines
}

// ask is a request as the engine reports it. It reads in tokens between ready and first, at the latest, and generates more
// tokens until end, not counting the first token, from the prompt. in is below 0 if tokens are unknown.
type ask struct {
	row                        int32
	arrival, ready, first, end int64
	in, more                   int64
}

// asksOf returns the requests by arrival, without requests around others.
func asksOf(f *trace.Forest) (all []ask) {
	around := make(map[int32]bool)
	for q := range Find(f, nil, key.Filter{}).All {
		r := q.Node.Row
		if !f.Has(r, trace.FlagStart) || q.SpanID.IsZero() {
			continue
		}
		a := ask{row: r, arrival: f.Start(r), first: f.End(r), end: f.End(r), in: -1}
		a.ready = a.arrival + q.QueueNS.V
		if q.TTFTNS.Known {
			a.first = a.arrival + q.TTFTNS.V
		}
		if q.TokensIn.Known && q.TokensOut.V > 0 {
			a.in = max(1, q.TokensIn.V-q.Cached.V)
			a.more = q.TokensOut.V - 1
		}
		all = append(all, a)
		for above, n := f.Tree.Parent[r], 0; above != trace.NoRow && n < maxAbove; above, n = f.Tree.Parent[above], n+1 {
			around[above] = true
		}
	}
	all = slices.DeleteFunc(all, func(a ask) bool { return around[a.row] })
	slices.SortStableFunc(all, func(a, b ask) int { return cmp.Compare(a.arrival, b.arrival) })
	return all
}

// slackOf returns the error of times: two milliseconds if all are whole milliseconds.
func slackOf(f *trace.Forest, all []ask) int64 {
	const (
		fine   = 20_000
		coarse = 1_000_000
	)
	for i := range all {
		if f.Start(all[i].row)%coarse != 0 {
			return fine
		}
	}
	return 2 * coarse
}
