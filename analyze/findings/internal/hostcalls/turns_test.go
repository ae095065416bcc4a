package hostcalls_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/findings/internal/hostcalls"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// calls returns the turns of calls that begin every 8 ms and take 10 ms or so, one at a time or beside each other.
// Every sixteenth begins 100 ms later.
func calls(underLock bool) (t hostcalls.Turns, ok bool) {
	const ms = 1_000_000
	f := trace.New()
	var at, free int64
	for i := range int64(64) {
		if at += 8 * ms; i%16 == 0 {
			at += 100 * ms
		}
		end := at + 10*ms + i*i%5*ms
		if underLock {
			end += max(0, free-at)
		}
		free = max(free, end)
		tracetest.AddTo(f, tracetest.SpanAt("agent", 1, 0, at-ms, end+ms).In(byte(1+i)),
			tracetest.SpanAt("tool", 2, 1, at, end).In(byte(1+i)))
	}
	f.Build()
	return hostcalls.TurnsOf(f, hostcalls.OfRequests(f)["tool"])
}

func TestCallsUnderALockTakeTurns(t *testing.T) {
	if turns, ok := calls(true); !ok || turns.Waited != 60 || turns.WaitedNS < turns.NS/3 {
		t.Errorf("under a lock: %+v, %v", turns, ok)
	}
	if turns, ok := calls(false); ok {
		t.Errorf("beside each other: %+v", turns)
	}
}

// Calls that fail after far more than the usual time are told from those that fail at once.
func TestFailedCalls(t *testing.T) {
	f := trace.New()
	for i := range int64(20) {
		in := byte(i + 1)
		call := tracetest.SpanAt("lookup", 2, 1, 0, 10).In(in).Span()
		if i < 3 {
			call.Duration = 10 + 500*(i%2)
			call.Failed = true
			call.Extra = &op.Extra{Message: "DEADLINE_EXCEEDED"}
		}
		f.Add(op.Record{Span: call})
		tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, 0, 600).In(in))
	}
	f.Build()
	want := []hostcalls.Slow{{Name: "lookup", Count: 1, Sum: 510, Usual: 10, All: 20, Error: "DEADLINE_EXCEEDED"}}
	check.Equal(t, "failed calls", want, hostcalls.FailedOnes(f, 8))
}

// Calls that fail and are called again count however short they are, with the pause behind them.
func TestRepeatedCalls(t *testing.T) {
	f := trace.New()
	for i := range int64(20) {
		in := byte(i + 1)
		tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, 0, 600).In(in),
			tracetest.SpanAt("lookup", 2, 1, 50, 250).In(in))
		if i < 8 {
			call := tracetest.SpanAt("lookup", 3, 1, 0, 20).In(in).Span()
			call.Failed = true
			call.Extra = &op.Extra{Message: "reset"}
			f.Add(op.Record{Span: call})
		}
	}
	f.Build()
	all := hostcalls.FailedOnes(f, 8)
	want := []hostcalls.Slow{{
		Name: "lookup", Count: 8, Sum: 160, Usual: 200, All: 28, Error: "reset",
		IsRepeated: true, PauseNS: 240, In: "POST",
	}}
	check.Equal(t, "repeated calls", want, all)
	text, _ := all[0].Says(func(name string) string { return name })
	said := `8 of 28 calls lookup fail ("reset") after 20 ns in the mean, and are called again 30 ns later.`
	check.Equal(t, "text", said, text)
}

// What is left of the time before operations is neither on the way to a service nor that of others.
func TestRestOfTimes(t *testing.T) {
	in := map[string]int64{"POST": 100, "tokenize": 60, "parse": 20}
	most, sum, ways := hostcalls.Rest(in, map[string]int64{"POST": 40}, map[string]int64{"POST": 50, "tokenize": 80})
	check.Equal(t, "most", "parse", most)
	check.Equal(t, "sum and ways", [2]int64{30, 40}, [2]int64{sum, ways})
}

// A span waits for a worker where the first span below it begins as another one ends. Its own work before that is no wait.
func TestWaitsForAPoolOfWorkers(t *testing.T) {
	for name, c := range map[string]struct{ every, own, want int64 }{
		"a pool of one": {6, 0, 1 + 2 + 3 + 4 + 5 + 6 + 7}, "own work": {60, 3, 0},
	} {
		f := trace.New()
		free := int64(0)
		for i := range int64(8) {
			at := 100 * c.every * i
			begin := max(at+100*c.own, free)
			free = begin + 700
			tracetest.AddTo(f, tracetest.SpanAt("POST", 1, 0, at-10, free+10).In(byte(1+i)),
				tracetest.SpanAt("post", 2, 1, at, free).In(byte(1+i)),
				tracetest.SpanAt("encode", 3, 2, begin, free).In(byte(1+i)))
		}
		f.Build()
		ns, _, _ := hostcalls.WaitsBelow(f, map[string]int64{"post": 1, "encode": 1})
		check.Equal(t, name, 100*c.want, ns)
	}
}

// Waits behind copies are known by calls, and by operations of the host where a recorder has these.
func TestWaitsBehindCopies(t *testing.T) {
	const us = 1_000
	f := trace.New()
	for i := range int64(4) {
		at := int64(1e18) + i*1000*us
		f.Add(op.Record{Entry: &op.Entry{
			Operation: "Memcpy HtoD", Kind: op.KindMemory, DeviceID: "cuda:0", Launch: op.Known(at),
			Start: op.Known(at + 5*us), Duration: 100 * us,
		}})
		f.Add(op.Record{Entry: &op.Entry{
			Operation: "cudaStreamSynchronize", Side: op.SideHost, Start: op.Known(at + 10*us), Duration: 95 * us,
		}})
	}
	f.Build()
	check.Equal(t, "", []string{"cudaStreamSynchronize"}, hostcalls.WaitsAfter(f, "Memcpy HtoD"))
	check.Equal(t, "behind other copies", []string(nil), hostcalls.WaitsAfter(f, "Memcpy DtoH"))
}
