package findings_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

func found(t *testing.T, records ...op.Record) []findings.Finding {
	t.Helper()
	return foundOn(t, "", records...)
}

// foundOn returns the findings with the peaks of a device, "" for none.
func foundOn(t *testing.T, device string, records ...op.Record) []findings.Finding {
	t.Helper()
	opts := analyze.Options{Workers: 1}
	if device != "" {
		opts.Peaks = check.Must(peaks.Parse([]byte(`{"devices":[{"device":"` + device + `"}]}`)))(t)
	}
	source := analyze.Records(recordtest.All(records...))
	return check.Must(analyze.Run(t.Context(), source, opts))(t).Findings
}

// run is a host with a device. The host launches and goes on.
type run struct {
	records  []op.Record
	at, free int64 // ns, of the host and of the device
}

func (r *run) add(e op.Entry, start, ns int64) *op.Entry {
	e.Start = op.Known(1_000_000_000 + start)
	e.Duration = ns
	e.Rank = op.Known(int64(0))
	r.records = append(r.records, op.Record{Entry: &e})
	return &e
}

// host runs an operation of the host.
func (r *run) host(name string, ns int64) *op.Entry {
	e := r.add(op.Entry{Operation: name, Kind: op.KindControl, Side: op.SideHost, TraceID: op.TraceID{1}}, r.at, ns)
	e.SpanID = op.SpanID{byte(len(r.records) >> 8), byte(len(r.records)), 1}
	r.at += ns
	return e
}

// launch launches an operation from within an operator.
func (r *run) launch(operator, name string, kind op.Kind, ns int64) *op.Entry {
	host := r.host(operator, 5_000)
	start := max(r.at, r.free+1_000)
	r.free = start + ns
	return r.add(op.Entry{
		Operation: name, Kind: kind, DeviceID: "cuda:0", Stream: op.Known(int64(7)),
		Launch:  op.Known(1_000_000_000 + r.at - 3_000),
		TraceID: op.TraceID{1}, ParentSpanID: host.SpanID,
	}, start, ns)
}

// step launches two products in a step, and waits for them.
func (r *run) step(number int, phase string, rows, ns int64) {
	for range 2 {
		e := r.product("gemm", rows, ns/2)
		e.Step = op.Known(int64(number))
		e.Phase = phase
	}
	r.at = r.free
}

// product launches a product of rows by a matrix.
func (r *run) product(name string, rows, ns int64) *op.Entry {
	e := r.launch("aten::mm", name, op.KindCompute, ns)
	e.InputShapes = []op.Shape{{rows, 8}, {8, 16}}
	e.OutputShape = op.Shape{rows, 16}
	e.OutputElements = op.Known(rows * 16)
	e.FLOPs = op.Known(2 * rows * 8 * 16)
	return e
}

// call makes a runtime call.
func (r *run) call(name string, ns int64) {
	e := op.Entry{
		Operation: name, Side: op.SideHost, Rank: op.Known(int64(0)),
		Start: op.Known(1_000_000_000 + r.at), Duration: ns,
	}
	r.records = append(r.records, op.Record{Call: &e})
	r.at += ns
}

// Many reads of values in each step are waits for the device, though each waits for a short kernel only and little code
// follows.
func TestManyShortReadsAreWaits(t *testing.T) {
	const (
		us    = 1_000
		steps = 10
		reads = 30
	)
	var r run
	for step := range steps {
		r.launch("aten::mm", "gemm", op.KindCompute, 2_000*us).Step = op.Known(int64(step))
		for range reads {
			r.launch("aten::linalg_vector_norm", "reduce_kernel", op.KindCompute, 3*us).Step = op.Known(int64(step))
			from := r.at
			r.call("cudaStreamSynchronize", max(5*us, r.free-r.at))
			e := r.host("aten::item", us)
			e.Start = op.Known(e.Start.V - r.at + us + from)
			e.Duration = r.at - from
			r.at += 6 * us
		}
	}
	f := only(found(t, r.records...), "device_wait")
	check.Equal(t, "", "The host waits for the device 300 times in aten::item (cudaStreamSynchronize) (30 a step). "+
		"Meanwhile it launches no further work.", f.Text)
}

