package findings_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// The advice suits what communicates: a send may go on without its rank, a receive waits for its peer, and only
// collectives can start during the backward pass.
func TestCommunicationSaysWhatCanBeChanged(t *testing.T) {
	const ms = 1_000_000
	for _, test := range []struct {
		name        string
		collective  *op.Collective
		even, odd   int64 // ns of the calls
		says, tries string
	}{
		{"all_reduce", nil, ms, ms, "20.0 ms", "start collectives while the backward pass computes"},
		{"ncclDevKernel_SendRecv", &op.Collective{Name: "all_to_all"}, ms, ms, "", "start collectives"},
		{"ncclDevKernel_SendRecv", nil, ms, ms, "", "exchange data on a stream of its own"},
		{"p2p.send_forward", &op.Collective{Name: "send"}, ms, ms, "", "send without waiting"},
		{"ncclDevKernel_SendRecv", &op.Collective{Name: "send"}, ms, ms, "", "send without waiting"},
		{"p2p.recv_forward", &op.Collective{Name: "recv"}, ms / 5, 2 * ms, "wait 18.0 ms", "equal work"},
		{"ncclDevKernel_SendRecv", &op.Collective{Name: "recv"}, ms / 5, 2 * ms, "wait 18.0 ms", "equal work"},
		{"p2p.recv_forward", &op.Collective{Name: "recv"}, ms, ms, "", ""},
	} {
		var r run
		for i := range 20 {
			r.launch("aten::mm", "gemm", op.KindCompute, 3*ms)
			ns := test.even
			if i%2 == 1 {
				ns = test.odd
			}
			r.launch("c10d", test.name, op.KindCollective, ns).Collective = test.collective
		}
		f := only(found(t, r.records...), "exposed_communication")
		if !strings.Contains(f.Text, test.says) || !strings.Contains(f.Try, test.tries) ||
			(f.Rule == "") != (test.tries == "") {
			t.Errorf("%s %v: %q, try %q", test.name, test.collective, f.Text, f.Try)
		}
		if test.says == "wait 18.0 ms" { // 20 calls of 0.2 ms take 18 ms less than as recorded
			check.Equal(t, test.name+" saved", true, f.SavedNS.V > 17*ms && f.SavedNS.V < 19*ms)
		}
	}
}

// An engine that serves a model has no backward pass, whether its requests are recorded or not.
func TestCommunicationOfAnEngine(t *testing.T) {
	const ms = 1_000_000
	var r run
	for range 20 {
		r.launch("vllm::unified_attention", "attention", op.KindCompute, 3*ms)
		r.launch("vllm::all_reduce", "cross_device_reduce", op.KindCollective, ms)
	}
	f := only(found(t, r.records...), "exposed_communication")
	const want = "an all-reduce for small messages, steps as graphs, or fewer devices for a copy of the model"
	check.Equal(t, "", want, f.Try)
}

// A stage with more work holds up the other stages of a pipeline by at most its excess.
func TestAStageThatWorksLonger(t *testing.T) {
	const ms, us = 1_000_000, 1_000
	for slow, want := range map[int64]string{2: "2/gpu works", -1: ""} {
		r := rand.New(rand.NewPCG(1, 1))
		var records []op.Record
		for n := range int64(20) {
			for rank := range int64(4) {
				at := 1e18 + n*20*ms + rank*ms
				step := op.SpanID{1, byte(n), byte(rank)}
				records = append(records, op.Record{Span: &op.Span{
					Name: "megatron.train_step", TraceID: op.TraceID{byte(rank + 1)},
					SpanID: step, Start: op.Known(1e18 + n*20*ms), Duration: 19 * ms}})
				for i := range int64(8) {
					ns := 1000*us + r.Int64N(20*us)
					if rank == slow {
						ns = ns * 7 / 5
					}
					records = append(records, op.Record{Entry: &op.Entry{
						Operation: "megatron.microbatch.forward", Kind: op.KindCompute, DeviceID: "gpu", Rank: op.Known(rank),
						TraceID: op.TraceID{byte(rank + 1)}, ParentSpanID: step,
						SpanID: op.SpanID{2, byte(n), byte(rank), byte(i)},
						Start:  op.Known(at + i*1500*us), Duration: ns,
					}})
				}
			}
		}
		f := only(found(t, records...), "straggler")
		excess := int64(20 * 8 * 400 * us)
		isExcess := f.SavedHighNS.V > excess*9/10 && f.SavedHighNS.V < excess*11/10
		if !strings.HasPrefix(f.Text, want) || (want == "") != (f.Rule == "") || want != "" && !isExcess {
			t.Errorf("stage %d: %q, gain %q", slow, f.Text, f.Gain())
		}
	}
}

