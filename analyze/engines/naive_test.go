package engines_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// naiveRequest has the times of a request in milliseconds, -1 for one that the engine does not say.
type naiveRequest struct {
	model                       string
	e2e, queue, prefill, decode int64
	in, out                     int64
}

// The rows are sums over the requests of a model, worked out one by one.
func TestRowsAgainstNaive(t *testing.T) {
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		forest := trace.New()
		forest.KeepAttrs(engines.Keys()...)
		byModel := make(map[string][]naiveRequest)
		for i := range r.IntN(30) {
			said := func(most int) int64 {
				if r.IntN(5) == 0 {
					return -1
				}
				return r.Int64N(int64(most))
			}
			q := naiveRequest{
				model: string(rune('a' + r.IntN(3))), queue: said(50),
				prefill: said(50), decode: said(500), in: said(1000), out: said(100),
			}
			q.e2e = max(0, q.queue) + max(0, q.prefill) + max(0, q.decode) + r.Int64N(20)
			byModel[q.model] = append(byModel[q.model], q)
			s := op.Span{
				Name: "llm_request", TraceID: op.TraceID{1}, SpanID: op.SpanID{byte(i + 1)},
				Start: op.Known(r.Int64N(1e9)), Duration: q.e2e * 1e6,
			}
			s.Attrs = []op.Attr{
				{Key: "gen_ai.request.model", Value: q.model},
				{Key: "gen_ai.usage.num_sequences", Value: "1", Type: op.AttrInt},
			}
			for key, ms := range map[string]int64{
				"time_in_queue": q.queue, "time_in_model_prefill": q.prefill, "time_in_model_decode": q.decode,
			} {
				if ms >= 0 {
					s.Attrs = append(s.Attrs, op.Attr{
						Key:   "gen_ai.latency." + key,
						Value: strconv.FormatFloat(float64(ms)/1e3, 'g', -1, 64), Type: op.AttrFloat,
					})
				}
			}
			for key, n := range map[string]int64{"gen_ai.usage.input_tokens": q.in, "gen_ai.usage.output_tokens": q.out} {
				if n >= 0 {
					s.Attrs = append(s.Attrs, op.Attr{Key: key, Value: strconv.FormatInt(n, 10), Type: op.AttrInt})
				}
			}
			forest.AddSpan(&s)
		}
		rows := engines.Find(forest, nil, key.Filter{}).Rows(100)
		if len(rows) != len(byModel) {
			t.Fatalf("seed %d: %d rows of %d models", seed, len(rows), len(byModel))
		}
		for i := range rows {
			e := &rows[i]
			of := byModel[e.Model.Text]
			want := engines.Engine{
				Dialect: "vllm", Service: e.Service, Model: key.Value{Text: e.Model.Text, Known: true}, Requests: int64(len(of)),
				TokensIn:  naiveSum(of, func(q naiveRequest) int64 { return q.in }),
				TokensOut: naiveSum(of, func(q naiveRequest) int64 { return q.out }),
				E2E:       naiveTimes(of, func(q naiveRequest) int64 { return q.e2e * 1e6 }),
				Queue:     naiveTimes(of, func(q naiveRequest) int64 { return q.queue * 1e6 }),
				Prefill:   naiveTimes(of, func(q naiveRequest) int64 { return q.prefill * 1e6 }),
				Decode:    naiveTimes(of, func(q naiveRequest) int64 { return q.decode * 1e6 }),
				Other: naiveTimes(of, func(q naiveRequest) int64 {
					if max(q.queue, q.prefill, q.decode) < 0 {
						return -1
					}
					return (q.e2e - max(0, q.queue) - max(0, q.prefill) - max(0, q.decode)) * 1e6
				}),
				TPOT: naiveTimes(of, func(q naiveRequest) int64 {
					if q.decode < 0 || q.out < 2 {
						return -1
					}
					return q.decode * 1e6 / (q.out - 1)
				}),
			}
			check.Equal(t, fmt.Sprintf("seed %d, model %s", seed, e.Model.Text), want, *e, cmpopts.EquateApprox(0, 0.0005),
				cmpopts.IgnoreFields(want, "TTFT", "Slow"))
		}
	})
}

// naiveTimes are the times of the requests that have one: the percentile is the shortest that at least that share does not exceed.
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
		Count: int64(len(all)), Mean: sum / float64(len(all)), P50: least(50), P95: least(95), P99: least(99), Max: all[len(all)-1],
	}
}

func naiveSum(of []naiveRequest, number func(naiveRequest) int64) (sum op.Int) {
	for _, q := range of {
		if n := number(q); n >= 0 {
			sum = op.Known(sum.V + n)
		}
	}
	return sum
}

// A part of a request's time counts up to eight spans below it, and a text is taken from as far above it.
func TestFarAway(t *testing.T) {
	for distance := 1; distance <= 10; distance++ {
		forest := trace.New()
		forest.KeepAttrs(engines.Keys()...)
		add := func(n int, name string, duration int64, attrs ...op.Attr) {
			s := op.Span{Name: name, TraceID: op.TraceID{1}, SpanID: op.SpanID{byte(n)}, Start: op.Known(int64(n)), Duration: duration, Attrs: attrs}
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
