package doctor

import (
	"strings"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// The places of attributes.
const (
	onSpan     = "span attribute"
	onResource = "resource attribute"
	onLink     = "link attribute"
	spanField  = "span field"
)

// Lines of code shared by several checks.
const (
	resourceLine = `res := resource.NewSchemaless(semconv.ServiceName("trainer"), ` +
		`tensorconv.Rank(0), tensorconv.WorldSize(8))`
	linkLine = `mm.Span().AddLink(trace.Link{SpanContext: request, ` +
		`Attributes: []attribute.KeyValue{tensorconv.LinkWeight(128)}})`
)

const numChecks = 19

// property is a property of operations, perhaps missing in a recording.
type property struct {
	name string
	// of names the examined operations, applies selects them.
	of      string
	applies func(e *op.Entry) bool
	// lacks reports whether an operation lacks the property. If it is nil, count fills in the finding.
	lacks func(e *op.Entry) bool
	count func(d *Doctor, f *Finding)
	// effect, figures, code and attributes are the fields of the Advice.
	effect        string
	figures, code []string
	attributes    []Attribute
}

// checks holds the checks in report order. The lines of Go are lines of the program in advice_test.go. The attributes
// together make a span without a missing property.
var checks = [numChecks]property{
	{
		name: "starts", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return !e.Start.Known },
		effect: "Without a start, the time of an operation counts in sums only.",
		figures: names("total.wall_ns, devices[].busy_ns, devices[].idle_ns, devices[].overlap_ns, idle, " +
			"utilisation, concurrency, critical_path, slowest_request, launches, sequences, steps[].wall_ns, " +
			"memory.over_time"),
		code: []string{
			`ctx, mm := tr.Start(ctx, "matmul", "cuda:0") // and mm.End() when it is done`,
			`prep.Record(ctx, optrace.Times{Start: start, End: end}) // or afterwards, in Unix ns`,
		},
		attributes: []Attribute{{spanField, "startTimeUnixNano", "int", int64(1772366400000200000)}},
	},
	{
		name: "ids", of: "operations", applies: all,
		lacks: func(e *op.Entry) bool { return e.TraceID.IsZero() || e.SpanID.IsZero() },
		effect: "Without ids, an operation belongs to no trace: nothing is above or below it, and backends cannot " +
			"find it.",
		figures: names("operations[].self_ns, operations[].exemplar, critical_path, slowest_request"),
		code:    []string{`ctx, mm := tr.Start(ctx, "matmul", "cuda:0") // and mm.End() when it is done`},
		attributes: []Attribute{
			{spanField, "traceId", "hex", "4bf92f3577b34da6a3ce929d0e0e4736"},
			{spanField, "spanId", "hex", "00f067aa0ba902b7"},
		},
	},
	{
		name: "parents", of: "operations", applies: all,
		lacks:  func(e *op.Entry) bool { return e.ParentSpanID.IsZero() },
		effect: "Without a parent, an operation is a trace of its own, outside any request, step or layer.",
		figures: names("operations[].self_ns, critical_path, critical_path_operations, slowest_request, sequences, " +
			"groups"),
		code: []string{
			`ctx, step := tp.Tracer("engine").Start(ctx, "train_step") // or the request's ctx, as it is`,
			`ctx, mm := tr.Start(ctx, "matmul", "cuda:0")              // below the span of ctx`,
		},
		attributes: []Attribute{{spanField, "parentSpanId", "hex", "53995c3f42cd8ad8"}},
	},
	{
		name: "parent_records", of: "operations with a parent", count: func(d *Doctor, f *Finding) {
			f.Count = d.children
			f.Estimated = d.isSample()
			f.Missing = d.absent(f.Count, func(r *references) int64 { return r.children })
		},
		effect: "The parents of these operations are not in the recording. Record with a Processor. If requests " +
			"end long before their operations, call Processor.KeepTrace(ctx), formerly Expect, in the " +
			"request. The parent may also be sampled out, in another file, or unfinished.",
		figures: names("input.orphans, operations[].self_ns, critical_path, critical_path_operations, " +
			"slowest_request"),
		code: []string{
			`proc, err := optrace.NewProcessor(exp) // records the spans above operations with them`,
			`proc.KeepTrace(ctx)                    // in a request that ends long before its operations are recorded`,
			`defer step.End()                       // a span is recorded when it ends`,
		},
		attributes: []Attribute{{spanField, "endTimeUnixNano", "int", int64(1772366400000700000)}},
	},
	{
		name: "devices", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return !e.HasDevice() },
		effect: "Without a device, operations share the device \"unknown\": busy, idle and late devices look " +
			"alike.",
		figures: names("devices, load_balance, idle, utilisation, concurrency, communication.collectives[].waits"),
		code: []string{
			`ctx, mm := tr.Start(ctx, "matmul", "cuda:0") // and mm.End() when it is done`,
			`mm.Device("cuda:0") // where it is known only after the start`,
		},
		attributes: []Attribute{{onSpan, attrkey.Device, "string", "cuda:0"}},
	},
	{
		name: "input_shapes", of: "operations that compute", applies: computes,
		lacks: func(e *op.Entry) bool { return e.InputShapes == nil },
		effect: "Without shapes, FLOPs and moved bytes are unknown, and small and large calls of one operation " +
			"look alike.",
		figures: names("operations[].flops_derived, operations[].moved_bytes, operations[].flops_per_byte, " +
			"operations[].roofline, operations[].mixes, groups"),
		code: []string{`mm.In(64, 784).In(784, 256)`},
		attributes: []Attribute{
			{onSpan, attrkey.InputShapes, "int[][], or string[] such as 64x784", [][]int64{{64, 784}, {784, 256}}},
		},
	},
	{
		name: "output_shapes", of: "operations that compute", applies: computes,
		lacks:  func(e *op.Entry) bool { return e.OutputShape == nil },
		effect: "Without shapes, the number of elements is unknown, and so are sizes and FLOPs.",
		figures: names("operations[].elements, operations[].memory_bytes, operations[].flops_derived, " +
			"operations[].moved_bytes, operations[].mixes, groups"),
		code:       []string{`mm.Out(64, 256)`},
		attributes: []Attribute{{onSpan, attrkey.OutputShape, "int[]", []int64{64, 256}}},
	},
	{
		name: "dtypes", of: "operations that compute", applies: computes,
		lacks:  func(e *op.Entry) bool { return e.DType == "" },
		effect: "Without a type, an element counts 8 bytes, and no peak of a device applies.",
		figures: names("operations[].memory_bytes, operations[].moved_bytes, operations[].flops_per_byte, " +
			"operations[].roofline, operations[].mixes, memory.hotspots"),
		code:       []string{`mm.DType(op.F32)`},
		attributes: []Attribute{{onSpan, attrkey.DType, "string", "f32"}},
	},
	{
		name: "memory", of: "operations that compute, communicate or move data", applies: hasMemory,
		lacks: func(e *op.Entry) bool { return !e.MemoryBytes.Known },
		effect: "Without a size, memory and the rates of copies are unknown. Shape and type of the output give " +
			"the size, or the engine states it.",
		figures: names("operations[].memory_bytes, memory.hotspots, memory.copies[].bytes_per_second, " +
			"memory.over_time, communication.collectives[].bus_bytes_per_second"),
		code:       []string{`mm.Attrs(tensorconv.MemorySize(65536))`},
		attributes: []Attribute{{onSpan, attrkey.Memory, "int, bytes", int64(65536)}},
	},
	{
		name: "flops", of: "operations that compute", applies: computes,
		lacks:  func(e *op.Entry) bool { return !e.FLOPs.Known && !flops.Of(e).FLOPs.Known },
		effect: "The FLOPs are unknown: no formula has the operation's name, or shapes are missing.",
		figures: names("operations[].flops, operations[].flops_per_second, operations[].flops_per_byte, " +
			"operations[].roofline"),
		code:       []string{`mm.FLOPs(2 * 64 * 784 * 256)`},
		attributes: []Attribute{{onSpan, attrkey.FLOPs, "int", int64(25690112)}},
	},
	{
		name: "streams", of: "operations on accelerators", applies: onAccelerator,
		lacks: func(e *op.Entry) bool { return !e.Stream.Known },
		effect: "Without a stream, the order of operations on a device is unknown: all or none may wait for each " +
			"other.",
		figures: names("critical_path[].drag_ns, critical_path_totals.edges.stream, launches.streams, sequences, " +
			"input.suspect_durations"),
		code:       []string{`mm.Stream(7)`},
		attributes: []Attribute{{onSpan, attrkey.Stream, "int", int64(7)}},
	},
	{
		name: "launch_times", of: "operations on accelerators", applies: onAccelerator,
		lacks:   func(e *op.Entry) bool { return !e.Launch.Known },
		effect:  "Without launch times, the cause of idle time is unknown: a late launch looks like a slow queue.",
		figures: names("launches, idle[].cause, idle_causes, slowest_request.causes"),
		code: []string{
			`mm.Attrs(tensorconv.LaunchTime(launched)) // in Unix ns`,
			`prep.Record(ctx, optrace.Times{Start: start, End: end, Launch: launch}) // in Unix ns`,
		},
		attributes: []Attribute{{onSpan, attrkey.Launch, "int, Unix ns", int64(1772366400000100000)}},
	},
	{
		name: "steps", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return !e.Step.Known },
		effect:     "Without a step, there are no figures by step, and runs cannot be compared by steps.",
		figures:    names("steps, stated_steps, groups"),
		code:       []string{`ctx = optrace.ContextWithStep(ctx, 12)`},
		attributes: []Attribute{{onSpan, attrkey.Step, "int", int64(12)}},
	},
	{
		name: "services", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return e.Service == "" },
		effect: "Without a service, devices of several programs share a row if their names are equal, and only " +
			"names tell requests apart.",
		figures:    names("devices[].service, slowest_request.service, steps[].service, groups"),
		code:       []string{resourceLine},
		attributes: []Attribute{{onResource, attrkey.ServiceName, "string", "trainer"}},
	},
	{
		name: "ranks", of: "operations that communicate", applies: communicates,
		lacks:  func(e *op.Entry) bool { return !e.Rank.Known },
		effect: "Without a rank, the cuda:0 of all ranks is one device, and a late rank has no number.",
		figures: names("devices[].rank, load_balance, communication.collectives[].stragglers, " +
			"communication.collectives[].waits"),
		code: []string{resourceLine},
		attributes: []Attribute{
			{onResource, attrkey.Rank, "int", int64(0)}, {onResource, attrkey.WorldSize, "int", int64(8)},
		},
	},
	{
		name: "groups", of: "operations that communicate", applies: communicates,
		lacks:  func(e *op.Entry) bool { return e.Collective == nil || e.Collective.Group == "" },
		effect: "Without a group, collectives of one name in different process groups count as one.",
		figures: names("communication.collectives[].group, communication.collectives[].transfer_ns, " +
			"communication.collectives[].wait_ns"),
		code: []string{
			`ar.Attrs(tensorconv.CollectiveName("all_reduce"), tensorconv.CollectiveGroupName("data_parallel"))`,
		},
		attributes: []Attribute{
			{onSpan, attrkey.Collective, "string", "all_reduce"}, {onSpan, attrkey.Group, "string", "data_parallel"},
		},
	},
	{
		name: "sequence_numbers", of: "operations that communicate", applies: communicates,
		lacks: func(e *op.Entry) bool { return e.Collective == nil || !e.Collective.Sequence.Known },
		effect: "Without a number, the k-th collectives of all devices count as one. After a lost record, all " +
			"later ones are matched wrongly.",
		figures: names("communication.collectives[].inferred, communication.collectives[].transfer_ns, " +
			"communication.collectives[].wait_ns, communication.collectives[].stragglers, " +
			"critical_path_totals.edges.collective"),
		code:       []string{`ar.Attrs(tensorconv.CollectiveSequence(42))`},
		attributes: []Attribute{{onSpan, attrkey.Sequence, "int", int64(42)}},
	},
	{
		name: "linked_spans", of: "links", count: func(d *Doctor, f *Finding) {
			f.Count = d.links
			f.Estimated = d.isSample()
			f.Missing = d.absent(f.Count, func(r *references) int64 { return r.links })
		},
		effect: "Links state the requests of an execution. The part of a missing request counts for none.",
		figures: names("input.missing_links, critical_path_totals.edges.links, slowest_request, " +
			"correlate requests[].shared_ns"),
		code: []string{linkLine},
		attributes: []Attribute{
			{spanField, "links[].traceId", "hex", "4bf92f3577b34da6a3ce929d0e0e4736"},
			{spanField, "links[].spanId", "hex", "53995c3f42cd8ad8"},
		},
	},
	{
		name: "link_weights", of: "links", count: func(d *Doctor, f *Finding) {
			f.Count = d.links
			f.Missing = d.links - d.weights
		},
		effect: "Without a weight, the time of a shared execution is divided equally among its requests, small or " +
			"large.",
		figures:    names("correlate requests[].shared_ns"),
		code:       []string{linkLine},
		attributes: []Attribute{{onLink, attrkey.LinkWeight, "int, such as tokens or rows", int64(128)}},
	},
}

// names returns the names in a list separated by commas.
func names(list string) []string { return strings.Split(list, ", ") }

func all(*op.Entry) bool { return true }

func computes(e *op.Entry) bool {
	return (e.Kind == op.KindCompute || e.Kind == op.KindUnknown) && e.Side != op.SideHost
}

func communicates(e *op.Entry) bool { return e.Kind == op.KindCollective && e.Side != op.SideHost }

func hasMemory(e *op.Entry) bool {
	return e.Kind != op.KindControl && e.Kind != op.KindIO && e.Side != op.SideHost
}

// onAccelerator reports whether an operation ran on a named device other than the host's processor.
func onAccelerator(e *op.Entry) bool {
	device := strings.ToLower(e.DeviceID)
	return device != "" && e.Side != op.SideHost && !strings.HasPrefix(device, "cpu") &&
		!strings.HasPrefix(device, "host")
}
