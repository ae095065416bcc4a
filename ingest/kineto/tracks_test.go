package kineto_test

import (
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
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
