package engines

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Engine sums up the requests reported in one dialect. Times are in nanoseconds. Figures are unknown unless the engine
// reports them or they follow from reported figures.
type Engine struct {
	Dialect string `json:"dialect"`
	// Service and Model are common to all of the requests, or unknown.
	Service key.Value `json:"service"`
	Model   key.Value `json:"model"`
	// Key has the values of Options.By common to all of the requests: attributes and "service".
	Key map[string]string `json:"key,omitempty"`

	Requests int64 `json:"requests"`
	// TokensIn and TokensOut are the tokens read and written by all requests.
	TokensIn  op.Int `json:"tokens_in"`
	TokensOut op.Int `json:"tokens_out"`

	// Queue is the time before the model starts, Prefill the time up to the first token, and Decode the time from
	// there to the last token. Execute is the undivided time in the model. Other is the rest of E2E, the whole.
	Queue   *Times `json:"queue_ns"`
	Prefill *Times `json:"prefill_ns"`
	Decode  *Times `json:"decode_ns"`
	Execute *Times `json:"execute_ns"`
	Other   *Times `json:"other_ns"`
	// TTFT is the time to the first token, TPOT the time per further token. With TPOTWithPrefill the engine divides the
	// time in the model by all tokens.
	TTFT            *Times `json:"ttft_ns"`
	TPOT            *Times `json:"tpot_ns"`
	TPOTWithPrefill bool   `json:"tpot_with_prefill,omitzero"`
	E2E             *Times `json:"e2e_ns"`

	// Slow compares slow requests with the others; nil without slow requests.
	Slow *Slow `json:"slow"`
}

// Times describes the times of the requests with a known time.
type Times struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   int64   `json:"p50"`
	P95   int64   `json:"p95"`
	P99   int64   `json:"p99"`
	Max   int64   `json:"max"`
}

// Slow describes the requests with at least [Slower] times the median.
type Slow struct {
	Requests int64 `json:"requests"`
	// BeyondNS is the sum of their times beyond the median. For a request with more written tokens than the median request
	// the median is scaled accordingly.
	BeyondNS int64 `json:"beyond_ns"`
	// Part is the part with the largest increase: "queue", "prefill", "decode", "execute" or "other"; "" if unknown.
	// PartNS is the mean increase of that part, MoreNS the mean increase of the whole time.
	Part   string `json:"part,omitempty"`
	PartNS int64  `json:"part_ns"`
	MoreNS int64  `json:"more_ns"`
	// TokensOut and TypicalOut are the mean tokens written by slow and other requests.
	TokensOut  op.Int `json:"tokens_out"`
	TypicalOut op.Int `json:"typical_tokens_out"`
	// TraceID, SpanID and StartNS (Unix nanoseconds) identify the slowest request.
	TraceID op.TraceID `json:"trace_id"`
	SpanID  op.SpanID  `json:"span_id"`
	StartNS op.Int     `json:"start_unix_ns"`
}

// Slower is the smallest ratio of a slow request's time to the median.
const Slower = 2

var parts = [...]struct {
	field field
	name  string
	times func(*Engine) **Times
}{
	{queue, "queue", func(e *Engine) **Times { return &e.Queue }},
	{prefill, "prefill", func(e *Engine) **Times { return &e.Prefill }},
	{decode, "decode", func(e *Engine) **Times { return &e.Decode }},
	{execute, "execute", func(e *Engine) **Times { return &e.Execute }},
	{other, "other", func(e *Engine) **Times { return &e.Other }},
}

// Parts yields the known parts of the time with their names, in order.
func (e *Engine) Parts(yield func(string, *Times) bool) {
	for _, p := range parts {
		if t := *p.times(e); t != nil && !yield(p.name, t) {
			return
		}
	}
}

// Rows sums up requests by dialect and by the keys of Find, or by service and model without keys, most time first.
// numbers selects requests by their order in [Requests.All]; nil selects all. Beyond most rows, requests share one row
// per dialect.
func (r *Requests) Rows(most int, numbers ...int) []Engine {
	if numbers == nil {
		for i := range r.list {
			numbers = append(numbers, i)
		}
	}
	groups := make(map[string][]*request)
	var order []string
	for _, i := range numbers {
		q := &r.list[i]
		by := q.by[:len(r.names)]
		if len(by) == 0 {
			by = []string{q.service, q.texts[0]}
		}
		k := dialects[q.dialect].name + "\x00" + strings.Join(by, "\x00")
		if groups[k] == nil && len(order) >= most {
			k = dialects[q.dialect].name
		}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], q)
	}
	rows := make([]Engine, 0, len(order))
	for _, k := range order {
		rows = append(rows, r.row(groups[k]))
	}
	slices.SortStableFunc(rows, func(a, b Engine) int {
		return cmp.Compare(b.E2E.Mean*float64(b.Requests), a.E2E.Mean*float64(a.Requests))
	})
	return rows
}

