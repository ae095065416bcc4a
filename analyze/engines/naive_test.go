package engines_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// said lists figures of an engine, first times in milliseconds and then numbers, each below most.
var said = []struct {
	key  string
	most int64
}{
	{"gen_ai.latency.time_in_queue", 50}, {"gen_ai.latency.time_in_model_prefill", 50},
	{"gen_ai.latency.time_in_model_decode", 500},
	{"gen_ai.usage.input_tokens", 1000}, {"gen_ai.usage.output_tokens", 100},
}

// naiveRequest has the figures of said with times in nanoseconds, -1 if absent, and the total time.
type naiveRequest struct {
	says [5]int64
	e2e  int64
}

// Rows sum up the requests of a model.
func TestRowsAgainstNaive(t *testing.T) {
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		forest := trace.New()
		forest.KeepAttrs(engines.Keys()...)
		byModel := make(map[string][]naiveRequest)
		for i := range r.IntN(30) {
			model := string(rune('a' + r.IntN(3)))
			q := naiveRequest{e2e: r.Int64N(20) * 1e6}
			attrs := []op.Attr{{Key: "gen_ai.request.model", Value: model},
				{Key: "gen_ai.usage.num_sequences", Value: "1", Type: op.AttrInt}}
			for k, a := range said {
				n := r.Int64N(a.most)
				value := fmt.Sprint(n)
				if k < 3 {
					value = fmt.Sprint(float64(n) / 1e3)
					n *= 1e6
				}
				if q.says[k] = n; r.IntN(5) == 0 {
					q.says[k] = -1
					continue
				}
				if k < 3 {
					q.e2e += n
				}
				attrs = append(attrs, op.Attr{Key: a.key, Value: value, Type: op.AttrFloat})
			}
			byModel[model] = append(byModel[model], q)
			forest.AddSpan(&op.Span{
				Name: "llm_request", TraceID: op.TraceID{1}, SpanID: op.SpanID{byte(i + 1)},
				Start: op.Known(r.Int64N(1e9)), Duration: q.e2e, Attrs: attrs,
			})
		}
		rows := engines.Find(forest, nil, key.Filter{}).Rows(100)
		if len(rows) != len(byModel) {
			t.Fatalf("seed %d: %d rows of %d models", seed, len(rows), len(byModel))
		}
		for i := range rows {
			e := &rows[i]
			of := byModel[e.Model.Text]
			times := func(ns func(naiveRequest) int64) *engines.Times { return naiveTimes(of, ns) }
			time := func(k int) *engines.Times { return times(func(q naiveRequest) int64 { return q.says[k] }) }
			want := engines.Engine{
				Dialect: "vllm", Service: e.Service, Model: key.Value{Text: e.Model.Text, Known: true},
				Requests: int64(len(of)),
				TokensIn: naiveSum(of, 3), TokensOut: naiveSum(of, 4),
				E2E: times(func(q naiveRequest) int64 { return q.e2e }), Queue: time(0), Prefill: time(1),
				Decode: time(2),
				Other: times(func(q naiveRequest) int64 {
					if slices.Max(q.says[:3]) < 0 {
						return -1
					}
					return q.e2e - max(0, q.says[0]) - max(0, q.says[1]) - max(0, q.says[2])
				}),
				TPOT: times(func(q naiveRequest) int64 {
					if q.says[2] < 0 || q.says[4] < 2 {
						return -1
					}
					return q.says[2] / (q.says[4] - 1)
				}),
			}
			check.Equal(t, fmt.Sprintf("seed %d, model %s", seed, e.Model.Text), want, *e,
				cmpopts.EquateApprox(0, 0.0005),
				cmpopts.IgnoreFields(want, "TTFT", "Slow"))
		}
	})
}

// naiveTimes returns the known times of requests, with percentiles by their definition.
func naiveTimes(of []naiveRequest, ns func(naiveRequest) int64) *engines.Times {
	var all []int64
	sum := 0.0
	for _, q := range of {
		if v := ns(q); v >= 0 {
			all = append(all, v)
			sum += float64(v)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	least := func(percent int) int64 {
		for i, v := range all {
			if (i+1)*100 >= percent*len(all) {
				return v
			}
		}
		return -1
	}
	return &engines.Times{
		Count: int64(len(all)), Mean: sum / float64(len(all)), P50: least(50), P95: least(95), P99: least(99),
		Max: all[len(all)-1],
	}
}

func naiveSum(of []naiveRequest, k int) (sum op.Int) {
	for _, q := range of {
		if n := q.says[k]; n >= 0 {
			sum = op.Known(sum.V + n)
		}
	}
	return sum
}

// Parts of a request's time count up to eight spans below it, and texts are inherited from as far above.
func TestFarAway(t *testing.T) {
	for distance := 1; distance <= 10; distance++ {
		forest := trace.New()
		forest.KeepAttrs(engines.Keys()...)
		add := func(n int, name string, duration int64, attrs ...op.Attr) {
			s := op.Span{Name: name, TraceID: op.TraceID{1}, SpanID: op.SpanID{byte(n)}, Start: op.Known(int64(n)),
				Duration: duration, Attrs: attrs}
			if n > 1 {
				s.ParentSpanID = op.SpanID{byte(n - 1)}
			}
			forest.AddSpan(&s)
		}
		add(1, "POST", 1000, op.Attr{Key: "gen_ai.request.model", Value: "m"})
		for n := 2; n <= distance; n++ {
			add(n, "between", 900)
		}
		add(distance+1, "Req 1", 800, op.Attr{Key: "rid", Value: "1"})
		for n := 2; n <= distance; n++ {
			add(distance+n, "between", 700)
		}
		add(2*distance+1, "prefill_waiting", 50)
		rows := engines.Find(forest, nil, key.Filter{}).Rows(100)
		if len(rows) != 1 {
			t.Fatalf("distance %d: %d rows", distance, len(rows))
		}
		check.Equal(t, fmt.Sprintf("distance %d: the queue is known", distance), distance <= 8, rows[0].Queue != nil)
		check.Equal(t, fmt.Sprintf("distance %d: the model is known", distance), distance <= 8, rows[0].Model.Known)
	}
}