// Products of one shape that are far from the peak, forward and backward, are one change: to the share that other shapes
// reach.
// Their FLOPs and bytes are equal to the others', their outputs are not recorded.
func TestSlowShapesAreOneChange(t *testing.T) {
	const (
		ns   = 100_000 // at 0.55 of the peak
		slow = 600_000 // at 0.09
		n    = 20
	)
	fast := [][]op.Shape{{{8192, 1024}, {1024, 1024}}, {{1024, 8192}, {8192, 1024}}}
	far := [][]op.Shape{{{1024, 1024}, {1024, 8192}}, {{8192, 1024}, {1024, 1024}, {1024}}}
	var r run
	product := func(by string, ns int64, shapes []op.Shape) {
		e := r.launch(by, "gemm", op.KindCompute, ns)
		e.InputShapes = shapes
		e.DType = op.BF16
		e.FLOPs = op.Known(int64(2 * 8192 * 1024 * 1024))
	}
	for range n {
		product("aten::addmm", ns, fast[0])
		product("aten::addmm", slow, far[0])
		product("aten::mm", ns, fast[1])
		product("aten::mm", slow, far[1])
	}
	found := foundOn(t, "nvidia-a100-sxm-80gb", r.records...)
	if len(found) != 2 || found[1].Rule != "roofline" {
		t.Fatalf("found %v", found)
	}
	says := "aten::addmm, aten::mm reach 9.5 % of what the device can do in 40 of 80 calls, bound by compute."
	check.Equal(t, "", says, found[1].Text)
	if saved, want := found[1].SavedNS.V, int64(2*n*(slow-ns)); saved < want*99/100 || saved > want*101/100 {
		t.Errorf("saves %d ns, want %d", saved, want)
	}
}

// A change of some calls comes before the general one of all calls of the operation.
func TestSlowCallsComeBeforeTheRoofline(t *testing.T) {
	var r run
	for i := range 20 {
		r.product("gemm", 100, 1_000_000+int64(i%4/3)*4_000_000).DType = op.BF16
	}
	var rules []string
	for _, f := range foundOn(t, "nvidia-a100-sxm-80gb", r.records...) {
		rules = append(rules, f.Rule)
	}
	check.Equal(t, "", []string{"bound", "uneven_calls", "roofline"}, rules)
}

// A layer that is slow says nothing about the products of the others: without it they are near their peak.
func TestASlowLayerIsNoRoofline(t *testing.T) {
	for slow, want := range map[int64][]string{6: {"bound", "unlike"}, 1: {"bound"}} {
		var r run
		for i := range int64(40) {
			const ns = 10_000
			layer := i % 8
			e := r.product("gemm", 8<<20, ns)
			e.Path = fmt.Sprintf("layer_%02d", layer)
			e.DType = op.BF16
			e.Duration = 300_000
			if layer == 5 {
				e.Duration *= slow
			}
			r.free += e.Duration - ns
		}
		var rules []string
		for _, f := range foundOn(t, "nvidia-a100-sxm-80gb", r.records...) {
			rules = append(rules, f.Rule)
			if f.Rule == "unlike" {
				check.Equal(t, "saved", 5*5*300_000, f.SavedNS.V)
			}
		}
		check.Equal(t, fmt.Sprint(slow, " times as long"), want, rules)
	}
}

// Products of 32-bit numbers near the peak of plain cores use no tensor cores. Faster ones do.
func TestPlainCoresByTypeAndRate(t *testing.T) {
	const peak = 19_500 // FLOPs a ns
	for part, want := range map[float64]string{0.7: "tensor_cores", 2: "bound", 0.1: "bound"} {
		var r run
		for range 20 {
			e := r.launch("", "matmul", op.KindCompute, 1_000_000)
			e.DType = op.F32
			e.FLOPs = op.Known(int64(part * peak * 1_000_000))
		}
		all := foundOn(t, "nvidia-a100-sxm-80gb", r.records...)
		check.Equal(t, fmt.Sprint(part, " of the peak"), want, all[len(all)-1].Rule)
	}
}

