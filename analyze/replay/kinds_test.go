package replay_test

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// sized simulates an engine with two products of one name in each of three layers, told apart by their paths or by the
// sizes of their results. The second product of layer 1 takes slower times as long as in the others, and rare ones take
// more.
func sized(byPath bool, slower float64, more int64) (f *trace.Forest, sum int64) {
	f = trace.New()
	free := int64(0)
	for i := range int64(40) {
		request := byte(i + 1)
		arrival := i * 9 * msec
		at := max(arrival, free)
		for step, tokens := range []int64{20 + i%5*7, 1, 1, 1} {
			in := byte(60 + 4*i + int64(step))
			trace := tracetest.SpanAt("step", uint64(100+step), 0, at, 0).In(in)
			begin := at
			id := uint64(1000)
			for layer := range 3 {
				for k, place := range []string{"qkv", "ffn"} {
					ns := []int64{20_000 + 2_000*tokens, 200_000 + 25_000*tokens}[k]
					if layer == 1 && k == 1 {
						ns = int64(slower * float64(ns))
					}
					if (4*i+int64(step))%13 == 7 && layer == 2 && k == 1 {
						ns += more
					}
					e := tracetest.OpAt("mul_mat", id, trace.ID, at, at+ns).In(in).Entry()
					e.OutputElements = op.Known([]int64{4, 16}[k] * tokens)
					if e.Path = fmt.Sprint("blk.", layer); byPath {
						e.Path += "." + place
						e.OutputElements = op.Int{}
					}
					f.Add(op.Record{Entry: e})
					at += ns + 2_000
					id++
				}
			}
			span := tracetest.SpanAt("step", trace.ID, 0, begin, at).In(in).To(request, 1).Span()
			span.Links[0].Weight = op.Known(tokens)
			f.Add(op.Record{Span: span})
			at += 10_000
		}
		free = at
		tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, arrival, at-10_000).In(request))
		sum += at - 10_000 - arrival
	}
	return f, sum
}

// Products of one name and other sizes are other work: only calls that take more than usual in their layer are uneven.
func TestCallsOfOneNameAndOtherWork(t *testing.T) {
	for _, byPath := range []bool{true, false} {
		for _, slower := range []float64{1, 3} {
			f, sum := sized(byPath, slower, 30*msec)
			_, want := sized(byPath, slower, 0)
			g := replay.New(f)
			r := check.Must(g.Run(replay.Change{Kind: replay.Typical, Select: "mul_mat"}))(t)
			if off := r.Requests.ReplayedSumNS - want; r.Requests.SumNS != sum || max(off, -off) > sum/50 {
				t.Errorf("by path %v, %g times: %d of %d ns, want %d of %d", byPath, slower, r.Requests.ReplayedSumNS,
					r.Requests.SumNS, want, sum)
			}
			if slow := g.Slow(4); len(slow) != 1 || slow[0].Calls != 12 {
				t.Errorf("by path %v, %g times: %+v", byPath, slower, slow)
			}
		}
	}
}

// Engines for tokens are compared with each other, and not with the one for prompts.
func TestReplicasBehindAnEngineForPrompts(t *testing.T) {
	f := trace.New()
	free := [3]int64{}
	for i := range int64(60) {
		request := byte(i + 1)
		arrival := i * 10 * msec
		at := arrival
		for step, engine := range []int64{0, 1 + i%2, 1 + i%2} {
			ns := 2 * msec
			if engine == 2 {
				ns = 6 * msec
			}
			at = max(at, free[engine])
			in := byte(70 + 3*i + int64(step))
			service := fmt.Sprint("engine", engine)
			work := tracetest.OpAt("mlp", uint64(step+6), uint64(step+2), at, at+ns).In(in).Of(service)
			tracetest.AddTo(f, tracetest.SpanAt("step", uint64(step+2), 0, at, at+ns).In(in).Of(service).To(request, 1),
				work.On(fmt.Sprint("cuda:", engine)))
			at += ns
			free[engine] = at
		}
		tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, arrival, at).In(request))
	}
	all := replay.New(f).Replicas()
	if len(all) != 2 || all[0].DeviceID != "cuda:1" || all[1].Slower[3] != 3*all[0].Slower[3] {
		t.Errorf("%+v", all)
	}
}
