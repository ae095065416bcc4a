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

// Names of processes and threads tell operations. Tracks that repeat others are skipped.
func TestTracks(t *testing.T) {
	named := func(kind string, pid, tid any, name string) string {
		return fmt.Sprintf(`{"ph":"M","name":"%s_name","pid":%v,"tid":%v,"args":{"name":%q}}`, kind, pid, tid, name)
	}
	event := func(category string, pid, tid any, name, args string) string {
		return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":%v,"tid":%v,"ts":"1.5","dur":2,"args":{%s}}`, category,
			name, pid, tid, args)
	}
	tpu := []string{
		named("process", 3, 0, "/device:TPU:1"), named("thread", 3, 1, "XLA Modules"), named("thread", 3, 2, "XLA Ops"),
		named("thread", 3, 3, "Async XLA Ops"), named("process", 9, 0, "/host:CPU"),
		event("", 3, 1, "jit_step", ""), event("", 3, 2, "fusion.1", ""), event("", 3, 3, "copy-start", ""),
		event("", 9, 4, "PjitFunction(f)", ""), event("", 9, 4, "$f.py:3 f", ""),
	}
	ascend := func(task string) string { return event("", 4343937, 2, task, `"Task Type":"`+task+`"`) }
	for _, test := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"a TPU", tpu, []string{
			"cpu unknown compute 1 2000", "skipped non_op 1 0", "skipped python_function 1 0", "tpu:1 2 compute 1 2000",
			"tpu:1 3 compute 1 2000",
		}},
		{"streams of TensorFlow 1", []string{
			named("process", 2, 0, "/device:GPU:0/stream:all Compute"),
			named("process", 3, 0, "/device:GPU:0/memcpy Compute"),
			named("process", 4, 0, "/device:GPU:0/stream:14 Compute"),
			named("process", 5, 0, "/job:w/task:0/device:GPU:1/stream:all Compute"),
			event("Op", 2, 0, "MatMul", ""), event("Op", 3, 0, "MEMCPYHtoD", ""), event("Op", 4, 0, "MatMul", ""),
			event("Op", 4, 0, "MEMCPYHtoD", ""), event("Op", 5, 0, "Relu", ""),
		}, []string{
			"gpu:0 0 compute 1 2000", "gpu:0 unknown memory 1 2000", "gpu:1 0 compute 1 2000",
			"skipped category:Op 2 0",
		}},
		{"tasks of Ascend", []string{
			named("process", 4343937, 0, "Ascend Hardware"), named("process", 7, 0, "CANN"),
			named("process", 8, 0, "Overlap Analysis"), ascend("AI_VECTOR_CORE"), ascend("EVENT_WAIT"),
			ascend("SDMA_SQE"),
			event("", 7, 1, "Node@launch", `"connection_id":3`), event("", 8, 1, "Computing", ""),
		}, []string{
			"npu:1 2 compute 1 2000", "npu:1 2 memory 1 2000", "skipped non_op 1 0", "skipped runtime_call 2 0",
		}},
		{"copies of rocprof", []string{named("process", 1, 0, "1 COPY"), event("", 1, 0, "CopyHostToDevice", "")},
			[]string{" unknown memory 1 2000"}},
		{"agents and streams of rocprofv3", []string{
			event("kernel_dispatch", 1, 1, "gemm", `"agent":"Agent-2","queue":1,"stream_id":3`),
			event("memory_copy", 1, 1, "MEMORY_COPY_HOST_TO_DEVICE", `"operation":"MEMORY_COPY","kind":2,`+
				`"src_agent":"Agent-0","dst_agent":"Agent-2","stream_id":3`),
			event("memory_copy", 1, 1, "MEMORY_COPY_DEVICE_TO_HOST", `"src_agent":"Agent-1","dst_agent":"Agent-0"`),
		}, []string{"gpu:1 unknown memory 1 2000", "gpu:2 3 compute 1 2000", "gpu:2 3 memory 1 2000"}},
		{"an unnamed process", []string{event("a", 1, 0, "x", "")}, []string{"skipped non_op 1 0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := "[" + strings.Join(test.events, ",") + "]"
			check.Equal(t, "sums", test.want, sums(kineto.Records(strings.NewReader(text), "trace", nil)))
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

// torch_npu writes shapes and types as texts.
func TestShapesOfAscend(t *testing.T) {
	const text = `[{"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":1,"tid":1,"ts":"1","dur":2,` +
		`"args":{"Input Dims":"4,8;;8,2;;x","Input type":"float;Scalar;c10::Half;;int"}}]`
	entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(text), "trace", nil))
	e := entries[0]
	check.Equal(t, "shapes", []op.Shape{{4, 8}, {}, {8, 2}, nil, nil}, e.InputShapes)
	check.Equal(t, "types", []op.DType{"f32", "", "f16", "", "i32"}, e.InputDTypes)
	check.Equal(t, "warnings", op.WarnBadShape, e.Warn)
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

func TestGradients(t *testing.T) {
	text := "[" + strings.Join([]string{
		operator("aten::linear", 1, 1, 0, 4, 0), operator("aten::t", 1, 1, 1, 4, 0), operator("aten::addmm", 1, 1, 2, 5,
			0),
		operator("aten::max_pool2d_with_indices", 1, 1, 3, 6, 0), operator("aten::relu_", 1, 1, 4, 7, 0),
		operator("aten::relu_", 1, 2, 5, 7, 0),
		operator("autograd::engine::evaluate_function: MaxPool2DWithIndicesBackward0", 1, 3, 10, 6, 1),
		operator("AddmmBackward0", 1, 3, 11, 5, 1),
		operator("TBackward0", 1, 3, 12, 4, 1), operator("ReluBackward0", 1, 3, 13, 7, 1),
		operator("CppNode<AddmmBackward0>", 1, 3, 14, 5, 1),
		operator("SplitBackward0", 1, 3, 15, 5, 1), operator("AddmmBackward0", 2, 3, 16, 5, 1),
		operator("aten::addmm", 1, 1, 20, 5, 0),
	}, ",") + "]"
	var attrs string
	entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(text), "trace", nil))
	for _, e := range entries {
		if e.Operation == "AddmmBackward0" || e.Operation == "aten::t" {
			attrs += fmt.Sprintln(e.Operation, e.Attrs)
		}
	}
	check.Equal(t, "attributes", `aten::t [{tensor.autograd.sequence 4 1} {thread.id 1 1}]
AddmmBackward0 [{tensor.autograd.sequence 5 1} {tensor.autograd.forward.thread 1 1} {tensor.autograd.forward.name aten::addmm 0} {thread.id 3 1}]
AddmmBackward0 [{tensor.autograd.sequence 5 1} {tensor.autograd.forward.thread 1 1} {thread.id 3 1}]
`, attrs)
	want := []string{"", "", "", "", "", "", "aten::max_pool2d_with_indices", "aten::addmm", "aten::t", "", "", "", "",
		""}
	check.Equal(t, "forward operators", want, forwardsOf(t, strings.NewReader(text)))
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