// Each rule finds what it is for, and not what speaks against it.
func TestRules(t *testing.T) {
	const ms = 1_000_000
	repeat := func(step func(r *run, i int)) func(*run) {
		return func(r *run) {
			for i := range 20 {
				step(r, i)
			}
		}
	}
	products := func(name string) func(*run) {
		return repeat(func(r *run, _ int) { r.launch("aten::mm", name, op.KindCompute, ms) })
	}
	for _, test := range []struct {
		name, rule, says string
		make             func(*run)
	}{
		{"products on plain cores", "tensor_cores", "Tensor cores unused: 20 operations",
			products("ampere_sgemm_128x64_nn")},
		{"convolutions of cuDNN on plain cores", "tensor_cores", "Tensor cores unused: 20 operations",
			products("void cudnn::cnn::wgrad_alg0_engine<float, 512, 6, 5>(int, float const*)")},
		{"a kernel on few threads", "few_threads", "reduce runs for 20.0 ms (99.9 %) on 160",
			repeat(func(r *run, _ int) {
				r.launch("aten::sum", "reduce", op.KindCompute, ms).Attrs = []op.Attr{
					{Key: "grid", Value: "[10,1,1]", Type: op.AttrJSON},
					{Key: "block", Value: "[16,1,1]", Type: op.AttrJSON},
				}
			})},
		{"products on tensor cores", "", "", products("ampere_sgemm_tf32_128x64_nn")},
		{"memory taken and given back", "allocator", "40 calls of cudaFree, cudaMalloc",
			repeat(func(r *run, _ int) {
				r.call("cudaFree", 200_000)
				r.call("cudaMalloc", 100_000)
				r.launch("aten::mm", "gemm", op.KindCompute, ms/2)
				r.at = r.free
			})},
		{"memory taken and given back by operations", "allocator", "40 calls of cudaFree, cudaMalloc",
			repeat(func(r *run, _ int) {
				r.host("cudaFree", 200_000)
				r.host("cudaMalloc", 100_000)
				r.launch("aten::mm", "gemm", op.KindCompute, ms/2)
				r.at = r.free
			})},
		{"memory taken by the stream", "", "", repeat(func(r *run, _ int) {
			r.call("cudaFreeAsync", 2_000)
			r.launch("aten::mm", "gemm", op.KindCompute, ms/2)
		})},
		{"waits that take nothing", "", "", repeat(func(r *run, _ int) {
			r.launch("aten::mm", "gemm", op.KindCompute, ms/2)
			r.call("cudaStreamSynchronize", 1_000)
		})},
		{"a host that launches one by one", "launch_bound", "Launch bound: the device is idle",
			repeat(func(r *run, _ int) {
				r.host("aten::view", 100_000)
				r.launch("aten::mm", "gemm", op.KindCompute, 50_000)
			})},
		{"a host far ahead", "", "", repeat(func(r *run, _ int) {
			r.host("aten::view", 100_000)
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
		})},
		{"rows gathered", "conversions", "aten::index only moves data", repeat(func(r *run, _ int) {
			r.launch("aten::index", "gather", op.KindCompute, ms)
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
		})},
		{"a type changed within operators", "conversions", "aten::to changes the type of tensors, for 20.0 ms",
			repeat(func(r *run, _ int) {
				to := r.host("aten::to", 1_000)
				copies := r.launch("aten::copy_", "direct_copy_kernel", op.KindCompute, ms)
				r.records[len(r.records)-2].Entry.ParentSpanID = to.SpanID
				to.Duration = copies.Launch.V + 4_000 - to.Start.V
				r.launch("aten::mm", "gemm", op.KindCompute, ms)
			})},
		{"a type changed by an operation", "conversions", "Operations change the type of tensors for 20.0 ms",
			repeat(func(r *run, _ int) {
				r.launch("", "cast", op.KindCompute, ms)
				r.launch("", "gemm", op.KindCompute, ms)
			})},
		{"a layout changed by kernels", "conversions", "Operations change the layout of tensors for 20.0 ms",
			repeat(func(r *run, _ int) {
				r.launch("aten::cudnn_convolution", "cudnn::nchwToNhwcKernel<float>", op.KindCompute, ms)
				r.launch("aten::cudnn_convolution", "fprop", op.KindCompute, ms)
			})},
		{"input copied where the device computes", "copy_overlap", "from computing: 20 copies take 20.0 ms",
			repeat(func(r *run, _ int) {
				r.launch("aten::copy_", "Memcpy HtoD (Pinned -> Device)", op.KindMemory, ms)
				r.launch("aten::mm", "gemm", op.KindCompute, 4*ms)
			})},
		{"layers of other sizes", "", "", repeat(func(r *run, _ int) {
			for layer := range int64(6) {
				r.product("gemm", 100<<layer, ms<<layer).Path = fmt.Sprint("top.", layer)
			}
		})},
		{"chains of elementwise kernels", "elementwise", "Elementwise operations take",
			repeat(func(r *run, _ int) {
				for range 4 {
					r.launch("aten::mul", "vectorized_elementwise_kernel<4>", op.KindCompute, ms)
				}
				r.launch("aten::mm", "gemm", op.KindCompute, ms)
			})},
		{"an optimizer for one tensor after the other", "elementwise", "as in an optimizer that is not fused",
			repeat(func(r *run, _ int) {
				for i := range 96 {
					r.launch("", []string{"lerp_", "mul_", "addcdiv_"}[i%3], op.KindCompute, ms/32)
				}
				r.launch("aten::mm", "gemm", op.KindCompute, ms)
			})},
		{"single elementwise kernels", "", "", repeat(func(r *run, _ int) {
			r.launch("aten::mul", "vectorized_elementwise_kernel<4>", op.KindCompute, ms)
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
		})},
		{"slow calls with the same work", "uneven_calls", "gemm takes 1.00 ms at the median and up to 5.00 ms",
			repeat(func(r *run, i int) { r.product("gemm", 100, ms+int64(i%4/3)*4*ms) })},
		{"slow calls with more work", "", "", repeat(func(r *run, i int) {
			more := int64(i % 4 / 3)
			r.product("gemm", 100+more, ms+more*4*ms)
		})},
		{"slow calls without shapes", "", "", repeat(func(r *run, i int) {
			r.launch("aten::mm", "gemm", op.KindCompute, ms+int64(i%4/3)*4*ms).OutputElements = op.Known(int64(100))
		})},
		{"a slow first product", "warm_up", "The first call of gemm takes 9.00 ms, the median of later calls 1.00 ms",
			repeat(func(r *run, i int) { r.product("gemm", 100, ms+8*ms*max(0, int64(1-i))) })},
		{"a larger first product", "", "",
			repeat(func(r *run, i int) { r.product("gemm", 100+max(0, int64(1-i)), ms+8*ms*max(0, int64(1-i))) })},
		{"a slow first step", "warm_up", "The first step takes 9.01 ms, the median of 19 others 1.01 ms.",
			repeat(func(r *run, i int) { r.step(i, "", 3, ms+8*ms*max(0, int64(1-i))) })},
		{"a prompt in the first step", "", "",
			repeat(func(r *run, i int) { r.step(i, "", 3+300*max(0, int64(1-i)), ms+8*ms*max(0, int64(1-i))) })},
		{"a prompt in a first step of its phase", "", "", repeat(func(r *run, i int) {
			r.step(i, []string{"prefill", "decode"}[min(i, 1)], 3, ms+8*ms*max(0, int64(1-i)))
		})},
		{"work from before the recording", "outside", "Operations wait", func(r *run) {
			r.free = 50 * ms
			products("gemm")(r)
		}},
		{"a launch that loads a kernel", "warm_up", "Start-up: the device waits 49.", func(r *run) {
			r.launch("aten::add", "add", op.KindCompute, ms)
			e := r.launch("aten::mm", "gemm", op.KindCompute, ms)
			r.at += 50 * ms
			r.free = r.at + ms
			e.Start.V = 1_000_000_000 + r.at - 5_000
			e.Attrs = []op.Attr{{Key: "tensor.launch.duration", Value: "50000000", Type: op.AttrInt}}
			products("gemm")(r)
		}},
		{"code that records nothing", "pauses", "19 times after aten::item", repeat(func(r *run, _ int) {
			r.launch("aten::item", "gemm", op.KindCompute, ms)
			r.at = r.free + ms
		})},
		{"an operator that computes on the host", "pauses", "while the host runs aten::normal_ (20 times)",
			repeat(func(r *run, _ int) {
				r.host("aten::normal_", 2*ms)
				r.launch("aten::mm", "gemm", op.KindCompute, ms)
				r.at = r.free
			})},
		{"pages that move when they are touched", "migrations", "20.0 MiB, 1.00 MiB each, in 20.0 ms, with 38.0 ms",
			repeat(func(r *run, _ int) {
				r.free += 2 * ms
				e := r.add(op.Entry{
					Operation: "Memcpy Unified DtoH", Kind: op.KindMemory, DeviceID: "cuda:0",
				}, r.free, ms)
				e.MemoryBytes = op.Known(int64(1 << 20))
				r.free += ms
			})},
		{"a model that is loaded", "pauses", "while the host runs model_loader (20 times)", repeat(func(r *run, _ int) {
			r.host("model_loader", 2*ms)
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
			r.at = r.free
		})},
		{"a host without recorded operations", "pauses", "records nothing", repeat(func(r *run, i int) {
			if r.at += 100_000; i%8 == 0 {
				r.at += 4 * ms
			}
			r.records = append(r.records, op.Record{Entry: &op.Entry{
				Operation: "gemm", Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(int64(0)),
				Stream: op.Known(int64(7)),
				Launch: op.Known(1_000_000_000 + r.at), Start: op.Known(1_000_005_000 + r.at), Duration: 50_000,
			}})
		})},
		{"a slow first call", "warm_up", "Start-up: the device waits 9.00 ms", repeat(func(r *run, i int) {
			r.host("load", 10_000+8_990_000*max(0, int64(1-i)))
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
			r.at = r.free
		})},
		{"a kernel that is loaded", "warm_up", "such as the launch of softmax (9.00 ms)", repeat(func(r *run, i int) {
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
			took := int64(5_000 + 8_995_000*max(0, 1-i))
			r.free = max(r.at+took, r.free) + ms
			r.add(op.Entry{
				Operation: "softmax", Kind: op.KindCompute, DeviceID: "cuda:0", Stream: op.Known(int64(7)),
				Launch: op.Known(1_000_000_000 + r.at), Attrs: []op.Attr{
					{Key: "tensor.launch.duration", Value: strconv.FormatInt(took, 10), Type: op.AttrInt},
				},
			}, r.free-ms, ms)
			r.at = r.free
		})},
		{"what runs once, before all", "warm_up", "first calls, such as init (900 ms).", repeat(func(r *run, i int) {
			if i == 0 {
				r.host("init", 900*ms)
			}
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
			r.at = r.free
		})},
		{"code around all", "", "", repeat(func(r *run, i int) {
			if i == 0 {
				r.call("nn.Module: Net_0", 60*ms)
				r.at -= 51 * ms
			}
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
			r.at = r.free
		})},
		{"code before all", "before_operations",
			"9.00 ms (30.9 %) before its first operation, while the host runs read", repeat(func(r *run, i int) {
				if i == 0 {
					r.call("read", 9*ms)
				}
				r.launch("aten::mm", "gemm", op.KindCompute, ms)
				r.at = r.free
			})},
		{"a first call that waits for the device", "", "", repeat(func(r *run, i int) {
			at := r.at
			r.call("hipMemcpyWithStream", 10_000+8_990_000*max(0, int64(1-i)))
			r.at = at
			r.host("aten::copy_", 10_000+8_990_000*max(0, int64(1-i)))
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
		})},
		{"a long call", "pauses", "while the host runs save (20 times)", repeat(func(r *run, _ int) {
			r.host("save", 2*ms)
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
			r.at = r.free
		})},
		{"a long call that launches copies", "pauses", "runs save (20 times)", repeat(func(r *run, _ int) {
			e := r.launch("save", "Memcpy DtoH", op.KindMemory, ms/10)
			r.records[len(r.records)-2].Entry.Duration = 2 * ms
			r.at = e.Launch.V - 1_000_000_000 + 2*ms
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
			r.at = r.free
		})},
		{"a range with several copies", "pauses", "while the host runs save (20 times)", repeat(func(r *run, _ int) {
			at := r.at
			for range 3 {
				r.launch("copy", "Memcpy DtoH", op.KindMemory, ms/10)
				r.at = r.free + 2*ms
			}
			end := r.at
			r.at = at
			r.call("save", end-at)
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
			r.at = r.free
		})},
		{"late launches within a range", "launch_bound", "Launch bound", repeat(func(r *run, _ int) {
			e := r.host("optimizer", 0)
			for range 10 {
				r.launch("aten::mul", "mul", op.KindCompute, 20_000).ParentSpanID = e.SpanID
				r.host("aten::view", 150_000)
			}
			e.Duration = r.at + 1_000_000_000 - e.Start.V
		})},
		{"a long range", "pauses", "while the host runs save (20 times)", repeat(func(r *run, _ int) {
			r.call("save", 2*ms)
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
			r.at = r.free
		})},
		{"pauses within ranges that are the steps", "pauses", "runs no operation", repeat(func(r *run, i int) {
			from := r.at
			for range 8 {
				e := r.launch("aten::mm", "gemm", op.KindCompute, ms/2)
				e.Step = op.Known(int64(i))
				e.StepName = "sample"
				r.at = r.free + ms
			}
			end := r.at
			r.at = from
			r.call("sample", end-from)
			r.at = end
		})},
		{"input", "input_wait", "(DataLoader) runs 20 times, 1.00 ms each", repeat(func(r *run, _ int) {
			r.call("enumerate(DataLoader)", ms)
			r.launch("aten::mm", "gemm", op.KindCompute, ms)
			r.at = r.free
		})},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r run
			test.make(&r)
			all := found(t, r.records...)
			at := slices.IndexFunc(all, func(f findings.Finding) bool { return f.Kind != findings.Bound })
			switch {
			case at < 0 && test.rule == "":
			case at < 0 || all[at].Rule != test.rule || !strings.Contains(all[at].Text, test.says):
				t.Errorf("want %s: %q", test.rule, test.says)
				for _, f := range all {
					t.Log(f.Rule, f.SavedNS, f.OfNS, f.Text)
				}
			}
		})
	}
}

