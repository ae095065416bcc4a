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
