package executions_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/findings/internal/executions"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
)

// A stage of a pipeline does not wait for its host while its requests are on another stage.
func TestStagesOfAPipelineHaveNoGapsWhileOthersWork(t *testing.T) {
	f := trace.New()
	const ms = 1_000_000
	tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, 0, 160*ms).Of("stage0"))
	for i := range int64(16) {
		stage := "stage" + string('0'+rune(i%2))
		span := tracetest.SpanAt("step", 1, 0, 10*i*ms, 10*(i+1)*ms).In(byte(2+i)).Of(stage).To(1, 1)
		work := tracetest.OpAt("mlp", 2, 1, (10*i+i%2)*ms, 10*(i+1)*ms).In(byte(2 + i)).Of(stage).On(stage)
		tracetest.AddTo(f, span, work)
	}
	f.Build()
	g := executions.Between(f, executions.Spans(f), false)
	check.Equal(t, "between steps", 0, g.NS)
	g = executions.Between(f, executions.Spans(f), true)
	check.Equal(t, "between operations: the second stage begins late", 7*ms, g.NS)
}

// A step has one gap within: the longest one without an operation or a span on any of its devices.
func TestGapsWithinSteps(t *testing.T) {
	f := trace.New()
	const ms = 1_000_000
	tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, 0, 300*ms))
	for i := range int64(20) {
		at := 15 * i * ms
		in := byte(2 + i)
		gap := int64(0)
		if i%10 == 7 {
			gap = 6 * ms
		}
		tracetest.AddTo(f, tracetest.SpanAt("step", 1, 0, at, at+15*ms).In(in).To(1, 1),
			tracetest.OpAt("mlp", 2, 1, at, at+2*ms).In(in),
			tracetest.OpAt("mlp", 3, 1, at+ms, at+3*ms).In(in).On("cuda:1"),
			tracetest.OpAt("mlp", 4, 1, at+3*ms+gap, at+10*ms).In(in),
			tracetest.SpanAt("sample", 5, 1, at+10*ms, at+14*ms).In(in),
			tracetest.OpAt("mlp", 6, 1, at+14*ms, at+15*ms).In(in))
	}
	f.Build()
	g := executions.WithinSteps(f)
	n, ns, _, _ := g.Pauses()
	check.Equal(t, "pauses", 2, n)
	check.Equal(t, "in them", 12*ms, ns)
	check.Equal(t, "beside them", 288*ms, g.Steps)
}

// Pauses strike between steps and within them: together they are told where neither alone has enough of the time.
func TestPausesBetweenStepsAndWithin(t *testing.T) {
	for pause, want := range map[int64]string{3: "", 12: executions.BetweenOperations, 30: executions.BetweenSteps} {
		f := trace.New()
		const ms = 1_000_000
		at := int64(0)
		for i := range int64(100) {
			in := byte(2 + i)
			within := int64(0)
			if i%30 == 7 {
				within = pause * ms
			}
			end := at + 10*ms + within
			tracetest.AddTo(f, tracetest.SpanAt("step", 1, 0, at, end).In(in).To(1, 1),
				tracetest.OpAt("mlp", 2, 1, at, at+5*ms).In(in), tracetest.OpAt("mlp", 3, 1, at+5*ms+within, end).In(in))
			if at = end + ms/100; i%30 == 20 {
				at += pause * ms
			}
		}
		tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, 0, at))
		f.Build()
		_, where := executions.OfHost(f)
		check.Equal(t, "where", want, where)
	}
}

// The longest gaps of requests in turn are told by their sum, however frequent others are.
func TestThePlaceWithMostOfTheGaps(t *testing.T) {
	f := trace.New()
	const ms = 1_000_000
	at := int64(0)
	for i := range int64(10) {
		in := byte(1 + i)
		for k := range uint64(20) {
			tracetest.AddTo(f, tracetest.OpAt("unet", 2+k, 1, at, at+2*ms).In(in))
			at += 2*ms + ms/10
		}
		tracetest.AddTo(f, tracetest.OpAt("vae", 30, 1, at, at+ms).In(in), tracetest.SpanAt("POST", 1, 0, 0, at+20*ms).In(in))
		at += 20 * ms
	}
	f.Build()
	g := executions.WithinRequests(f, timeline.IdleThreshold)
	check.Equal(t, "after, until, for", [3]any{"vae", "unet", int64(9 * 19 * ms)}, [3]any{g.After, g.Until, g.LongestNS})
}

// Pauses are rare among all executions. Few of an idle engine's have a gap.
func TestPausesAreRareAmongExecutions(t *testing.T) {
	const us = 1000
	list := []int64{100 * us, 100 * us, 100 * us, 100 * us, 6000 * us, 7000 * us}
	for all, want := range map[int64]int64{0: 0, 19: 0, 20: 2} {
		g := executions.Gaps{List: list, Executions: all}
		n, ns, usual, _ := g.Pauses()
		check.Equal(t, "pauses, in them, usual", [3]int64{want, want / 2 * 13000 * us, 100 * us}, [3]int64{n, ns, usual})
	}
}

// The time of an idle engine before a step is the host's where it takes as long before steps that others wait for, and a way
// or a window where these begin at once.
func TestTheHostIsAsLateBehindSteps(t *testing.T) {
	const ms, rounds = 1_000_000, 10
	for behind, want := range map[int64]int64{0: 0, 3 * ms: 2*rounds*3*ms - 3*ms} { // nothing is known of the first step
		f := trace.New()
		serve := func(in byte, arrival, start, end int64) {
			tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, arrival, end).In(in),
				tracetest.SpanAt("step", 1, 0, start, end).In(in+100).To(in, 1),
				tracetest.OpAt("mlp", 2, 1, start, end).In(in+100))
		}
		for i := range int64(rounds) {
			at := 50 * i * ms
			serve(byte(1+2*i), at, at+3*ms, at+11*ms)
			serve(byte(2+2*i), at+4*ms, at+11*ms+behind, at+19*ms+behind)
		}
		f.Build()
		check.Equal(t, "gaps", want, executions.Between(f, executions.Spans(f), false).NS)
	}
}