// Each rule has a definition in docs/analyses.md and a paragraph in docs/advice.md.
func TestRulesAreDocumented(t *testing.T) {
	definitions := string(check.Must(os.ReadFile("../../docs/analyses.md"))(t))
	advice := string(check.Must(os.ReadFile("../../docs/advice.md"))(t))
	for name := range findings.RuleNames() {
		if !strings.Contains(definitions, "\n- **"+name+"**: ") || !strings.Contains(advice, "\n## "+name+"\n") {
			t.Errorf("%s has no definition, or no advice", name)
		}
	}
}

// Without the read of a value in each step the host prepares the next step meanwhile: that counts with the code behind
// the read.
func TestCodeBehindAValueAndTheWaitForIt(t *testing.T) {
	const ms, steps = 1_000_000, 20
	var r run
	for range steps {
		r.host("aten::view", 4*ms/10)
		r.launch("aten::mm", "gemm", op.KindCompute, ms)
		from := r.at
		r.launch("aten::item", "Memcpy DtoH", op.KindMemory, 1_000)
		r.records[len(r.records)-2].Entry.Duration = r.free - from
		r.at = r.free + ms/2
	}
	f := only(found(t, r.records...), "pauses")
	if ms := f.SavedNS.V / ms; ms < 16 || ms > 18 {
		t.Errorf("%q saves %s", f.Text, f.Gain())
	}
}

