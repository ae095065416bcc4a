package engines_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

func ExampleFind() {
	span := op.Span{
		Name: "llm_request", Service: "vllm", TraceID: op.TraceID{1}, SpanID: op.SpanID{2}, Start: op.Known(0),
		Duration: 250_000_000,
		Attrs: []op.Attr{
			{Key: "gen_ai.latency.time_in_queue", Value: "0.01", Type: op.AttrFloat},
			{Key: "gen_ai.latency.time_in_model_prefill", Value: "0.04", Type: op.AttrFloat},
			{Key: "gen_ai.latency.time_in_model_decode", Value: "0.2", Type: op.AttrFloat},
		},
	}
	forest := trace.New()
	forest.KeepAttrs(engines.Keys()...)
	forest.AddSpan(&span)
	for _, e := range engines.Find(forest, nil, key.Filter{}).Rows(10) {
		fmt.Println(e.Dialect, e.Service, e.Requests, "requests")
		for name, times := range e.Parts {
			fmt.Println(name, times.P50)
		}
	}
	// Output:
	// vllm vllm 1 requests
	// queue 10000000
	// prefill 40000000
	// decode 200000000
	// other 0
}