// A link whose transfers take longer than on the other links is slow, and not the ranks that wait for it.
func TestASlowLinkBetweenTwoRanks(t *testing.T) {
	const ms = 1_000_000
	var records []op.Record
	add := func(rank, stream, start, ns int64, name string, peer int64) {
		e := op.Entry{
			Operation: name, Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(rank), Stream: op.Known(stream),
			Launch: op.Known(1e18 + int64(len(records))*1_000), Start: op.Known(1e18 + start), Duration: ns,
		}
		if peer >= 0 {
			e.Kind = op.KindCollective
			e.Collective = &op.Collective{Name: name, Group: "pp", PeerRank: op.Known(peer)}
		}
		records = append(records, op.Record{Entry: &e})
	}
	const soon = 1_000
	var computed, received [4]int64 // ends
	for rank := range computed {
		computed[rank], received[rank] = ms, ms
	}
	for range 20 {
		for rank := range int64(4) {
			start := max(computed[rank], received[rank]) + soon
			computed[rank] = start + ms
			add(rank, 0, start, ms, "gemm", -1)
			if rank < 3 {
				took := ms / 10 * (1 + 29*(rank/2)) // between ranks 2 and 3: 3 ms
				from, to := max(computed[rank], received[rank+1])+soon, received[rank+1]+soon
				add(rank, 1, from, took, "send", rank+1)
				add(rank+1, 2, to, from+took-to, "recv", rank)
				received[rank+1] = from + took
			}
		}
	}
	f := only(found(t, records...), "exposed_communication")
	const says = "The link between ranks 2 and 3 is slow: a transfer takes 3.00 ms, and 100 µs on the median link."
	check.Equal(t, "text", says, f.Text)
}

// With one microbatch a step each of two stages waits while the other one works. Eight of them save seven eighths.
func TestAPipelineWithFewMicrobatches(t *testing.T) {
	const ms, steps = 1_000_000, 8
	var records []op.Record
	add := func(rank, step, start, ns int64, name string) {
		e := op.Entry{
			Operation: name, Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(rank), Step: op.Known(step),
			Stream: op.Known(int64(0)), Launch: op.Known(1e18 + start - 5_000), Start: op.Known(1e18 + start),
			Duration: ns,
		}
		if name != "gemm" {
			e.Kind, e.Stream = op.KindCollective, op.Known(int64(1))
			e.Collective = &op.Collective{Name: name, Group: "pp", PeerRank: op.Known(1 - rank)}
		}
		records = append(records, op.Record{Entry: &e})
	}
	for i := range int64(2 * steps) { // the stages in turn
		add(i%2, i/2, i*ms, ms-10_000, "gemm")
		add(i%2, i/2, i*ms+ms-9_000, 9_000, "send")
		add(1-i%2, i/2, i*ms, ms, "recv")
	}
	f := only(found(t, records...), "exposed_communication")
	const says = "Each of 2 stages waits 7.92 ms (49.5 %) while the pipeline fills and drains, with 1 microbatch a " +
		"step."
	check.Equal(t, "text", says, f.Text)
	check.Equal(t, "saved", int64(steps*(ms-10_000)*7/8), f.SavedNS.V)
}