// A long span without work in it is a pause of its rank, though other spans of the host belong to operations.
func TestALongSpanIsAPause(t *testing.T) {
	const ms = 1_000_000
	var r run
	for i := range 20 {
		if i == 10 {
			r.records = append(r.records, op.Record{Span: &op.Span{
				Name: "save", TraceID: op.TraceID{1}, SpanID: op.SpanID{9, 9},
				ParentSpanID: op.SpanID{8, 8},
				Start:        op.Known(1_000_000_000 + r.at), Duration: 9 * ms,
			}})
			r.at += 9 * ms
		}
		r.launch("aten::mm", "gemm", op.KindCompute, ms)
		r.at = r.free
	}
	for _, x := range r.records {
		if x.Entry != nil && x.Entry.Side == op.SideHost {
			x.Entry.ParentSpanID = op.SpanID{8, 8}
		}
	}
	r.records = append(r.records, op.Record{Span: &op.Span{
		Name: "train", TraceID: op.TraceID{1}, SpanID: op.SpanID{8, 8},
		Start: op.Known(int64(1_000_000_000)), Duration: r.at,
	}})
	f := only(found(t, r.records...), "pauses")
	check.Equal(t, "text", "The device is idle 9.00 ms (30.9 %) while the host runs save (1 time).", f.Text)
}

