package launch

import (
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
)

// Path is the critical path of a run across host and devices: from the end of the last operation back through the
// reasons for each wait. BoundBy, LaunchNS and QueueNS add up to DurationNS.
type Path struct {
	StartNS    int64 `json:"start_unix_ns"`
	DurationNS int64 `json:"duration_ns"`
	// BoundBy divides operations' time. HostNS is time until the end of launching calls, IdleNS unexplained.
	BoundBy path.BoundBy `json:"bound_by"`
	// LaunchNS is time from a launching call to the start, QueueNS from an awaited operation to the start.
	LaunchNS int64 `json:"launch_ns"`
	QueueNS  int64 `json:"queue_ns"`
	// Edges counts the steps of the path by reason.
	Edges Edges `json:"edges"`
}

// Edges counts the steps of a [Path].
type Edges struct {
	// Launch: its launch. The path continues with the last operation to end before, on any stream.
	Launch int64 `json:"launch"`
	// Stream: the operation before it on its stream.
	Stream int64 `json:"stream"`
	// Dependency: an operation on another stream of the device.
	Dependency int64 `json:"dependency"`
}

type launchWalk struct {
	*launched
	classes                        [timeline.NumClasses]wide.Sum
	host, idle, overhead, queueing wide.Sum
	edges                          Edges
}

// path returns the critical path. Every step leads to an earlier operation in the order of ends.
func (l *launched) path() *Path {
	w := launchWalk{launched: l}
	f := l.f
	place := int32(len(l.order) - 1)
	end := f.End(l.order[place])
	at := end // the path is settled from here on
	for place != trace.NoRow {
		r := l.order[place]
		at = min(at, f.End(r))
		start := min(at, f.Start(r))
		w.classes[timeline.ClassOf(f.Kind(r))].Add(at - start)
		at = start
		place, at = w.step(place, at)
	}
	return &Path{
		StartNS: at, DurationNS: end - at, LaunchNS: w.overhead.Int64(), QueueNS: w.queueing.Int64(), Edges: w.edges,
		BoundBy: path.BoundByOf(&w.classes, w.host, w.idle),
	}
}

// step returns the place of the operation before the one at place on the path, trace.NoRow at the beginning, and the
// time from which the path is settled. at is the operation's start, or the earlier time at which the path came in.
func (w *launchWalk) step(place int32, at int64) (next int32, settled int64) {
	f := w.f
	r := w.order[place]
	before := w.before[place]
	free := int64(-trace.MaxTime) // when its stream became free
	if before != trace.NoRow {
		free = min(at, f.End(w.order[before]))
	}
	launch := int64(-trace.MaxTime)
	launched := launch
	known := f.Has(r, trace.FlagLaunch)
	if known {
		launch = min(at, f.Launch(r))
		launched = min(at, f.Launched(r))
	}
	if other := w.dependency(r, max(free, launched)); other != trace.NoRow && f.End(w.order[other]) <= at {
		w.edges.Dependency++
		w.queueing.Add(at - f.End(w.order[other]))
		return other, f.End(w.order[other])
	}
	if before != trace.NoRow && free >= launched {
		w.edges.Stream++
		w.queueing.Add(at - free)
		return before, free
	}
	between := &w.idle
	if known {
		w.edges.Launch++
		w.overhead.Add(at - launched)
		w.host.Add(launched - launch)
		at = launch
		between = &w.host
	}
	last := int32(lastEnded(int(place), func(i int) bool { return f.End(w.order[i]) <= at }))
	if last < 0 {
		return trace.NoRow, at
	}
	between.Add(at - f.End(w.order[last]))
	return last, f.End(w.order[last])
}
