package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
)

// version changes whenever other traces are written than before.
const version = 1

type layout string

const (
	// indented is how PyTorch's profiler writes it.
	indented layout = "indented"
	// compact has no white space within an event, as programs write it that work
	// on traces.
	compact layout = "compact"
)

type totals struct {
	events, ops int64
	ns          int64 // of all operations
}

// summarise returns what the trace of n events adds up to.
func summarise(n int) totals {
	t := newTrace(io.Discard, indented)
	t.write(n)
	return t.sum
}

// trace writes the events of a training process: operators on the host, within others,
// the calls that launch kernels and copies, arrows between those, kernels and copies on
// two streams. Times, shapes and kernels differ at random from step to step.
type trace struct {
	w      *bufio.Writer
	layout layout
	rng    *rand.Rand
	sum    totals

	text, small  bytes.Buffer
	host, device int64 // ns at which the next event can start
	external     int
	correlation  int
}

func newTrace(w io.Writer, l layout) *trace {
	const start = 4_458_676_524_648_797
	return &trace{
		w: bufio.NewWriterSize(w, 1<<20), layout: l, rng: rand.New(rand.NewPCG(1, version)), host: start, device: start,
		external: 2049, correlation: 57541,
	}
}

func (t *trace) write(n int) {
	fmt.Fprint(t.w, `{
  "schemaVersion": 1,
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
  "traceEvents": [
`)
	for step := 1; t.sum.events < int64(n); step++ {
		t.step(step, n)
	}
	t.event(`  {
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": %s
  }`, micros(t.host))
	fmt.Fprint(t.w, "\n  ],\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1711964646000000000\n}\n")
}

// event writes an event. The first error of the writer is that of its Flush.
func (t *trace) event(format string, args ...any) {
	if t.sum.events > 0 {
		fmt.Fprint(t.w, ",\n")
	}
	t.sum.events++
	if t.layout == indented {
		fmt.Fprintf(t.w, format, args...)
		return
	}
	t.text.Reset()
	t.small.Reset()
	fmt.Fprintf(&t.text, format, args...)
	_ = json.Compact(&t.small, t.text.Bytes()) // events are JSON
	_, _ = t.w.Write(t.small.Bytes())
}

// micros is a time in nanoseconds as the profiler writes it.
type micros int64

func (n micros) String() string { return fmt.Sprintf("%d.%03d", int64(n)/1000, int64(n)%1000) }

const process = 2910249

// layers is how many operators a step has that launch something.
const layers = 800

func (t *trace) step(step, n int) {
	start := t.host
	for range layers {
		if t.sum.events >= int64(n) {
			break
		}
		t.layer()
	}
	t.slice("user_annotation", fmt.Sprintf("ProfilerStep#%d", step), process, process, start, t.host-start,
		`"External id": %d,"Record function id": %d, "Ev Idx": %d`, step, step, step)
}