// Equal stages of a pipeline save what the largest has above the mean, less the part of one microbatch.
func TestAnUnevenStageSavesWhatItHasAboveTheMean(t *testing.T) {
	const (
		ms    = 1_000_000
		steps = 4
		micro = 8
	)
	var records []op.Record
	add := func(rank, step, start, ns int64, kind op.Kind, name string) {
		e := op.Entry{
			Operation: name, Kind: kind, DeviceID: "cuda:0", Rank: op.Known(rank), Step: op.Known(step),
			Stream: op.Known(int64(kind)), Start: op.Known(1_000_000_000 + start), Duration: ns,
		}
		if kind == op.KindCompute {
			e.FLOPs = op.Known(ns)
		} else {
			e.Collective = &op.Collective{Name: name, Group: "pipeline", PeerRank: op.Known(1 - rank)}
		}
		records = append(records, op.Record{Entry: &e})
	}
	for i := range int64(steps * micro) {
		at := i*3*ms + i/micro*2*ms // in the end of a step the second stage computes, and sends back
		add(0, i/micro, at, 3*ms, op.KindCompute, "gemm")
		add(1, i/micro, at+3*ms, ms, op.KindCompute, "gemm")
		for rank := range int64(2) {
			add(rank, i/micro, at+3*ms, 1_000*(2+rank), op.KindCollective, []string{"send", "recv"}[rank])
			add(1-rank, i/micro, at+4*ms, 1_000*(2+rank), op.KindCollective, []string{"send", "recv"}[rank])
		}
	}
	f := only(found(t, records...), "imbalance")
	check.Equal(t, "saved", int64(steps*(micro-1)*ms), f.SavedNS.V)
}

