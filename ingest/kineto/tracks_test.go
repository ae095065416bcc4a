package kineto_test

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// sums returns the count and the sum of the operations of each device and stream by kind.
func sums(records iter.Seq2[op.Record, error]) (lines []string) {
	type sum struct{ n, ns int64 }
	all := make(map[string]sum)
	for rec, err := range records {
		key := "error"
		var ns int64
		switch e := rec.Entry; {
		case err != nil:
		case e != nil:
			key = fmt.Sprint(e.DeviceID, " ", e.Stream, " ", e.Kind)
			if !e.Start.Known {
				key += " without time"
			}
			ns = e.Duration
		case rec.Skipped.Reason == op.SkipMetadata || rec.Skipped.N == 0:
			continue
		default:
			all["skipped "+string(rec.Skipped.Reason)] = sum{n: rec.Skipped.N}
			continue
		}
		all[key] = sum{all[key].n + 1, all[key].ns + ns}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		lines = append(lines, fmt.Sprint(key, " ", all[key].n, " ", all[key].ns))
	}
	return lines
}

// The operations of each accelerator belong to its devices and streams, those of the host to the host.
func TestReportedTraces(t *testing.T) {
	for _, test := range []struct {
		file string
		want []string
	}{
		{"reports/02-kineto-ts0.json", []string{
			"cpu unknown compute 3 90000", "cuda:0 7 compute 2 50000", "cuda:0 7 compute without time 2 0",
			"cuda:0 7 memory 1 0", "skipped runtime_call 5 0",
		}},
		{"reports/02b-kineto-ts0-abs.json", []string{
			"cpu unknown compute 3 90000", "cuda:0 7 compute 2 50000", "cuda:0 7 compute without time 1 0",
			"cuda:0 7 memory 1 0", "skipped runtime_call 4 0",
		}},
		{"reports/05b-kineto-xpu-sync.json", []string{
			"cpu unknown compute 2 65000", "skipped runtime_call 4 0", "xpu:0 64 compute 2 50000",
			"xpu:0 65 memory 1 20000",
		}},
		{"reports/07-jax-gpu.json", []string{
			"cpu unknown compute 1 60000", "gpu:0 14 compute 2 75000", "skipped non_op 3 0",
		}},
		{"reports/08-rocprof-strings.json", []string{
			"gpu:0 1 compute 1 143117000", "gpu:0 2 compute 1 143117000", "skipped flow 2 0",
			"skipped runtime_call 1 0",
		}},
		{"reports/28b-ascend-numeric-ts.json", []string{
			"cpu unknown compute 1 55260", "npu:0 2 compute 1 30250", "npu:0 2 memory 1 10000", "skipped flow 2 0",
		}},
		{"reports/48-sync-rows.json", []string{
			"cpu unknown compute 3 90000", "cuda:0 7 compute 2 50000", "cuda:0 7 memory 1 0", "skipped annotation 1 0",
			"skipped runtime_call 5 0",
		}},
		{"reports/48b-cuda-event.json", []string{
			"cpu unknown compute 3 90000", "cuda:0 7 compute 2 50000", "cuda:0 7 memory 1 0",
			"skipped runtime_call 6 0",
		}},
		{"reports/59-tf1-timeline.json", []string{
			"cpu unknown compute 4 160000", "gpu:0 0 compute 4 480000", "gpu:0 unknown memory 4 80000",
		}},
		{"reports/60b-unitrace-two-devices.json", []string{
			"cpu unknown compute 8 64000", "xpu:0 0 compute 4 200000", "xpu:1 0 compute 4 200000",
		}},
		{"reports/61-hpu.json", []string{"cpu unknown compute 3 30000", "hpu:0 3 compute 3 90000"}},
		{"field/cuspy.json", []string{
			"cpu unknown compute 4 2000000", "cuda:0 7 compute 4 800000", "cuda:0 7 memory 4 200000",
			"skipped annotation 4 0", "skipped runtime_call 8 0",
		}},
	} {
		t.Run(test.file, func(t *testing.T) {
			f, err := os.Open(filepath.Join("../../../shared/data", test.file))
			if err != nil {
				t.Skip(err)
			}
			defer func() { _ = f.Close() }()
			check.Equal(t, "sums", test.want, sums(kineto.Records(f, test.file, nil)))
		})
	}
}