// Gradients of four passes are reduced once a step. All-reduces behind late launches are shown with their time then.
func TestAllReducesOfEachPassAndBehindLaunches(t *testing.T) {
	const ms, us = 1_000_000, 1_000
	for _, test := range []struct {
		name                       string
		host, gemm, reduced, every int64 // ns; passes for each all-reduce
		says                       string
		low, high                  int64
	}{
		{"each pass", us, 3 * ms, 2 * ms, 1, "in each of 4 backward passes", 58 * ms, 62 * ms},
		{"once a step", us, 3 * ms, 2 * ms, 4, "exposed in all_reduce", 18 * ms, 22 * ms},
		{"late launches", 200 * us, 80 * us, 90 * us, 2, "exposed in all_reduce", ms, 2 * ms},
	} {
		var r run
		for i := range int64(40) {
			start := r.at
			r.host("aten::view", test.host)
			r.launch("aten::mm", "gemm", op.KindCompute, test.gemm).Step = op.Known(i / 4)
			r.records = append(r.records, op.Record{Span: &op.Span{
				Name: "DistributedDataParallel.forward", TraceID: op.TraceID{1}, SpanID: op.SpanID{1, byte(i), 9},
				Start: op.Known(1_000_000_000 + start), Duration: r.at - start,
			}})
			if i%test.every == test.every-1 {
				r.launch("c10d", "all_reduce", op.KindCollective, test.reduced).Step = op.Known(i / 4)
			}
		}
		f := only(found(t, r.records...), "exposed_communication")
		if !strings.Contains(f.Text, test.says) || f.SavedNS.V < test.low || f.SavedNS.V > test.high {
			t.Errorf("%s: %q, gain %q", test.name, f.Text, f.Gain())
		}
	}
}

// One reduction of all gradients behind the backward pass is divided. Many small ones go together: they take their
// latency.
func TestReductionsOfAnotherSize(t *testing.T) {
	const us, ms, steps = 1_000, 1_000_000, 8
	for _, test := range []struct {
		name           string
		n, ns, bytes   int64 // of the reductions of a step
		rule, tries    string
		low, high, all int64 // of the gain; of the reductions
	}{
		{"one", 1, 4 * ms, 40 << 20, "exposed_communication", "in 16 buckets", 27 * ms, 30 * ms, 32 * ms},
		{"one of little", 1, 4 * ms, 3 << 20, "exposed_communication", "in 3 buckets", 20 * ms, 22 * ms, 32 * ms},
		{"two", 2, 2 * ms, 64 << 20, "exposed_communication", "start collectives while", 15 * ms, 17 * ms, 32 * ms},
		{"beyond the pass", 1, 16 * ms, 1 << 30, "exposed_communication", "in 16 buckets", 60 * ms, 65 * ms, 128 * ms},
		{"small", 150, 80 * us, 256 << 10, "small_collectives", "buckets: 150 collectives", 90 * ms, 96 * ms, 96 * ms},
	} {
		var records []op.Record
		at := int64(1e18)
		number := int64(0)
		for step := range int64(steps) {
			add := func(name string, kind op.Kind, ns, bytes int64) {
				for rank := range int64(2) {
					e := op.Entry{
						Operation: name, Kind: kind, DeviceID: "cuda:0", Rank: op.Known(rank), Step: op.Known(step),
						Stream: op.Known(int64(7)), Launch: op.Known(1e18 - ms + number*100),
						Start: op.Known(at + 1), Duration: ns - 1,
					}
					if bytes > 0 {
						e.MemoryBytes = op.Known(bytes)
						e.Collective = &op.Collective{Name: name, Sequence: op.Known(number)}
					}
					records = append(records, op.Record{Entry: &e})
				}
				at += ns
				number++
			}
			for range 12 {
				add("gemm", op.KindCompute, ms, 0)
			}
			for range test.n {
				add("all_reduce", op.KindCollective, test.ns, test.bytes)
			}
			add("adam", op.KindCompute, 100*us, 0)
		}
		f := only(foundOn(t, "nvidia-h100-sxm", records...), test.rule)
		isRight := f.SavedNS.V >= test.low && f.SavedNS.V <= test.high && f.SavedHighNS.V >= test.all*9/10
		if !strings.Contains(f.Try, test.tries) || !isRight {
			t.Errorf("%s: %q, gain %q, try %q", test.name, f.Text, f.Gain(), f.Try)
		}
	}
}