// Copies from pinned memory are faster, and the host need not wait for them: a step of 4 ms takes 1 ms.
func TestPinnedCopiesNeedNoWait(t *testing.T) {
	const ms = 1_000_000
	const steps = 20
	var r run
	for range steps {
		e := r.launch("aten::copy_", "Memcpy HtoD (Pageable -> Device)", op.KindMemory, 2*ms)
		e.MemoryBytes = op.Known(int64(ms)) // 40 µs at 25 GB/s
		r.call("cudaStreamSynchronize", r.free+5_000-r.at)
		r.host("prepare", ms)
		r.launch("aten::mm", "gemm", op.KindCompute, ms)
	}
	for _, f := range found(t, r.records...) {
		if f.Rule == "pageable_copy" {
			if saved := float64(f.SavedNS.V) / steps; saved < 2.8*ms || saved > 3*ms {
				t.Errorf("saved %.0f ns a step", saved)
			}
			return
		}
	}
	t.Error("no finding")
}

// Data that go to a device and come back may stay there.
func TestCopiesThereAndBack(t *testing.T) {
	const ms = 1_000_000
	var r run
	for range 20 {
		for _, way := range []string{"HtoD (Pageable -> Device)", "DtoH (Device -> Pageable)"} {
			r.launch("solve", "Memcpy "+way, op.KindMemory, 2*ms).MemoryBytes = op.Known(int64(4 * ms))
		}
		r.launch("solve", "stencil", op.KindCompute, ms/10)
	}
	if f := only(found(t, r.records...), "pageable_copy"); !strings.HasPrefix(f.Try, "leave the data on the device") {
		t.Errorf("%+v", f)
	}
}

