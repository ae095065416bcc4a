package analyze

import (
	"sort"

	"github.com/optrace/optrace/analyze/internal/wide"
)

// LaunchPath is the critical path of a run across the host and the devices behind it:
// from the end of the operation that ended last back through what each operation waited
// for. What it is bound by and the two times beside add up to its duration.
type LaunchPath struct {
	StartNS    int64 `json:"start_unix_ns"`
	DurationNS int64 `json:"duration_ns"`
	// BoundBy divides the time of operations; HostNS is the time that the host took from
	// the end of an operation to the next launch, IdleNS the time of which nothing is
	// known.
	BoundBy BoundBy `json:"bound_by"`
	// LaunchNS is the time from a launch to the start, QueueNS that between the
	// operation waited for and the start.
	LaunchNS int64 `json:"launch_ns"`
	QueueNS  int64 `json:"queue_ns"`
	// Edges counts the steps of the path by what the operation had waited for.
	Edges LaunchEdges `json:"edges"`
}

// LaunchEdges counts the steps of a [LaunchPath].
type LaunchEdges struct {
	// Launch: its launch. The path goes on with the operation that ended last before
	// the launch, on any stream.
	Launch int64 `json:"launch"`
	// Stream: the operation before it on its stream.
	Stream int64 `json:"stream"`
	// Dependency: an operation on another stream of the device.
	Dependency int64 `json:"dependency"`
}

// launchWalk walks along the path.
type launchWalk struct {
	*launched
	classes            [numClasses]wide.Sum
	host, idle         wide.Sum
	overhead, queueing wide.Sum
	edges              LaunchEdges
}

// path returns the critical path. Every step leads to an operation that stands before
// in the order of ends, so that it takes no more steps than there are operations.
func (l *launched) path() *LaunchPath {
	w := launchWalk{launched: l}
	f := l.f
	place := int32(len(l.order) - 1)
	end := f.end(l.order[place])
	at := end // what lies behind is settled
	for place != noRow {
		r := l.order[place]
		at = min(at, f.end(r))
		start := min(at, f.start(r))
		w.classes[classOf(f.kind(r))].Add(at - start)
		at = start
		place, at = w.step(place, at)
	}
	return &LaunchPath{
		StartNS: at, DurationNS: end - at, LaunchNS: w.overhead.Int64(), QueueNS: w.queueing.Int64(), Edges: w.edges,
		BoundBy: BoundBy{
			ComputeNS: w.classes[classCompute].Int64(), CommunicationNS: w.classes[classCommunication].Int64(),
			MemoryNS: w.classes[classMemory].Int64(), OtherNS: w.classes[classOther].Int64(), HostNS: w.host.Int64(), IdleNS: w.idle.Int64(),
		},
	}
}

// step returns the place with which the path goes on before the operation at a place,
// noRow at its beginning, and up to when the time in between is settled. at is the
// operation's start, or when the path came in if that was before.
func (w *launchWalk) step(place int32, at int64) (next int32, settled int64) {
	f, r := w.f, w.order[place]
	before := w.before[place]
	free := int64(-maxTime) // when its stream was
	if before != noRow {
		free = min(at, f.end(w.order[before]))
	}
	launch, known := int64(-maxTime), f.has(r, flagLaunch)
	if known {
		launch = min(at, f.launch(r))
	}
	if other := w.dependency(r, max(free, launch)); other != noRow && f.end(w.order[other]) <= at {
		w.edges.Dependency++
		w.queueing.Add(at - f.end(w.order[other]))
		return other, f.end(w.order[other])
	}
	if before != noRow && free >= launch {
		w.edges.Stream++
		w.queueing.Add(at - free)
		return before, free
	}
	between := &w.idle
	if known {
		w.edges.Launch++
		w.overhead.Add(at - launch)
		at, between = launch, &w.host
	}
	last := int32(sort.Search(int(place), func(i int) bool { return f.end(w.order[i]) > at })) - 1
	if last < 0 {
		return noRow, at
	}
	between.Add(at - f.end(w.order[last]))
	return last, f.end(w.order[last])
}