// A forward pass within another is of a module, and has no backward pass of its own.
func TestAForwardPassWithinAnother(t *testing.T) {
	const ms = 1_000_000
	var r run
	for i := range 40 {
		start := r.at
		r.launch("aten::mm", "gemm", op.KindCompute, 3*ms).Step = op.Known(int64(i / 2))
		ns := r.at - start
		if i%2 == 0 {
			ns *= 4
		}
		r.launch("c10d", "all_reduce", op.KindCollective, 2*ms).Step = op.Known(int64(i / 2))
		r.records = append(r.records, op.Record{Span: &op.Span{
			Name: "DistributedDataParallel.forward", TraceID: op.TraceID{1}, SpanID: op.SpanID{1, byte(i), 9},
			Start: op.Known(1_000_000_000 + start), Duration: ns,
		}})
	}
	f := only(found(t, r.records...), "exposed_communication")
	if f.Rule == "" || strings.Contains(f.Text, "backward passes") {
		t.Errorf("%q", f.Text)
	}
}

// A long call on one of many ranks holds up all: its own idle time counts, and not the mean of the devices.
func TestALongCallOfOneRank(t *testing.T) {
	const ms, steps, ranks, save = 1_000_000, 8, 16, 4_000_000
	var records []op.Record
	at := int64(1e18)
	var hosts [ranks]int64 // the times of the hosts, ahead of their devices
	for step := range int64(steps) {
		late := int64(0)
		if step == steps/2 {
			late = save
		}
		for rank := range int64(ranks) {
			id := func(n int64) op.SpanID { return op.SpanID{byte(n), byte(step), byte(rank)} }
			add := func(name, on string, n, from, ns int64, kind op.Kind) *op.Entry {
				e := &op.Entry{
					Operation: name, Kind: kind, DeviceID: on, Rank: op.Known(rank),
					TraceID: op.TraceID{1}, SpanID: id(n),
					Start: op.Known(from), Duration: ns, Step: op.Known(step),
				}
				records = append(records, op.Record{Entry: e})
				return e
			}
			host := &hosts[rank]
			*host = max(*host, 1e18)
			mine := int64(0)
			if rank == 0 && late > 0 {
				mine = late
				*host = at
				add("save_checkpoint", "", 1, *host, save, op.KindControl).Side = op.SideHost
				*host += save
			}
			for n, name := range []string{"gemm", "all_reduce"} {
				more := int64(n)
				add("aten::"+name, "", more+2, *host, 5_000, op.KindControl).Side = op.SideHost
				kind := []op.Kind{op.KindCompute, op.KindCollective}[n]
				e := add(name, "cuda:0", more+4, at+mine+more*ms+20_000, ms+more*(late-mine)-1_000, kind)
				e.Stream = op.Known(int64(7))
				e.ParentSpanID = id(more + 2)
				e.Launch = op.Known(*host + 2_000)
				if *host += 10_000; n == 1 {
					e.Collective = &op.Collective{
						Name: name, Group: "dp", Sequence: op.Known(step), GroupSize: op.Known(int64(ranks)),
					}
				}
			}
		}
		at += 2*ms + late
	}
	f := only(found(t, records...), "pauses")
	if !strings.Contains(f.Text, "0/cuda:0 is idle 3.9") || f.SavedNS.V < save*9/10 || f.SavedNS.V > save*11/10 {
		t.Errorf("%q, gain %q", f.Text, f.Gain())
	}
}
