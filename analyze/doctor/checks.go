package doctor

import (
	"strings"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/op"
)

// check is one thing that a recording may lack.
type check int

const (
	checkStarts check = iota
	checkIDs
	checkParents
	checkOrphans
	checkDevices
	checkInputShapes
	checkOutputShapes
	checkDTypes
	checkMemory
	checkFLOPs
	checkStreams
	checkLaunches
	checkSteps
	checkServices
	checkRanks
	checkGroups
	checkSequences
	checkLinks
	checkWeights

	numChecks
)

// checkSpec says how a thing is looked for and what can be said of it.
type checkSpec struct {
	name string
	// of says which operations are looked at, and applies reports whether one is.
	of      string
	applies func(e *op.Entry) bool
	// lacks reports whether an operation lacks the thing; nil where that is not a question
	// about single operations.
	lacks  func(e *op.Entry) bool
	advice Advice
}

// checks holds the checks in the order of the report.
var checks = [numChecks]checkSpec{
	checkStarts: {
		name: "starts", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return !e.Start.Known },
		advice: startsAdvice,
	},
	checkIDs: {
		name: "ids", of: "operations", applies: all, advice: idsAdvice,
		lacks: func(e *op.Entry) bool { return e.TraceID.IsZero() || e.SpanID.IsZero() },
	},
	checkParents: {
		name: "parents", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return e.ParentSpanID.IsZero() },
		advice: parentsAdvice,
	},
	checkOrphans: {name: "parent_records", of: "operations with a parent", advice: orphansAdvice},
	checkDevices: {
		name: "devices", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return !e.HasDevice() }, advice: devicesAdvice,
	},
	checkInputShapes: {
		name: "input_shapes", of: "operations that compute", applies: computes,
		lacks: func(e *op.Entry) bool { return e.InputShapes == nil }, advice: inputShapesAdvice,
	},
	checkOutputShapes: {
		name: "output_shapes", of: "operations that compute", applies: computes,
		lacks: func(e *op.Entry) bool { return e.OutputShape == nil }, advice: outputShapesAdvice,
	},
	checkDTypes: {
		name: "dtypes", of: "operations that compute", applies: computes, lacks: func(e *op.Entry) bool { return e.DType == "" },
		advice: dtypesAdvice,
	},
	checkMemory: {
		name: "memory", of: "operations that compute, communicate or move data", applies: hasMemory,
		lacks: func(e *op.Entry) bool { return !e.MemoryBytes.Known }, advice: memoryAdvice,
	},
	checkFLOPs: {
		name: "flops", of: "operations that compute", applies: computes,
		lacks: func(e *op.Entry) bool { return !e.FLOPs.Known && !flops.Of(e).FLOPs.Known }, advice: flopsAdvice,
	},
	checkStreams: {
		name: "streams", of: "operations on accelerators", applies: onAccelerator,
		lacks: func(e *op.Entry) bool { return !e.Stream.Known }, advice: streamsAdvice,
	},
	checkLaunches: {
		name: "launch_times", of: "operations on accelerators", applies: onAccelerator,
		lacks: func(e *op.Entry) bool { return !e.Launch.Known }, advice: launchesAdvice,
	},
	checkSteps: {
		name: "steps", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return !e.Step.Known }, advice: stepsAdvice,
	},
	checkServices: {
		name: "services", of: "operations", applies: all, lacks: func(e *op.Entry) bool { return e.Service == "" },
		advice: servicesAdvice,
	},
	checkRanks: {
		name: "ranks", of: "operations that communicate", applies: communicates,
		lacks: func(e *op.Entry) bool { return !e.Rank.Known }, advice: ranksAdvice,
	},
	checkGroups: {
		name: "groups", of: "operations that communicate", applies: communicates,
		lacks: func(e *op.Entry) bool { return e.Collective == nil || e.Collective.Group == "" }, advice: groupsAdvice,
	},
	checkSequences: {
		name: "sequence_numbers", of: "operations that communicate", applies: communicates,
		lacks: func(e *op.Entry) bool { return e.Collective == nil || !e.Collective.Sequence.Known }, advice: sequencesAdvice,
	},
	checkLinks:   {name: "linked_spans", of: "links", advice: linksAdvice},
	checkWeights: {name: "link_weights", of: "links", advice: weightsAdvice},
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