func (r *Requests) row(of []*request) Engine {
	e := Engine{Dialect: dialects[of[0].dialect].name, Requests: int64(len(of))}
	e.Service = common(of, func(q *request) string { return q.service })
	e.Model = common(of, func(q *request) string { return q.texts[0] })
	for i, name := range r.names {
		if v := common(of, func(q *request) string { return q.by[i] }); v.Known {
			if e.Key == nil {
				e.Key = make(map[string]string)
			}
			e.Key[name] = v.Text
		}
	}
	e.TokensIn = sum(of, tokensIn)
	e.TokensOut = sum(of, tokensOut)
	for _, p := range parts {
		*p.times(&e) = timesOf(of, p.field)
	}
	e.TTFT = timesOf(of, toFirst)
	e.TPOT = timesOf(of, perToken)
	e.TPOTWithPrefill = dialects[of[0].dialect].prefillPerToken
	e.E2E = timesOf(of, total)
	e.Slow = slowOf(r.forest, of, e.E2E.P50)
	return e
}

func common(of []*request, text func(*request) string) key.Value {
	v := text(of[0])
	if v == "" || slices.ContainsFunc(of, func(q *request) bool { return text(q) != v }) {
		return key.Value{}
	}
	return key.Value{Text: v, Known: true}
}

func sum(of []*request, number field) op.Int {
	var all wide.Sum
	known := false
	for _, q := range of {
		if n := q.numbers[number]; n.Known {
			all.Add(n.V)
			known = true
		}
	}
	return op.Int{V: all.Int64(), Known: known}
}

func timesOf(of []*request, time field) *Times {
	var values []int64
	for _, q := range of {
		if n := q.numbers[time]; n.Known {
			values = append(values, n.V)
		}
	}
	n := int64(len(values))
	if n == 0 {
		return nil
	}
	slices.Sort(values)
	at := func(percent int64) int64 { return values[sketch.Place(n, percent)] }
	mean := float64(sum(of, time).V) / float64(n)
	return &Times{Count: n, Mean: mean, P50: at(50), P95: at(95), P99: at(99), Max: values[n-1]}
}

func slowOf(f *trace.Forest, all []*request, median int64) *Slow {
	var slow, typical []*request
	for _, q := range all {
		if median > 0 && q.numbers[total].V/Slower >= median {
			slow = append(slow, q)
		} else {
			typical = append(typical, q)
		}
	}
	if len(slow) == 0 {
		return nil
	}
	slowest := slices.MaxFunc(slow, func(a, b *request) int {
		return cmp.Compare(a.numbers[total].V, b.numbers[total].V)
	})
	n := f.Node(slowest.row)
	s := &Slow{Requests: int64(len(slow)), TraceID: n.TraceID(), SpanID: n.SpanID(), StartNS: n.Start()}
	var beyond wide.Sum
	tokens := timesOf(all, tokensOut)
	for _, q := range slow {
		usual := median
		if out := q.numbers[tokensOut].V; tokens != nil && tokens.P50 > 0 && out > tokens.P50 {
			usual = int64(float64(median) * float64(out) / float64(tokens.P50))
		}
		beyond.Add(max(0, q.numbers[total].V-usual))
	}
	s.BeyondNS = beyond.Int64()
	mean := func(of []*request, number field) op.Int { // of the requests that state it
		if t := timesOf(of, number); t != nil {
			return op.Known(int64(t.Mean))
		}
		return op.Int{}
	}
	s.MoreNS = mean(slow, total).V - mean(typical, total).V
	for _, p := range parts {
		a := mean(slow, p.field)
		b := mean(typical, p.field)
		if more := a.V - b.V; a.Known && b.Known && more > s.PartNS {
			s.Part = p.name
			s.PartNS = more
		}
	}
	s.TokensOut = mean(slow, tokensOut)
	s.TypicalOut = mean(typical, tokensOut)
	return s
}