// Kernels of Cuspy's replays keep their modules, copies their kinds; a host's node is on the host's thread.
func TestReplaysOfCuspy(t *testing.T) {
	f, err := os.Open("../../../shared/data/field/cuspy.json")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = f.Close() }()
	entries, _ := recordtest.Split(t, kineto.Records(f, "cuspy", nil))
	var got []string
	for _, e := range entries {
		if e.Step == op.Known(2) {
			got = append(got, fmt.Sprint(e.Operation, ", ", e.Side, ", ", e.Path, ", ", e.Attrs))
		}
	}
	const launch = "{tensor.launch.duration 20000 1} {tensor.launch.call cudaGraphLaunch 0} {thread.id 1 1}]"
	check.Equal(t, "entries of a step", []string{
		"HostNode: cb(void*), host, , [{thread.id 9 1}]",
		"gemm_kernel, , layers.0.attention.wq, [{grid [1,1,1] 5} {block [128,1,1] 5} {graph id 3 1} " +
			"{graph node id 11 1} {graph node name layers.0.attention.wq 0} " + launch,
		"Memcpy HtoD, , , [{graph id 3 1} {graph node id 14 1} " + launch,
	}, got)
}

// A start months away from the others is no time, also of the first event and of a launch.
func TestWildStarts(t *testing.T) {
	const base = 1750000000000000 // microseconds
	const year = 365 * 24 * 3600 * 1_000_000
	event := func(cat, name string, ts int64, args string) string {
		return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":1,"ts":%d,"dur":5,"args":{%s}}`, cat, name, ts,
			args)
	}
	kernel := func(ts int64) string { return event("kernel", "gemm", ts, `"device":0,"stream":7`) }
	good := []string{
		kernel(base + 10), event("cpu_op", "mm", base, ""),
		event("cuda_runtime", "cudaLaunchKernel", base+2, `"correlation":1`),
	}
	read := func(events ...string) []*op.Entry {
		text := "[" + strings.Join(events, ",") + "]"
		entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(text), "trace", nil))
		return entries
	}
	for _, test := range []struct{ name, wild string }{
		{"in 1970", kernel(1000)},
		{"years before", kernel(base - 5*year)},
		{"years behind", kernel(base + 2*year)},
		{"an operator of the host", event("cpu_op", "mm", 0, "")},
		{"long behind its launch", event("kernel", "gemm", base+3*year, `"device":0,"stream":7,"correlation":1`)},
	} {
		for _, events := range [][]string{append([]string{test.wild}, good...), append(slices.Clone(good), test.wild)} {
			entries := read(events...)
			wild := 0
			for _, e := range entries {
				if e.Warn&op.WarnBadTime != 0 && !e.Start.Known {
					wild++
				}
			}
			check.Equal(t, test.name+": entries, wild ones", []int{3, 1}, []int{len(entries), wild})
		}
	}
	entries := read(kernel(5), kernel(7*24*3600*1_000_000))
	check.Equal(t, "a week", true, entries[0].Start.Known && entries[1].Start.Known)
}

// forwardsOf returns the names of the forward operators of the host operators, "" for a missing one, in the order of
// the trace.
func forwardsOf(t *testing.T, trace io.Reader) []string {
	t.Helper()
	var names []string
	entries, _ := recordtest.Split(t, kineto.Records(trace, "trace", nil))
	for _, e := range entries {
		if e.DeviceID == "cpu" {
			name := ""
			if a := opmodel.FindAttr(e.Attrs, "tensor.autograd.forward.name"); a != nil {
				name = a.Value
			}
			names = append(names, name)
		}
	}
	return names
}

// operator is the text of a host operator with an autograd number.
func operator(name string, pid, tid, ts, number, forward int) string {
	return fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":%q,"pid":%d,"tid":%d,"ts":%d,"dur":1,`+
		`"args":{"Sequence number":%d,"Fwd thread id":%d}}`, name, pid, tid, ts, number, forward)
}

