package replay_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
)

// The steps of an engine for tokens wait for the prompt, read by another engine.
func TestTokensWaitForThePromptOfAnotherEngine(t *testing.T) {
	const us = 1000
	step := func(in byte, service, device string, start, end int64, request byte) []tracetest.Spec {
		return []tracetest.Spec{
			tracetest.SpanAt("step", 1, 0, start, end).In(in).Of(service).To(request, 1),
			tracetest.OpAt(service, 2, 1, start, end).In(in).Of(service).On(device),
		}
	}
	specs := []tracetest.Spec{tracetest.SpanAt("POST", 1, 0, 0, 100*us).In(1)}
	specs = append(specs, tracetest.SpanAt("POST", 1, 0, 0, 90*us).In(2))
	specs = append(specs, step(3, "prefill", "cuda:0", 0, 10*us, 2)...)
	specs = append(specs, step(4, "prefill", "cuda:0", 10*us, 60*us, 1)...)
	specs = append(specs, step(5, "decode", "cuda:1", 10*us, 90*us, 2)...)
	specs = append(specs, step(6, "decode", "cuda:1", 90*us, 100*us, 1)...)
	g := replay.New(tracetest.AddTo(trace.New(), specs...))
	r := check.Must(g.Run(replay.Change{Kind: replay.Scale, Select: "decode", Factor: 0.1}))(t)
	if ns := r.Run.ReplayedNS; ns < 61*us {
		t.Errorf("%d ns, but the prompts take 60 µs, and the last token 1", ns)
	}
}
