package replay_test

import (
	"math"
	"testing"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

const serverSteps = 12

// server returns an engine that reads prompts of 400 tokens, in two steps, and 120, in six, and then generates tokens for
// both. A product takes 10 µs and 1 µs a token, attention 5 µs and 10 ns a pair in a prompt, behind ns behind it. alone is
// the time for the first request.
func server(behind int64) (f *trace.Forest, alone int64) {
	const origin = int64(1e18)
	at := origin
	f = trace.New()
	parts := [2][serverSteps]int64{{250, 150}, {20, 20, 20, 20, 20, 20}}
	var read [2]int64
	for step := range serverSteps {
		tokens, attention := int64(0), int64(0)
		var links []op.Link
		for q := range read {
			n := max(1, parts[q][step])
			own := n*read[q] + n*(n+1)/2
			links = append(links, op.Link{TraceID: op.TraceID{byte(1 + q)}, SpanID: op.SpanID{byte(1 + q)},
				Weight: op.Known(n), Attention: op.Known(own)})
			read[q] += n
			tokens += n
			ns := 10 * own
			if n == 1 { // behind the prompt
				ns = behind * own
			}
			attention += ns
			if q == 0 {
				alone += 1_000*n + ns
			}
		}
		id := op.TraceID{9, byte(step)}
		start := at
		for i, ns := range []int64{10_000 + 1_000*tokens, 5_000 + attention} {
			f.Add(op.Record{Entry: &op.Entry{
				Operation: []string{"MUL_MAT", "FLASH_ATTN_EXT"}[i], Kind: op.KindCompute, DeviceID: "cpu", Start: op.Known(at),
				Duration: ns, TraceID: id, ParentSpanID: op.SpanID{9}, SpanID: op.SpanID{byte(i + 1)}, Service: "llama",
			}})
			at += ns
		}
		f.Add(op.Record{Span: &op.Span{Name: "step", Service: "llama", TraceID: id, SpanID: op.SpanID{9}, Links: links,
			Start: op.Known(start), Duration: at - start}})
	}
	for q := range byte(2) {
		f.Add(op.Record{Span: &op.Span{Name: "POST", Service: "llama", TraceID: op.TraceID{1 + q}, SpanID: op.SpanID{1 + q},
			Start: op.Known(origin), Duration: at - origin}})
	}
	return f, alone
}

// Attention takes time by the links' weights for it, everything else by tokens. Steps that go on with a prompt are not
// taken for steps that generate tokens.
func TestARequestSavesItsTokensAndItsPairs(t *testing.T) {
	for _, behind := range []int64{10, 200} {
		f, alone := server(behind)
		for row, ns := range replay.New(f).SavedByRequest(f.Duration) {
			if f.Node(row).TraceID() == (op.TraceID{1}) && math.Abs(float64(ns-alone)) > 0.01*float64(alone) {
				t.Errorf("%d ns a pair behind a prompt: the long prompt saves %d ns, not %d", behind, ns, alone)
			}
		}
	}
}

// Shorter parts of a prompt take as much time in all, apart from the fixed time of further steps.
func TestChunksOfAPromptAddUp(t *testing.T) {
	f, _ := server(10)
	r := check.Must(replay.New(f).Run(replay.Change{Kind: replay.Chunk, Factor: 50}))(t)
	check.Equal(t, "divided", int64(2), r.Changes[0].Count)
	const further = 6 * 15_000
	if off := r.Requests.ReplayedP95NS - r.Requests.P95NS - further; max(off, -off) > further/3 {
		t.Errorf("%d ns become %d", r.Requests.P95NS, r.Requests.ReplayedP95NS)
	}
	if _, err := replay.New(f).Run(replay.Change{Kind: replay.Chunk, Factor: 250}); err == nil {
		t.Error("parts of 250 tokens divide nothing")
	}
}