// A value that a launch bound loop reads for each token costs the read and the code behind it.
func TestAValueReadForEachToken(t *testing.T) {
	const us, read, code = 1_000, 15_000, 60_000
	var r run
	for i := range 200 {
		for range 4 {
			r.host("aten::view", 20*us)
			r.launch("aten::mm", "gemm", op.KindCompute, 10*us).Step = op.Known(int64(i / 20))
		}
		item := r.host("aten::item", read)
		r.add(op.Entry{
			Operation: "Memcpy DtoH", Kind: op.KindMemory, DeviceID: "cuda:0", Stream: op.Known(int64(7)),
			TraceID: item.TraceID, ParentSpanID: item.SpanID, Launch: op.Known(1_000_000_000 + r.at - 4*us),
		}, r.at-2*us, us)
		r.at += code
	}
	f := only(found(t, r.records...), "device_wait")
	if ns := f.SavedNS.V; ns < 200*(read+code)*9/10 || ns > 200*(read+code)*11/10 {
		t.Errorf("%q, gain %q", f.Text, f.Gain())
	}
}

// Start-up is no late launch: a short loop behind a long start is launch bound, and gains its own idle time at most.
func TestLaunchBoundBehindALongStart(t *testing.T) {
	const ms = 1_000_000
	var r run
	r.host("load", 60*ms)
	for range 200 {
		r.host("aten::view", 100_000)
		r.launch("aten::mm", "gemm", op.KindCompute, 50_000)
		r.host("load", 100)
	}
	f := only(found(t, r.records...), "launch_bound")
	idle := int64(200 * 50_000)
	if f.SavedHighNS.V < idle*9/10 || f.SavedHighNS.V > idle*13/10 {
		t.Errorf("%q, gain %q", f.Text, f.Gain())
	}
}

// TF32 is advised only to devices that have it.
func TestAdviceForTheGeneration(t *testing.T) {
	for model, want := range map[string]string{
		"NVIDIA GeForce GTX 1080 Ti": "", "NVIDIA GeForce RTX 2080 Ti": "use float16 (automatic mixed precision)",
		"NVIDIA RTX A4500": "allow TF32, or use bfloat16 or float16 (automatic mixed precision)",
		"":                 "use float16 (automatic mixed precision)", // by its kernels
	} {
		var r run
		if device := (&op.Resource{Attrs: []op.Attr{{Key: "hw.model", Value: model}}}); model != "" {
			r.records = append(r.records, op.Record{Resource: device})
		}
		for range 20 {
			r.launch("aten::mm", "volta_sgemm_64x64_nt", op.KindCompute, 1_000_000)
		}
		check.Equal(t, model, want, only(found(t, r.records...), "tensor_cores").Try)
	}
}