// Steps without numbers count up. Without marked steps, repeating unknown ranges are the steps. Steps are no part of a
// path.
func TestStepsOfRanges(t *testing.T) {
	trace := func(names ...string) string {
		var b strings.Builder
		b.WriteString(`{"traceEvents":[`)
		for i, name := range names {
			fmt.Fprintf(&b, `{"ph":"X","cat":"user_annotation","name":%q,"pid":1,"tid":1,"ts":%d,"dur":10},
				{"ph":"X","cat":"user_annotation","name":"layer","pid":1,"tid":1,"ts":%d,"dur":8},
				{"ph":"X","cat":"cuda_runtime","name":"launch","pid":1,"tid":1,"ts":%d,"dur":1,
					"args":{"correlation":%d}},
				{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":5,"args":{"correlation":%[5]d,
					"device":0,"stream":7}},`,
				name, i*20, i*20+1, i*20+2, i+1, i*20+15)
		}
		return b.String() + "{}]}"
	}
	for _, c := range []struct {
		name   string
		ranges []string
		want   []string
	}{
		{
			"steps of an engine", []string{"execute_context_1(9)_generation_0(0)",
				"execute_context_0(0)_generation_2(2)"},
			[]string{"0 execute_context_1(9)_generation_0(0) prefill layer",
				"1 execute_context_0(0)_generation_2(2) decode layer"},
		},
		{
			"ranges that repeat", []string{"a", "b", "a", "a", "a"},
			[]string{"0 a  a/layer", "unknown   b/layer", "1 a  a/layer", "2 a  a/layer", "3 a  a/layer"},
		},
		{"ranges that come three times", []string{"a", "a", "a"}, []string{"unknown   a/layer", "unknown   a/layer",
			"unknown   a/layer"}},
		{
			"marks of two kinds", []string{"ProfilerStep#4", "step[DECODE bs=2]"},
			[]string{"unknown   layer", "0 step[DECODE bs=2] decode layer"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			entries, _ := recordtest.Split(t, kineto.Records(strings.NewReader(trace(c.ranges...)), "trace", nil))
			for _, e := range entries {
				got = append(got, e.Step.String()+" "+e.StepName+" "+e.Phase+" "+e.Path)
			}
			check.Equal(t, "entries", c.want, got)
		})
	}
}
