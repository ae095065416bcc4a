package optest

import (
	"math"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

func nan() float64 { return math.NaN() }
func inf() float64 { return math.Inf(1) }

// fields covers attributes other than shapes, the status, the resource and the sampling threshold.
func fields() []Case {
	one := func(name, key string, value any, change func(*op.Entry)) Case {
		return Case{Name: "field/" + name, Span: matmul(Attr{key, value}), Want: entry(change)}
	}
	ints := func(name, key string, set func(*op.Entry, op.Int)) []Case {
		three := func(e *op.Entry) { set(e, op.Known(3)) }
		return []Case{
			one(name, key, int64(3), three),
			one(name+" as float", key, 3.0, three),
			one(name+" as text", key, "3", three),
			one(name+" with a fraction", key, 3.5, warn(op.WarnBadValue)),
			one(name+" as words", key, "three", warn(op.WarnBadValue)),
			one(name+" as list", key, []int64{3}, warn(op.WarnBadValue)),
		}
	}
	dtype := func(spelling string, want op.DType) Case {
		return one("dtype "+spelling, attrkey.DType, spelling, func(e *op.Entry) { e.DType = want })
	}
	inputDTypes := func(name string, value any, want ...op.DType) Case {
		c := one("input dtypes "+name, attrkey.InputDTypes, value, func(e *op.Entry) { e.InputDTypes = want })
		if _, ok := value.(List); ok {
			c.Needs = NestedLists
			c.Want.Warn = op.WarnBadValue
		}
		return c
	}
	device := func(key, id string) Case {
		return one(key, key, id, func(e *op.Entry) { e.DeviceID = id })
	}
	var cases []Case
	cases = append(cases, ints("flops", attrkey.FLOPs, func(e *op.Entry, n op.Int) { e.FLOPs = n })...)
	cases = append(cases, ints("step", attrkey.Step, func(e *op.Entry, n op.Int) { e.Step = n })...)
	cases = append(cases, ints("stream", attrkey.Stream, func(e *op.Entry, n op.Int) { e.Stream = n })...)
	cases = append(cases, ints("rank", attrkey.Rank, func(e *op.Entry, n op.Int) { e.Rank = n })...)
	cases = append(cases,
		one("path", attrkey.Path, "encoder.0.attention", func(e *op.Entry) { e.Path = "encoder.0.attention" }),
		one("phase", attrkey.Phase, "prefill", func(e *op.Entry) { e.Phase = "prefill" }),
		one("path as int", attrkey.Path, int64(1), warn(op.WarnBadValue)),
		one("side", attrkey.Side, "host", func(e *op.Entry) { e.Side = op.SideHost }),
		one("side unknown", attrkey.Side, "left", warn(op.WarnBadValue)),
		one("unknown key", "http.route", "/v1", func(*op.Entry) {}),
		one("empty key", "", "x", func(*op.Entry) {}),
		one("negative flops", attrkey.FLOPs, int64(-1), warn(op.WarnBadValue)),
		one("negative stream", attrkey.Stream, int64(-1), warn(op.WarnBadValue)),
		device(attrkey.Device, "cuda:0"), device("device_id", "gpu:1"), device("device", "cpu"),
		one("device as int", attrkey.Device, int64(0), func(e *op.Entry) { e.DeviceID = "0" }),
		one("device as bool", attrkey.Device, true, warn(op.WarnBadValue)),
		one("memory", attrkey.Memory, int64(4096), memory(4096)),
		one("memory_bytes", "memory_bytes", int64(4096), memory(4096)),
		one("bare step", "step", int64(7), func(e *op.Entry) { e.Step = op.Known(7) }),
		dtype("f32", op.F32), dtype("float32", op.F32), dtype("torch.float16", op.F16), dtype("c10::BFloat16", op.BF16),
		dtype("numpy.int64", op.I64), dtype("long int", op.I64), dtype("Half", op.F16), dtype("complex64", op.C64),
		one("dtype unknown", attrkey.DType, "int4",
			func(e *op.Entry) { e.DType, e.Warn = "int4", op.WarnUnknownDType }),
		inputDTypes("strings", []string{"f32", "torch.int64"}, op.F32, op.I64),
		inputDTypes("JSON text", `["f32","i64"]`, op.F32, op.I64),
		inputDTypes("Python text", `['float', '', 'long int']`, op.F32, "", op.I64),
		inputDTypes("with an int", List{"f32", int64(1), "i64"}, op.F32, "", op.I64),
		inputDTypes("empty text", "[]"),
		inputDTypes("bare text", "f32, i64", op.F32, op.I64),
		Case{Name: "status/error", Span: failed("out of memory"),
			Want: entry(func(e *op.Entry) { e.Failed, e.Error = true, "out of memory" })},
		Case{Name: "status/error without words", Span: failed(""), Want: entry(func(e *op.Entry) { e.Failed = true })},
	)
	return append(append(cases, notes()...), outside()...)
}

// notes covers attributes that describe operations beyond the fields of the convention.
func notes() []Case {
	note := func(name string, change func(*op.Entry), attrs ...Attr) Case {
		return Case{Name: "note/" + name, Span: matmul(attrs...), Want: entry(change)}
	}
	return []Case{
		note("launch", func(e *op.Entry) { e.Launch = op.Known(start - 5) }, Attr{attrkey.Launch, int64(start - 5)}),
		note("launch as it was called before", func(e *op.Entry) { e.Launch = op.Known(start - 5) },
			Attr{"optrace.launch_unix_ns", int64(start - 5)}),
		note("launch by both names", func(e *op.Entry) { e.Launch = op.Known(start - 5) },
			Attr{attrkey.Launch, int64(start - 5)}, Attr{"optrace.launch_unix_ns", int64(start - 7)}),
		note("clock error", func(e *op.Entry) {
			e.Attrs = []op.Attr{{Key: attrkey.ClockError, Value: "2000", Type: op.AttrInt}}
		},
			Attr{attrkey.ClockError, int64(2000)}),
		note("launch duration",
			func(e *op.Entry) { e.Attrs = []op.Attr{{Key: attrkey.LaunchDuration, Value: "7000", Type: op.AttrInt}} },
			Attr{attrkey.LaunchDuration, int64(7000)}),
		note("launch call", func(e *op.Entry) {
			e.Attrs = []op.Attr{{Key: attrkey.LaunchCall, Value: "cudaLaunchKernel"}}
		},
			Attr{attrkey.LaunchCall, "cudaLaunchKernel"}),
		note("gradient", func(e *op.Entry) {
			e.Attrs = []op.Attr{
				{Key: attrkey.AutogradSequence, Value: "907", Type: op.AttrInt},
				{Key: attrkey.ForwardThread, Value: "1", Type: op.AttrInt},
				{Key: attrkey.ForwardName, Value: "aten::addmm"},
			}
		}, Attr{attrkey.AutogradSequence, int64(907)}, Attr{attrkey.ForwardThread, int64(1)},
			Attr{attrkey.ForwardName, "aten::addmm"}),
		note("hardware", func(e *op.Entry) {
			e.DeviceID = "GPU-8f2a"
			e.Attrs = []op.Attr{{Key: attrkey.HardwareID, Value: "GPU-8f2a"}}
		}, Attr{attrkey.HardwareID, "GPU-8f2a"}),
		note("hardware of a device", func(e *op.Entry) {
			e.DeviceID = "cuda:0"
			e.Attrs = []op.Attr{{Key: attrkey.HardwareID, Value: "GPU-8f2a"}}
		}, Attr{attrkey.HardwareID, "GPU-8f2a"}, Attr{attrkey.Device, "cuda:0"}),
		note("kind rule", func(e *op.Entry) { e.Kind, e.KindRule = op.KindCollective, op.RuleLibrary },
			Attr{attrkey.Kind, "collective"}, Attr{attrkey.KindRule, "library"}),
		note("kind rule without a kind", func(*op.Entry) {}, Attr{attrkey.KindRule, "library"}),
		note("kind rule unknown", warn(op.WarnBadValue), Attr{attrkey.KindRule, "dance"}),
		note("kind rule as int", warn(op.WarnBadValue), Attr{attrkey.KindRule, int64(1)}),
		note("root", func(e *op.Entry) { e.Root, e.RootSpanID = "POST /predict", ParentID },
			Attr{attrkey.Root, "POST /predict"}, Attr{attrkey.RootSpan, ParentID.String()}),
		note("root that is no id", warn(op.WarnBadValue), Attr{attrkey.RootSpan, "xyz"}),
		note("launched by", func(e *op.Entry) { e.LaunchedBy, e.LaunchSpanID = "aten::mm", ParentID },
			Attr{attrkey.LaunchedBy, "aten::mm"}, Attr{attrkey.LaunchSpan, ParentID.String()}),
		note("launched by what is no id", warn(op.WarnBadValue), Attr{attrkey.LaunchSpan, "xyz"}),
		note("step name", func(e *op.Entry) { e.StepName = "ProfilerStep#12" },
			Attr{attrkey.StepName, "ProfilerStep#12"}),
		note("warnings", warn(op.WarnOverflow|op.WarnNonFinite),
			Attr{attrkey.Warnings, "overflow,from_the_future,non_finite"}),
	}
}

func failed(description string) Span {
	s := matmul()
	s.Failed = true
	s.Error = description
	return s
}

// outside covers fields from outside the span's attributes.
func outside() []Case {
	resource := func(name string, needs Needs, span Span, resource []Attr, change func(*op.Entry)) Case {
		span.Resource = resource
		return Case{Name: "resource/" + name, Span: span, Needs: needs, Want: entry(change)}
	}
	state := func(state string, count float64) Case {
		s := matmul()
		s.TraceState = state
		return Case{Name: "tracestate/" + state, Span: s, Needs: TraceState,
			Want: entry(func(e *op.Entry) { e.AdjustedCount = count })}
	}
	service := Attr{attrkey.ServiceName, "trainer"}
	rank := func(n int64) func(*op.Entry) { return func(e *op.Entry) { e.Rank = op.Known(n) } }
	dropped := matmul()
	dropped.Dropped = 3
	return []Case{
		resource("rank", 0, matmul(), []Attr{service, {attrkey.Rank, int64(2)}, {attrkey.WorldSize, int64(8)}},
			rank(2)),
		resource("rank as text", 0, matmul(), []Attr{service, {attrkey.Rank, "2"}}, rank(2)),
		resource("negative rank", 0, matmul(), []Attr{service, {attrkey.Rank, int64(-1)}}, func(*op.Entry) {}),
		resource("the span's rank wins", 0, matmul(Attr{attrkey.Rank, int64(5)}),
			[]Attr{service, {attrkey.Rank, int64(2)}}, rank(5)),
		resource("none", NoResource, matmul(), nil, func(e *op.Entry) { e.Service = "" }),
		state("ot=th:8", 2), state("ot=th:c", 4), state("ot=th:0", 1), state("vendor=1,ot=rv:1a;th:8", 2),
		state("ot=th:C", 4),
		state("ot=th:80000000000000", 2), state("ot=th:fff", 4096), state("ot=th:ffffffffffffff", 1<<56),
		state("ot=th:8;rv:1a", 2), state("a=b, ot=th:8 ,c=d", 2),
		state("vendor=1", 0), state("ot=p:8", 0), state("ot=th:123456789abcdef", 0), state("ot=th:xyz", 0),
		state("ot=", 0),
		state("xot=th:8", 0), state("ot=th:", 0), state("ot=th:800000000000000", 0), state("ot=th:-8", 0),
		state("ot=th:+8", 0),
		state("ot=th:0x8", 0), state("ot=th:8_0", 0),
		{Name: "dropped attributes", Span: dropped, Needs: Dropped,
			Want: entry(func(e *op.Entry) { e.DroppedAttributes = 3 },
				warn(op.WarnDroppedAttributes))},
	}
}