// layer writes an operator that calls two others, of which one launches a kernel or
// a copy.
func (t *trace) layer() {
	kind := kinds[t.rng.IntN(len(kinds))]
	rows, columns := 1<<t.rng.IntN(9), 64*(1+t.rng.IntN(32))
	thread := process + 9503*t.rng.IntN(2)
	start := t.host
	inner, innermost := t.duration(5_000), t.duration(9_000)
	length := inner + innermost + t.duration(4_000)
	t.hostOp("autograd::engine::evaluate_function: "+kind.name, thread, start, length, "")
	t.hostOp("aten::"+kind.name, thread, start+700, length-900, fmt.Sprintf(
		`"Input type": ["float", "float", "Scalar", ""], "Input Dims": [[%d, %d], [%d, %d], [], []], `, rows, columns, columns, rows))
	t.hostOp("aten::"+kind.inner, thread, start+700+inner/2, innermost, "")
	call := "cudaLaunchKernel"
	if kind.kernel == "" {
		call = "cudaMemcpyAsync"
	}
	launch, launching := start+900+inner/2, innermost/2
	t.slice("cuda_runtime", call, process, thread, launch, launching,
		`"External id": %d,      "cbid": 211, "correlation": %d`, t.external, t.correlation)
	t.arrow("s", "", process, thread, launch)
	t.device = max(t.device, launch+launching) + t.duration(2_000)
	running := t.duration(60_000)
	stream := 7 + 13*t.rng.IntN(2)
	if kind.kernel == "" {
		size := rows * columns * 4
		t.operation("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 0, stream, t.device, running,
			`"External id": %d,      "device": 0, "context": 1,      "stream": %d, "correlation": %d,      "bytes": %d, `+
				`"memory bandwidth (GB/s)": %.16g`, t.external, stream, t.correlation, size, float64(size)/float64(running))
	} else {
		t.operation("kernel", kind.kernel, 0, stream, t.device, running,
			`"External id": %d,      "queued": 0, "device": 0, "context": 1,      "stream": %d, "correlation": %d,      `+
				`"registers per thread": 40,      "shared memory": 400,      "blocks per SM": 4.740741,      "warps per SM": 75.851852,      `+
				`"grid": [%d, 1, 1],      "block": [512, 1, 1],      "est. achieved occupancy %%": 75`, t.external, stream, t.correlation, rows)
	}
	t.arrow("f", `, "bp": "e"`, 0, stream, t.device)
	t.device += running
	t.host = start + length + t.duration(3_000)
	t.external++
	t.correlation++
}

// duration returns a duration in nanoseconds, most of them about n.
func (t *trace) duration(n int) int64 {
	return int64(n/2 + t.rng.IntN(n) + t.rng.IntN(n)*t.rng.IntN(n)/n)
}

func (t *trace) slice(category, name string, pid, tid int, start, length int64, args string, values ...any) {
	t.event(`  {
    "ph": "X", "cat": "%s", "name": "%s", "pid": %d, "tid": %d,
    "ts": %s, "dur": %s,
    "args": {
      %s
    }
  }`, category, name, pid, tid, micros(start), micros(length), fmt.Sprintf(args, values...))
}

func (t *trace) operation(category, name string, pid, tid int, start, length int64, args string, values ...any) {
	t.slice(category, name, pid, tid, start, length, args, values...)
	t.sum.ops++
	t.sum.ns += length
}

func (t *trace) hostOp(name string, thread int, start, length int64, inputs string) {
	t.operation("cpu_op", name, process, thread, start, length,
		`"External id": %d,"Record function id": %d, %s"Sequence number": %d, "Fwd thread id": 1, "Ev Idx": %d`,
		t.external, t.external-140, inputs, t.external/2, t.sum.ops)
}

func (t *trace) arrow(phase, more string, pid, tid int, at int64) {
	t.event(`  {
    "ph": "%s", "id": %d, "pid": %d, "tid": %d, "ts": %s,
    "cat": "ac2g", "name": "ac2g"%s
  }`, phase, t.correlation, pid, tid, micros(at), more)
}

// kinds are the layers: the operator, the one that it calls, and its kernel, "" for a
// copy.
var kinds = []struct{ name, inner, kernel string }{
	{"linear", "addmm", "ampere_sgemm_128x64_tn"},
	{"conv2d", "cudnn_convolution", "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)2>(" +
		"cudnn::ops::nchw2nhwc_params_t<float>, float const*, float*)"},
	{"batch_norm", "cudnn_batch_norm", "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>(cudnnTensorStruct, " +
		"float const*, cudnnTensorStruct, float*, float const*, float const*, float, float, float*, float*, float*, float*, float, float)"},
	{"relu", "clamp_min", "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::launch_clamp_scalar(" +
		"at::TensorIteratorBase&, c10::Scalar, c10::Scalar, at::native::detail::ClampLimits)::{lambda()#1}::operator()() const>(int)"},
	{"add", "add_", "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >(" +
		"int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)"},
	{"softmax", "_softmax", "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*, " +
		"float const*, int)"},
	{"copy_", "to", ""},
	{"all_reduce", "record_param_comms", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"},
}
