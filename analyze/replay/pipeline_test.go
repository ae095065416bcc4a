package replay_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
)

// pipelined simulates two groups of up to four requests. They pass two stages, a process and device each, for each of
// their four tokens. A span may be around both stages of a group. The second stage takes slower times as long as the
// first, and the host of both works for a time before its operation.
func pipelined(slower float64, host int64, around bool) (specs []tracetest.Spec, sum int64) {
	const n = 24
	var groups [2][]int
	var ready, free [2]int64
	var left [n]int
	next := 0
	for trace := byte(100); ; trace++ {
		g := 0
		if ready[1] < ready[0] {
			g = 1
		}
		arrival := func(i int) int64 { return int64(i)*7*msec + int64(i*i%5)*msec }
		if len(groups[g]) == 0 && next < n {
			ready[g] = max(ready[g], arrival(next))
			if o := 1 - g; len(groups[o]) > 0 && ready[o] < ready[g] {
				g = o // goes on before
			}
		}
		for ; next < n && len(groups[g]) < 4 && arrival(next) <= ready[g]; next++ {
			groups[g] = append(groups[g], next)
			left[next] = 4
		}
		if len(groups[g]) == 0 {
			if len(groups[1-g]) == 0 {
				return specs, sum
			}
			ready[g] = ready[1-g] + 1
			continue
		}
		links := func(s tracetest.Spec) tracetest.Spec {
			for _, i := range groups[g] {
				s = s.To(byte(i+1), 1)
			}
			return s.In(trace)
		}
		at := ready[g]
		for stage, of := range []string{"first", "second"} {
			start := max(at, free[stage])
			ns := 3*msec + int64(len(groups[g]))*msec
			if stage == 1 {
				ns = int64(slower * float64(ns))
			}
			at = start + host + ns
			free[stage] = at
			id := uint64(10 + stage)
			above := uint64(0)
			if around {
				above = 1
			}
			specs = append(specs, links(tracetest.SpanAt("stage", id, above, start, at).Of(of)),
				tracetest.OpAt("mlp", id+10, id, start+host, at).In(trace).Of(of).On("cuda:"+of))
		}
		if around {
			specs = append(specs, links(tracetest.SpanAt("group", 1, 0, ready[g], at).Of("first")))
		}
		ready[g] = at
		var others []int
		for _, i := range groups[g] {
			if left[i]--; left[i] > 0 {
				others = append(others, i)
				continue
			}
			specs = append(specs, tracetest.SpanAt("POST", 1, 0, arrival(i), at).In(byte(i+1)).Of("api"))
			sum += at - arrival(i)
		}
		groups[g] = others
	}
}

// The stages of a pipeline run again as a simulation does, with a span around the stages or without.
func TestPipelinesOfEnginesRunAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		want   func() ([]tracetest.Spec, int64)
	}{
		"a slow stage at the speed of the other": {"0.5x service=second",
			func() ([]tracetest.Spec, int64) { return pipelined(1, msec, false) }},
		"without the host": {"host 0x", func() ([]tracetest.Spec, int64) { return pipelined(2, 0, false) }},
		"no change":        {"1x mlp", func() ([]tracetest.Spec, int64) { return pipelined(2, msec, false) }},
	} {
		for _, around := range []bool{false, true} {
			specs, from := pipelined(2, msec, around)
			_, want := c.want()
			g := replay.New(tracetest.AddTo(trace.New(), specs...))
			if g.Stages() != 2 {
				t.Fatalf("%d stages, want 2", g.Stages())
			}
			r := check.Must(g.Run(check.Must(replay.Parse(c.change))(t)))(t)
			if off := r.Requests.ReplayedSumNS - want; r.Requests.SumNS != from || max(off, -off) > from/25 {
				t.Errorf("%s, a span around: %v: %d of %d ns, want %d", name, around, r.Requests.ReplayedSumNS,
					r.Requests.SumNS, want)
			}
		}
	}
}

// An engine that computes on two devices within each of its steps is no pipeline: its steps do not overlap.
func TestAnEngineOfSeveralDevicesIsNoPipeline(t *testing.T) {
	var specs []tracetest.Spec
	for i := range int64(24) {
		at := i * 10 * msec
		in := byte(100 + i)
		to := func(s tracetest.Spec) tracetest.Spec { return s.In(in).To(byte(i+1), 1) }
		specs = append(specs, tracetest.SpanAt("POST", 1, 0, at, at+8*msec).In(byte(i+1)),
			to(tracetest.SpanAt("step", 1, 0, at, at+8*msec)),
			to(tracetest.SpanAt("draft", 2, 1, at, at+3*msec)),
			to(tracetest.SpanAt("verify", 3, 1, at+3*msec, at+8*msec)),
			tracetest.OpAt("small", 4, 2, at, at+3*msec).In(in).On("cuda:0"),
			tracetest.OpAt("large", 5, 3, at+3*msec, at+8*msec).In(in).On("cuda:1"))
	}
	g := replay.New(tracetest.AddTo(trace.New(), specs...))
	r := check.Must(g.Run(check.Must(replay.Parse("0.5x large"))(t)))(t)
	if g.Stages() != 0 || r.Batches == nil || r.Batches.Executions != 24 {
		t.Errorf("%d stages, batches %+v", g.Stages(), r.Batches)
	}
}
