package optest

import (
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// kinds covers the classification of operations.
func kinds() []Case {
	named := func(name string, kind op.Kind, rule op.KindRule, attrs ...Attr) Case {
		return Case{
			Name: "kind/" + name, Span: span(append([]Attr{{attrkey.Name, name}}, attrs...)...),
			Want: entry(func(e *op.Entry) { e.Operation, e.Kind, e.KindRule = name, kind, rule }),
		}
	}
	explicit := func(value string, kind op.Kind) Case {
		c := named("allreduce", kind, op.RuleAttribute, Attr{attrkey.Kind, value})
		c.Name = "kind/explicit " + value
		return c
	}
	collective := func(name string, attrs []Attr, want op.Collective) Case {
		return Case{Name: "collective/" + name, Span: matmul(attrs...), Want: entry(func(e *op.Entry) {
			e.Kind = op.KindCollective
			e.KindRule = op.RuleAttribute
			e.Collective = &want
		})}
	}
	final := named("matmul", op.KindCompute, op.RuleAttribute, Attr{attrkey.Kind, "compute"},
		Attr{attrkey.Collective, "all_reduce"})
	final.Name = "collective/explicit kind is final"
	final.Want.Collective = &op.Collective{Name: "all_reduce"}
	unknown := named("allreduce", op.KindCollective, op.RuleName, Attr{attrkey.Kind, "dance"})
	unknown.Name = "kind/explicit unknown"
	unknown.Want.Warn = op.WarnBadValue
	return []Case{
		named("matmul", op.KindCompute, op.RuleDefault),
		named("ncclDevKernel_AllReduce_Sum_f32_RING_LL", op.KindCollective, op.RuleLibrary),
		named("AllReduce", op.KindCollective, op.RuleName),
		named("c10d::_all_gather_base_", op.KindCollective, op.RuleName),
		named("Memcpy HtoD (Pageable -> Device)", op.KindMemory, op.RuleName),
		named("Memset (Device)", op.KindMemory, op.RuleName),
		explicit("compute", op.KindCompute), explicit("memory", op.KindMemory), explicit("io", op.KindIO),
		explicit("control", op.KindControl), explicit("collective", op.KindCollective),
		explicit("Compute", op.KindCompute),
		unknown,
		collective("whole", []Attr{
			{attrkey.Collective, "all_reduce"},
			{attrkey.Group, "dp"},
			{attrkey.GroupSize, int64(8)},
			{attrkey.Sequence, int64(42)},
			{attrkey.PeerRank, int64(1)},
			{attrkey.InElements, int64(100)},
			{attrkey.OutElements, 100.0},
		}, op.Collective{
			Name: "all_reduce", Group: "dp", GroupSize: op.Known(8), Sequence: op.Known(42), PeerRank: op.Known(1),
			InElements: op.Known(100), OutElements: op.Known(100),
		}),
		collective("group as int", []Attr{{attrkey.Group, int64(0)}}, op.Collective{Group: "0"}),
		final,
	}
}

// predicates covers the choice of spans that are operations.
func predicates() []Case {
	no := func(name string, attrs ...Attr) Case { return Case{Name: "no op/" + name, Span: span(attrs...)} }
	operation := func(name string) func(*op.Entry) { return func(e *op.Entry) { e.Operation = name } }
	return []Case{
		no("nothing"),
		no("other attributes", Attr{"http.route", "/v1"}),
		no("device and shape", Attr{attrkey.Device, "cuda:0"}, Attr{attrkey.OutputShape, []int64{2}}),
		no("bare name", Attr{"op", "matmul"}),
		no("bare shape", Attr{"output_shape", "2x3"}),
		{Name: "no op/map", Needs: NestedLists, Span: span(Attr{"m", Map{{attrkey.Name, "matmul"}}})},
		{Name: "op/bare name and bare shape", Span: span(Attr{"operation", "matmul"},
			Attr{"output_shape", []int64{2, 3}}),
			Want: entry(output(6, 2, 3))},
		{Name: "op/bare name and shape", Span: span(Attr{attrkey.InputShape(0), []int64{2}}, Attr{"op", "matmul"}),
			Want: entry(inputs(op.Shape{2}))},
		{Name: "op/bare name and bad shape", Span: span(Attr{"op", "matmul"}, Attr{"input_shapes", true}),
			Want: entry(warn(op.WarnBadShape))},
		{Name: "op/any torch key", Span: span(Attr{"pytorch.whatever", "x"}), Want: entry(operation("span name"))},
		{Name: "op/empty name", Span: span(Attr{attrkey.Name, ""}), Want: entry(operation("span name"))},
		{Name: "op/name of a wrong type", Span: span(Attr{attrkey.Name, int64(1)}),
			Want: entry(operation("span name"), warn(op.WarnBadValue))},
	}
}