// Forward operators agree with a search of all operators for each backward operator.
func TestGradientsAgainstNaive(t *testing.T) {
	cases.Seeds(t, 100, func(seed uint64, r *rand.Rand) {
		type event struct {
			kind                         string
			pid, tid, ts, number, thread int
		}
		var events []event
		var texts []string
		for i := range r.IntN(60) {
			e := event{[]string{"Mul", "Addmm"}[r.IntN(2)], 1 + r.IntN(2), 1 + r.IntN(2)/(1+int(seed%2)), r.IntN(50),
				r.IntN(5), r.IntN(2)}
			name := map[bool]string{true: e.kind + "Backward0", false: "aten::" + strings.ToLower(e.kind)}[e.thread > 0]
			events = append(events, e)
			texts = append(texts, operator(name, e.pid, e.tid, e.ts*100+i, e.number, e.thread))
			events[i].ts = e.ts*100 + i
		}
		var want []string
		for _, b := range events {
			name := ""
			threads := map[int]bool{}
			for _, f := range events {
				if b.thread > 0 && f.thread == 0 && f.number == b.number && f.pid == b.pid && f.kind == b.kind &&
					f.ts < b.ts {
					name = "aten::" + strings.ToLower(f.kind)
					threads[f.tid] = true
				}
			}
			if len(threads) > 1 {
				name = ""
			}
			want = append(want, name)
		}
		check.Equal(t, fmt.Sprint("seed ", seed), want,
			forwardsOf(t, strings.NewReader("["+strings.Join(texts, ",")+"]")))
	})
}

// The forward operators of recorded backward operators. They agree with the arrows of the traces, if recorded.
func TestRecordedGradients(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"mi250_minitoy_train_ROCm6_2_kineto.json.gz": {"aten::addmm": 2, "aten::mse_loss": 2, "aten::relu": 2,
			"aten::t": 2},
		"nccl_data.json.gz": {
			"aten::_log_softmax": 6, "aten::add_": 96, "aten::addmm": 6, "aten::convolution": 318,
			"aten::cudnn_batch_norm": 318, "aten::div": 6,
			"aten::max_pool2d_with_indices": 6, "aten::mean": 6, "aten::mul": 6, "aten::neg": 6, "aten::relu_": 294,
			"aten::sum": 6, "aten::t": 6,
			"aten::view": 6,
		},
		"sampled_rank-0.json.gz": {
			"All2All_Pooled_Req": 4, "All2All_Pooled_Wait": 4, "aten::_softmax": 4, "aten::addmm": 75, "aten::bmm": 26,
			"aten::div":    4,
			"aten::gather": 4, "aten::logit": 8, "aten::max": 4, "aten::mean": 8, "aten::mm": 16, "aten::mul": 2,
			"aten::native_layer_norm": 2,
			"aten::sqrt":              4,
		},
	} {
		got := make(map[string]int)
		for _, forward := range forwardsOf(t, openRecorded(t, name)) {
			got[forward]++
		}
		delete(got, "")
		check.Equal(t, name, want, got)
	}
}

// The steps and phases of recorded kernels agree with the ranges in the JSON open at their launches: nanoseconds by
// step and phase, from a search of all ranges and operators for each launch.
func TestRecordedSteps(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	for name, want := range map[string]map[string]map[string]int64{
		"nccl_data.json.gz": {
			"ProfilerStep#4": {"": 510780, "backward": 25291215, "communication": 11989021, "forward": 12896854,
				"optimizer": 693145},
			"ProfilerStep#5": {"": 499095, "backward": 25227649, "communication": 12300029, "forward": 12878104,
				"optimizer": 691989},
			"ProfilerStep#6": {"": 520759, "backward": 25527881, "communication": 22587443, "forward": 12878730,
				"optimizer": 693144},
		},
		"mi250_minitoy_train_ROCm6_2_kineto.json.gz": {"ProfilerStep#1": {"": 92081, "backward": 48480,
			"optimizer": 8481}},
		"sampled_rank-1.json.gz": {
			"ProfilerStep#551": {"": 2714000, "backward": 90779000, "communication": 168027000, "data": 350000,
				"forward":   41358000,
				"optimizer": 3014000},
			"ProfilerStep#552": {"": 2704000, "backward": 91365000, "communication": 211026000, "data": 11767000,
				"forward":   41587000,
				"optimizer": 2839000},
		},
		"simple_add.json.gz": {"": {"": 49816000}},
	} {
		t.Run(name, func(t *testing.T) {
			got := make(map[string]map[string]int64)
			entries, _ := recordtest.Split(t, kineto.Records(openRecorded(t, name), name, nil))
			for _, e := range entries {
				if e.Side != 0 {
					continue
				}
				if got[e.StepName] == nil {
					got[e.StepName] = make(map[string]int64)
				}
				got[e.StepName][e.Phase] += e.Duration
			}
			check.Equal(t, "ns by step and phase", want, got)
		})
	}
}
