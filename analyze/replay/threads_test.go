package replay_test

import (
	"strconv"
	"testing"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// threads is a program of several threads. Times are in µs.
type threads struct {
	forest *trace.Forest
	n      byte
}

func (p *threads) add(e *op.Entry, thread int, start, took int64) {
	p.n++
	e.TraceID, e.SpanID, e.ParentSpanID = op.TraceID{1}, op.SpanID{2, p.n}, op.SpanID{1, byte(e.Step.V)}
	e.Start, e.Duration = op.Known(1e18+start*1_000), took*1_000
	e.Attrs = append(e.Attrs, op.Attr{Key: "thread.id", Type: op.AttrInt, Value: strconv.Itoa(thread)})
	p.forest.Add(op.Record{Entry: e})
}

// launch runs an operation on a stream, launched by a thread in 10 µs.
func (p *threads) launch(name string, thread int, stream, launch, start, took int64) {
	e := op.Entry{
		Operation: name, Kind: op.KindCompute, DeviceID: "cuda:0", Stream: op.Known(stream),
		Step: op.Known(launch / 13_000), Launch: op.Known(1e18 + launch*1_000),
		Attrs: []op.Attr{{Key: "tensor.launch.duration", Type: op.AttrInt, Value: "10000"}},
	}
	if stream != 7 {
		e.Kind = op.KindCollective
	}
	p.add(&e, thread, start, took)
}

// A thread of the backward pass that goes on after the main thread does not wait for the begin of the step, too.
func TestTheThreadOfTheBackwardPassFollowsTheMainThread(t *testing.T) {
	p := threads{forest: trace.New()}
	const steps = 5
	for i := range int64(steps) {
		at := i * 13_000
		host := func(name string, thread int, start, took int64) {
			p.add(&op.Entry{Operation: name, Side: op.SideHost, Step: op.Known(i)}, thread, at+start, took)
		}
		host("next_batch", 1, 0, 10_000)
		host("forward", 1, 10_000, 1_000)
		p.launch("mm", 1, 7, at+10_500, at+10_510, 2_000)
		host("backward", 2, 11_200, 1_000)
		p.launch("mm_backward", 2, 7, at+11_500, at+12_511, 2_000)
		host("update", 1, 12_400, 600)
		p.forest.Add(op.Record{Span: &op.Span{
			Name: "train_step", TraceID: op.TraceID{1}, SpanID: op.SpanID{1, byte(i)},
			Start: op.Known(1e18 + at*1_000), Duration: 13 * ms,
		}})
	}
	const most = steps*13*ms + 3*ms/2 - steps*4*ms // the device works for 4 ms a step
	if ns := saved(t, replay.New(p.forest), "remove next_batch"); ns > most || ns < most-2*ms {
		t.Errorf("saved %d ns of at most %d", ns, int64(most))
	}
}

// A collective of the main thread needs what the thread of the backward pass computed.
func TestACollectiveNeedsTheWorkOfOtherThreads(t *testing.T) {
	p := threads{forest: trace.New()}
	p.launch("forward", 1, 7, 0, 12, 2_000)
	p.launch("backward", 2, 7, 200, 2_013, 4_000)
	p.launch("all_reduce", 1, 20, 400, 6_015, 2_000)
	p.launch("update", 1, 7, 600, 8_017, 1_000)
	if ns := saved(t, replay.New(p.forest), "overlap kind=collective"); ns > 10_000 {
		t.Errorf("saved %d ns", ns)
	}
}

// Where a call does not state the stream that waits, the operation waits that starts as another stream's ends, and not
// the prefetch that is launched first.
func TestAWaitOfAnUnknownStreamIsTheOneThatStartsAtItsEnd(t *testing.T) {
	p := threads{forest: trace.New()}
	p.launch("all_gather", 1, 20, 0, 12, 5_000)
	at, free := int64(100), int64(5_012)
	for range 8 {
		p.forest.Add(op.Record{Call: &op.Entry{
			Operation: "cudaStreamWaitEvent", Start: op.Known(1e18 + at*1_000), Duration: 1_000,
			Attrs: []op.Attr{{Key: "thread.id", Type: op.AttrInt, Value: "1"}},
		}})
		p.launch("all_gather", 1, 20, at+10, free+1, 5_000)
		p.launch("mm", 1, 7, at+50, free+2, 1_000)
		at += 100
		free += 5_001
	}
	if ns := saved(t, replay.New(p.forest), "0.1x all_gather"); ns < 35*ms {
		t.Errorf("saved %d ns", ns)
	}
}

// Two operators with one kernel are balanced for themselves: only the products before the collective are uneven.
func TestBalanceKeepsOperatorsApart(t *testing.T) {
	f := trace.New()
	for rank := range int64(2) {
		at := int64(1e18)
		for _, o := range []struct {
			operator string
			ns       int64
		}{{"aten::mm", (2 - rank) * ms}, {"", rank * ms}, {"aten::bmm", ms}} {
			e := op.Entry{
				Operation: "gemm", Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(rank), LaunchedBy: o.operator,
				Start: op.Known(at), Duration: o.ns,
			}
			if o.operator == "" {
				e.Operation, e.Kind = "all_reduce", op.KindCollective
				e.Collective = &op.Collective{Name: e.Operation, Sequence: op.Known(int64(1))}
			}
			f.Add(op.Record{Entry: &e})
			at += o.ns
		}
	}
	check.Equal(t, "saved", int64(ms/2), saved(t, replay.New(f), "balance kind=compute"))
}

// Work that moves from rank to rank between collectives is balanced call by call.
func TestBalanceIsOfEachCall(t *testing.T) {
	f := trace.New()
	for rank := range int64(2) {
		for i := range int64(4) {
			at := 1e18 + 3*i*ms
			ns := ms * (1 + (rank+i)%2)
			f.Add(op.Record{Entry: &op.Entry{
				Operation: "gemm", Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(rank),
				Start: op.Known(at), Duration: ns,
			}})
			f.Add(op.Record{Entry: &op.Entry{
				Operation: "all_to_all", Kind: op.KindCollective, DeviceID: "cuda:0", Rank: op.Known(rank),
				Start: op.Known(at + ns), Duration: 3*ms - ns,
				Collective: &op.Collective{Name: "all_to_all", Sequence: op.Known(i)},
			}})
		}
	}
	check.Equal(t, "saved", int64(2*ms), saved(t, replay.New(f), "balance kind=compute"))
}

// A send and its receive on the peer are one transfer, whatever their sequence numbers: with half of the first stage's
// work the second one begins earlier.
func TestAReceiveWaitsForItsSend(t *testing.T) {
	f := trace.New()
	add := func(rank, stream, launch, start, ns int64, name string) {
		e := op.Entry{
			Operation: name, Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(rank), Stream: op.Known(stream),
			Launch: op.Known(1e18 + launch), Start: op.Known(1e18 + start), Duration: ns,
		}
		if name != "gemm" {
			e.Kind = op.KindCollective
			e.Collective = &op.Collective{
				Name: name, Group: "pp", PeerRank: op.Known(1 - rank), Sequence: op.Known(rank + 7),
			}
		}
		f.Add(op.Record{Entry: &e})
	}
	add(0, 0, 0, 10_000, 10*ms, "gemm")
	add(0, 1, 1_000, 10*ms+11_000, ms, "send")
	add(1, 1, 0, 10_000, 11*ms+1_000, "recv")
	add(1, 0, 1_000, 11*ms+12_000, 10*ms, "gemm")
	near(t, "saved", saved(t, replay.New(f), "0.5x rank=0,kind=compute"), 5*ms)
	near(t, "saved by the link", saved(t, replay.New(f), "0x peer=0"), ms)
}

// A request that calls a service after another one waits for the answer, without a thread in the recording.
func TestCallsOfServicesFollowEachOther(t *testing.T) {
	const ms = 1_000_000
	f := trace.New()
	span := func(id, parent byte, service string, start, ns int64) {
		f.Add(op.Record{Span: &op.Span{
			Name: "POST", Service: service, TraceID: op.TraceID{1}, SpanID: op.SpanID{id}, ParentSpanID: op.SpanID{parent},
			Start: op.Known(1e18 + start), Duration: ns,
		}})
	}
	span(1, 0, "gateway", 0, 90*ms)
	for i := range byte(3) {
		at := int64(i) * 30 * ms
		span(10+i, 1, "gateway", at, 30*ms)
		span(20+i, 10+i, "service"+string('0'+i), at+ms, 28*ms)
		f.Add(op.Record{Entry: &op.Entry{
			Operation: "matmul" + string('0'+i), DeviceID: "cuda:0", Service: "service" + string('0'+i), TraceID: op.TraceID{1},
			SpanID: op.SpanID{30 + i}, ParentSpanID: op.SpanID{20 + i}, Start: op.Known(1e18 + at + 2*ms), Duration: 26 * ms,
		}})
	}
	for _, name := range []string{"matmul0", "matmul1", "matmul2"} {
		r, err := replay.New(f).Run(replay.Change{Kind: replay.Scale, Select: name, Factor: 0.5})
		check.OK(t, err)
		check.Equal(t, "ns saved by "+name, 13*ms, r.Run.NS-r.Run.ReplayedNS)
	}
}

// Times rounded apart make calls of a thread overlap. The next call waits for the copy of the one before nevertheless.
func TestCallsOverlapByRoundedTimes(t *testing.T) {
	const copies = 6
	for _, overlap := range []int64{0, 1, 400, 1_000} { // ns
		p := threads{forest: trace.New()}
		for i := range int64(copies) {
			at := i * 5_000
			p.add(&op.Entry{
				Operation: "Memcpy HtoD (Pageable -> Device)", Kind: op.KindMemory, DeviceID: "cuda:0",
				Stream: op.Known(int64(7)), Launch: op.Known(1e18 + at*1_000),
				Attrs: []op.Attr{{
					Key: "tensor.launch.duration", Type: op.AttrInt, Value: strconv.FormatInt(2_005_000+overlap, 10),
				}},
			}, 1, at+10, 1_990)
			p.forest.Add(op.Record{Call: &op.Entry{
				Operation: "cudaStreamSynchronize", Start: op.Known(1e18 + (at+2_005)*1_000), Duration: 5_000,
				Attrs: []op.Attr{{Key: "thread.id", Type: op.AttrInt, Value: "1"}},
			}})
			p.launch("gemm", 1, 7, at+2_010, at+2_020, 2_900)
			p.forest.Add(op.Record{Call: &op.Entry{
				Operation: "cudaStreamSynchronize", Start: op.Known(1e18 + (at+2_021)*1_000), Duration: 2_970_000,
				Attrs: []op.Attr{{Key: "thread.id", Type: op.AttrInt, Value: "1"}},
			}})
		}
		g := replay.New(p.forest)
		if points, moved := g.Differences(); moved != 0 {
			t.Errorf("an overlap of %d ns: %d of %d points moved", overlap, moved, points)
		}
		if ns := saved(t, g, "0.5x Memcpy HtoD (Pageable -> Device)"); ns != copies*1_990_000/2 {
			t.Errorf("an overlap of %d ns: saved %d ns", overlap, ns)
		}
	}
}
