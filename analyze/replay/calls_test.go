package replay_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// looked simulates an engine whose requests call another program before they come to it. Every third call fails and is
// called again after a pause, and under a lock one call runs at a time. It returns the sum of the requests.
func looked(fails, underLock bool) (f *trace.Forest, sum int64) {
	f = trace.New()
	var locked, free int64
	var calls [30][3]int64 // arrival, begin and end of the call
	for i := range int64(30) {
		arrival := i/3*40*msec + i%3*msec
		at := arrival + msec
		if fails && i%3 == 0 {
			call := tracetest.SpanAt("lookup", 3, 1, at, at+5*msec).In(byte(i + 1)).Span()
			call.Failed = true
			f.Add(op.Record{Span: call})
			at += 7 * msec
		}
		end := at + (4+i%4)*msec
		if underLock {
			end += max(0, locked-at)
		}
		locked = end
		calls[i] = [3]int64{arrival, at, end}
	}
	slices.SortFunc(calls[:], func(a, b [3]int64) int { return cmp.Compare(a[2], b[2]) })
	for k, c := range calls {
		start := max(c[2], free)
		free = start + 3*msec
		in, step := byte(c[0]/40/msec*3+c[0]/msec%40+1), byte(50+k)
		tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, c[0], free).In(in),
			tracetest.SpanAt("lookup", 2, 1, c[1], c[2]).In(in),
			tracetest.SpanAt("step", 1, 0, start, free).In(step).To(in, 1),
			tracetest.OpAt("mlp", 2, 1, start, free).In(step).On("cuda:0"))
		sum += free - c[0]
	}
	return f, sum
}

// The call that repeats a failed one goes on while the engine works. Without the failed calls the pauses behind them go, too.
func TestPausesBehindFailedCallsGo(t *testing.T) {
	const requests = 30
	f := trace.New()
	sum, failed := int64(0), int64(0)
	for i := range int64(requests) {
		in, at := byte(i+1), 30*i*msec
		begin, call := at, at+2*msec
		tracetest.AddTo(f, tracetest.SpanAt("tokenize", 5, 1, at, at+msec).In(in))
		if i%3 == 0 {
			first := tracetest.SpanAt("generate", 3, 1, call, call+5*msec).In(in).Span()
			first.Failed = true
			f.Add(op.Record{Span: first})
			call += 9 * msec
			failed += 9 * msec
		}
		end := call + 4*msec
		tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, begin, end).In(in), tracetest.SpanAt("generate", 2, 1, call, end).In(in),
			tracetest.SpanAt("serve", 4, 2, call, end).In(in).Of("engine"),
			tracetest.SpanAt("step", 1, 0, call+msec, end).In(50+in).To(in, 1).Of("engine"),
			tracetest.OpAt("mlp", 2, 1, call+msec, end).In(50+in).On("cuda:0").Of("engine"))
		sum += end - begin
	}
	r := check.Must(replay.New(f).Run(check.Must(replay.Parse("remove failed=generate"))(t)))(t)
	check.Equal(t, "requests", sum, r.Requests.SumNS)
	check.Equal(t, "requests without failed calls and pauses", sum-failed, r.Requests.ReplayedSumNS)
}

func TestCallsDoNotFailOrWaitForEachOther(t *testing.T) {
	_, want := looked(false, false)
	for change, c := range map[string][2]bool{"remove failed=lookup": {true, false}, "nowait lookup": {false, true}} {
		f, sum := looked(c[0], c[1])
		r := check.Must(replay.New(f).Run(check.Must(replay.Parse(change))(t)))(t)
		off := r.Requests.ReplayedSumNS - want
		if r.Requests.SumNS != sum || sum < want*11/10 || max(off, -off) > want/100 {
			t.Errorf("%s: %d of %d ns, want %d of %d", change, r.Requests.ReplayedSumNS, r.Requests.SumNS, want, sum)
		}
	}
}
