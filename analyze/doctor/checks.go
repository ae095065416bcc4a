package doctor

import (
	"strings"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/op"
)

// numChecks is how many things a recording may lack.
const numChecks = 19

// check says how one thing is looked for that a recording may lack, and what can be said of it.
type check struct {
	name string
	// of says which operations are looked at, and applies reports whether one is.
	of      string
	applies func(e *op.Entry) bool
	// lacks reports whether an operation lacks the thing; nil where that is not a question
	// about single operations. Then count fills in the counts of the finding.
	lacks  func(e *op.Entry) bool
	count  func(d *Doctor, f *Finding)
	advice Advice
}

// checks holds the checks in the order of the report.
var checks = [numChecks]check{
	{
		name: "starts", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return !e.Start.Known },
		advice: startsAdvice,
	},
	{
		name: "ids", of: "operations", applies: all, advice: idsAdvice,
		lacks: func(e *op.Entry) bool { return e.TraceID.IsZero() || e.SpanID.IsZero() },
	},
	{
		name: "parents", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return e.ParentSpanID.IsZero() },
		advice: parentsAdvice,
	},
	{
		name: "parent_records", of: "operations with a parent", advice: orphansAdvice, count: func(d *Doctor, f *Finding) {
			f.Count, f.Estimated = d.children, d.isSample()
			f.Missing = d.absent(f.Count, func(r *references) int64 { return r.children })
		},
	},
	{
		name: "devices", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return !e.HasDevice() }, advice: devicesAdvice,
	},
	{
		name: "input_shapes", of: "operations that compute", applies: computes,
		lacks: func(e *op.Entry) bool { return e.InputShapes == nil }, advice: inputShapesAdvice,
	},
	{
		name: "output_shapes", of: "operations that compute", applies: computes,
		lacks: func(e *op.Entry) bool { return e.OutputShape == nil }, advice: outputShapesAdvice,
	},
	{
		name: "dtypes", of: "operations that compute", applies: computes, lacks: func(e *op.Entry) bool { return e.DType == "" },
		advice: dtypesAdvice,
	},
	{
		name: "memory", of: "operations that compute, communicate or move data", applies: hasMemory,
		lacks: func(e *op.Entry) bool { return !e.MemoryBytes.Known }, advice: memoryAdvice,
	},
	{
		name: "flops", of: "operations that compute", applies: computes,
		lacks: func(e *op.Entry) bool { return !e.FLOPs.Known && !flops.Of(e).FLOPs.Known }, advice: flopsAdvice,
	},
	{
		name: "streams", of: "operations on accelerators", applies: onAccelerator,
		lacks: func(e *op.Entry) bool { return !e.Stream.Known }, advice: streamsAdvice,
	},
	{
		name: "launch_times", of: "operations on accelerators", applies: onAccelerator,
		lacks: func(e *op.Entry) bool { return !e.Launch.Known }, advice: launchesAdvice,
	},
	{
		name: "steps", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return !e.Step.Known }, advice: stepsAdvice,
	},
	{
		name: "services", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return e.Service == "" },
		advice: servicesAdvice,
	},
	{
		name: "ranks", of: "operations that communicate", applies: communicates,
		lacks: func(e *op.Entry) bool { return !e.Rank.Known }, advice: ranksAdvice,
	},
	{
		name: "groups", of: "operations that communicate", applies: communicates,
		lacks: func(e *op.Entry) bool { return e.Collective == nil || e.Collective.Group == "" }, advice: groupsAdvice,
	},
	{
		name: "sequence_numbers", of: "operations that communicate", applies: communicates,
		lacks: func(e *op.Entry) bool { return e.Collective == nil || !e.Collective.Sequence.Known }, advice: sequencesAdvice,
	},
	{name: "linked_spans", of: "links", advice: linksAdvice, count: func(d *Doctor, f *Finding) {
		f.Count, f.Estimated = d.links, d.isSample()
		f.Missing = d.absent(f.Count, func(r *references) int64 { return r.links })
	}},
	{name: "link_weights", of: "links", advice: weightsAdvice, count: func(d *Doctor, f *Finding) {
		f.Count, f.Missing = d.links, d.links-d.weights
	}},
}

func all(*op.Entry) bool { return true }

func computes(e *op.Entry) bool {
	return (e.Kind == op.KindCompute || e.Kind == op.KindUnknown) && e.Side != op.SideHost
}

func communicates(e *op.Entry) bool { return e.Kind == op.KindCollective && e.Side != op.SideHost }

func hasMemory(e *op.Entry) bool {
	return e.Kind != op.KindControl && e.Kind != op.KindIO && e.Side != op.SideHost
}

// onAccelerator reports whether an operation ran on a device that has streams: one that is
// named, and not the host's processor.
func onAccelerator(e *op.Entry) bool {
	device := e.DeviceID
	return device != "" && e.Side != op.SideHost && !startsWith(device, "cpu") && !startsWith(device, "host")
}

// startsWith reports whether s starts with an ASCII prefix in either case.
func startsWith(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
