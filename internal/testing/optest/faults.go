package optest

import (
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// torchOp is a span of torch.profiler.
func torchOp() Case {
	s := span(
		Attr{"pytorch.input_shapes", "[[64, 784], [784, 256], []]"},
		Attr{"pytorch.input_dtypes", "['float', 'float', 'Scalar']"},
		Attr{"pytorch.device.type", "CUDA"},
		Attr{"pytorch.device.index", int64(1)},
		Attr{"pytorch.cpu_memory_usage_bytes", int64(0)},
		Attr{"pytorch.device_memory_usage_bytes", int64(65536)},
		Attr{"pytorch.flops", 25690112.0},
	)
	s.Name = "aten::addmm"
	return Case{Name: "torch/whole", Span: s, Want: entry(
		inputs(op.Shape{64, 784}, op.Shape{784, 256}, op.Shape{}),
		func(e *op.Entry) {
			e.Operation = "aten::addmm"
			e.DeviceID = "cuda:1"
			e.InputDTypes = []op.DType{op.F32, op.F32, "Scalar"}
			e.MemoryBytes = op.Known(65536)
			e.FLOPs = op.Known(25690112)
		})}
}

// precedence covers several keys for one field, in each order: the convention wins over torch's keys, and
// torch's keys win over bare ones.
func precedence() []Case {
	both := func(name string, a, b Attr, changes ...func(*op.Entry)) []Case {
		return []Case{
			{Name: "precedence/" + name, Span: matmul(a, b), Want: entry(changes...)},
			{Name: "precedence/" + name + ", backwards", Span: matmul(b, a), Want: entry(changes...)},
		}
	}
	torch := func(name string, change func(*op.Entry), attrs ...Attr) Case {
		return Case{Name: "torch/" + name, Span: matmul(attrs...), Want: entry(change)}
	}
	device := func(id string) func(*op.Entry) { return func(e *op.Entry) { e.DeviceID = id } }
	cases := []Case{
		torchOp(),
		torch("host device", device("cpu"), Attr{"pytorch.device.type", "cpu"},
			Attr{"pytorch.device.index", int64(-1)}),
		torch("device without index", device("xpu"), Attr{"pytorch.device.type", "xpu"}),
		torch("device of the convention wins", device("cuda:7"), Attr{"pytorch.device.type", "cuda"},
			Attr{"pytorch.device.index", int64(1)},
			Attr{attrkey.Device, "cuda:7"}),
		torch("host memory", memory(64), Attr{"pytorch.cpu_memory_usage_bytes", int64(64)},
			Attr{"pytorch.device_memory_usage_bytes", int64(0)}),
		torch("memory of the convention wins", memory(32), Attr{attrkey.Memory, int64(32)},
			Attr{"pytorch.device_memory_usage_bytes", int64(64)}),
		{Name: "memory/explicit differs from computed", Span: matmul(Attr{attrkey.OutputShape, []int64{4}},
			Attr{attrkey.Memory, int64(100)}),
			Want: entry(output(4, 4), memory(100))},
		{Name: "duplicates/last wins", Needs: Duplicates, Span: matmul(Attr{attrkey.Step, int64(1)},
			Attr{attrkey.Step, int64(2)}),
			Want: entry(func(e *op.Entry) { e.Step = op.Known(2) })},
		{Name: "duplicates/shapes", Needs: Duplicates, Span: matmul(Attr{attrkey.InputShapes, "2x3"},
			Attr{attrkey.InputShapes, []int64{4}}),
			Want: entry(inputs(op.Shape{4}))},
	}
	cases = append(cases, both("name", Attr{attrkey.Name, "matmul"}, Attr{"operation", "other"})...)
	cases = append(cases, both("device", Attr{attrkey.Device, "cuda:0"}, Attr{"device", "cpu"}, device("cuda:0"))...)
	cases = append(cases, both("dtypes", Attr{attrkey.InputDTypes, []string{"f32"}},
		Attr{"pytorch.input_dtypes", "['int']"},
		func(e *op.Entry) { e.InputDTypes = []op.DType{op.F32} })...)
	cases = append(cases, both("dtypes in lists", Attr{attrkey.InputDTypes, []string{"f32"}},
		Attr{"pytorch.input_dtypes", []string{"int"}},
		func(e *op.Entry) { e.InputDTypes = []op.DType{op.F32} })...)
	cases = append(cases, both("torch over bare", Attr{"pytorch.input_shapes", "[[2,3]]"},
		Attr{"input_shapes", "[[4]]"},
		inputs(op.Shape{2, 3}))...)
	cases = append(cases, both("list over indexed", Attr{attrkey.InputShapes, "[[2,3]]"},
		Attr{attrkey.InputShape(0), "4"}, inputs(op.Shape{2, 3}))...)
	cases = append(cases, both("indexed over bare", Attr{attrkey.InputShape(0), "4"},
		Attr{"input_shapes", "[[2,3],[1]]"},
		inputs(op.Shape{4}))...)
	cases = append(cases, both("bad yields to good", Attr{attrkey.Device, true}, Attr{"device", "cpu"}, device("cpu"),
		warn(op.WarnBadValue))...)
	return cases
}

// faults covers rows A8, B1 to B4, C6 and G4 of docs/faults.md.
func faults() []Case {
	badMemory := func(name string, value any, needs Needs) Case {
		return Case{
			Name: "memory/" + name, Needs: needs, Span: matmul(Attr{attrkey.OutputShape, []int64{4}},
				Attr{attrkey.Memory, value}),
			Want: entry(output(4, 4), func(e *op.Entry) { e.MemoryBytes = op.Int{} }, warn(op.WarnBadMemory)),
		}
	}
	timed := func(name string, needs Needs, start, end int64, change func(*op.Entry)) Case {
		s := matmul()
		s.Start = start
		s.End = end
		return Case{Name: "time/" + name, Needs: needs, Span: s, Want: entry(change)}
	}
	lasting := func(ns int64) func(*op.Entry) { return func(e *op.Entry) { e.Duration = ns } }
	noIDs := matmul()
	noIDs.TraceID = op.TraceID{}
	noIDs.SpanID = op.SpanID{}
	noIDs.ParentSpanID = op.SpanID{}
	root := matmul()
	root.ParentSpanID = op.SpanID{}
	return []Case{
		badMemory("negative", int64(-1), 0), badMemory("fraction", 1.5, 0), badMemory("beyond int64", 1e19, 0),
		badMemory("words", "lots", 0), badMemory("bool", true, 0), badMemory("NaN", nan(), NonFinite),
		{Name: "memory/as text", Span: matmul(Attr{attrkey.Memory, "4096"}), Want: entry(memory(4096))},

		timed("zero duration", 0, start, start, lasting(0)),
		timed("below a microsecond", Nanoseconds, start+1, start+601,
			func(e *op.Entry) { e.Start, e.Duration = op.Known(start+1), 600 }),
		timed("end before start", EndBeforeStart, start, start-5_000_000_000, func(e *op.Entry) {
			e.Duration = 0
			e.Warn = op.WarnNegativeDuration
		}),
		timed("no start", NoTime, 0, 0,
			func(e *op.Entry) { e.Start, e.Duration, e.Warn = op.Int{}, 0, op.WarnBadTime }),

		{Name: "ids/none", Needs: NoIDs, Span: noIDs, Want: entry(func(e *op.Entry) {
			e.TraceID = op.TraceID{}
			e.SpanID = op.SpanID{}
			e.ParentSpanID = op.SpanID{}
		}, warn(op.WarnBadID))},
		{Name: "ids/root", Span: root, Want: entry(func(e *op.Entry) { e.ParentSpanID = op.SpanID{} })},
		{Name: "text/invalid UTF-8", Needs: InvalidUTF8, Span: matmul(Attr{attrkey.Path, "a\xffb"}),
			Want: entry(func(e *op.Entry) { e.Path = "a\ufffdb" }, warn(op.WarnInvalidUTF8))},
		{Name: "text/control characters", Span: matmul(Attr{attrkey.Path, "a\x00\n\x1b[31m"}),
			Want: entry(func(e *op.Entry) { e.Path = "a\x00\n\x1b[31m" })},
	}
}
