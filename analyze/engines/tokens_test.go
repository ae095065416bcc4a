package engines_test

import (
	"strconv"
	"testing"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Jaeger's links have no weights. Requests state their tokens, and each step generates one for each of its requests.
func TestTokensOfStepsWithoutWeights(t *testing.T) {
	request := func(id byte, in, out int64) op.Record {
		number := func(key string, n int64) op.Attr {
			return op.Attr{Key: key, Value: strconv.FormatInt(n, 10), Type: op.AttrInt}
		}
		return op.Record{Span: &op.Span{
			Name: "POST", TraceID: op.TraceID{id}, SpanID: op.SpanID{1}, Start: op.Known(int64(0)), Duration: 100,
			Attrs: []op.Attr{{Key: "gen_ai.request.model", Value: "m"}, number("gen_ai.usage.input_tokens", in),
				number("gen_ai.usage.output_tokens", out)},
		}}
	}
	for name, c := range map[string]struct {
		written [2]int64
		want    [][]int64
	}{
		"a prompt in two parts":    {[2]int64{2, 2}, [][]int64{{50}, {51, 7}, {1, 1}}},
		"several tokens at once":   {[2]int64{9, 2}, [][]int64{{101}, {1, 7}, {1, 1}}},
		"a token after the first":  {[2]int64{1, 1}, [][]int64{{50}, {51, 7}, {1, 1}}},
		"no tokens but the prompt": {[2]int64{2, 0}, nil},
	} {
		f := trace.New()
		f.KeepAttrs(engines.Keys()...)
		f.Add(request(1, 101, c.written[0]))
		f.Add(request(2, 7, c.written[1]))
		for i, ids := range [][]byte{{1}, {1, 2}, {1, 2}} {
			s := &op.Span{Name: "step", TraceID: op.TraceID{9, byte(i)}, SpanID: op.SpanID{1}, Duration: 9}
			s.Start = op.Known(int64(10 * i))
			for _, id := range ids {
				s.Links = append(s.Links, op.Link{TraceID: op.TraceID{id}, SpanID: op.SpanID{1}})
			}
			f.Add(op.Record{Span: s})
		}
		f.Build()
		check.Equal(t, name, c.want, engines.Tokens(f))
	}
}

// Without tokens the time of the first execution tells a long prompt, if no other request came with it.
func TestWeightsByTheTimeOfFirstExecutions(t *testing.T) {
	const ms = 1_000_000
	f := trace.New()
	at, requests := int64(0), byte(0)
	step := func(ns int64, whole bool, ids ...byte) {
		id := op.TraceID{9, byte(at / ms), byte(at / ms >> 8)}
		s := &op.Span{Name: "step", TraceID: id, SpanID: op.SpanID{1}, Duration: ns, Start: op.Known(at)}
		for _, id := range ids {
			s.Links = append(s.Links, op.Link{TraceID: op.TraceID{id}, SpanID: op.SpanID{1}})
		}
		f.Add(op.Record{Span: s})
		calls := int64(4)
		if whole {
			calls = 1
		}
		for i := range calls {
			f.Add(op.Record{Entry: &op.Entry{
				Operation: "mlp", Kind: op.KindCompute, DeviceID: "cuda:0", TraceID: id, SpanID: op.SpanID{2, byte(i)},
				ParentSpanID: s.SpanID, Start: op.Known(at + i*ns/calls), Duration: ns / calls,
			}})
		}
		at += ns
	}
	ask := func(ns int64, whole bool) byte {
		requests++
		f.Add(op.Record{Span: &op.Span{
			Name: "POST", TraceID: op.TraceID{requests}, SpanID: op.SpanID{1}, Start: op.Known(at), Duration: ns + 8*ms,
		}})
		step(ns, whole, requests)
		step(8*ms, false, requests)
		return requests
	}
	ask(400*ms, false) // warms up
	for range 8 {
		ask(20*ms, false)
	}
	ask(400*ms, true) // one slow call
	long := ask(100*ms, false)
	f.Build()
	for x, weights := range engines.ByTime(f) {
		want := []int64{1}
		if x == 2*int(long)-2 {
			want = []int64{5000}
		}
		check.Equal(t, "execution "+strconv.Itoa(x), want, weights)
	}
	check.Equal(t, "executions", 2*int(long), len(engines.ByTime(f)))
}
