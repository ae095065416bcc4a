// Package waits finds long times between the launch of operations and their starts.
package waits

import (
	"slices"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

const long = 100_000 // ns

// Long returns a wait of an operation, 0 for a short one. A kernel waits from the end of its launching call on. A call that
// launches a copy may wait for the device.
func Long(f *trace.Forest, r int32, ns int64) int64 {
	if f.Kind(r) == op.KindCompute {
		ns = min(ns, f.Start(r)-f.Launched(r))
	}
	if ns <= long {
		return 0
	}
	return ns
}

// Share returns the long times of launched operations behind their launch and the operation before on the stream, as a
// share of the time of devices. It is 1 if one starts before its launch.
func Share(f *trace.Forest) float64 {
	sum := int64(0)
	before := slices.Repeat([]int64{-trace.MaxTime}, f.Devices.NumStreams())
	for _, rows := range f.Devices.All() {
		for _, r := range rows {
			ready := &before[f.DeviceStreamOf(r)]
			start := f.Start(r)
			if f.Has(r, trace.FlagLaunch) {
				from := int64(-trace.MaxTime)
				for _, at := range [...]int64{*ready, f.Launch(r)} {
					if at <= start {
						from = max(from, at)
					}
				}
				if from == -trace.MaxTime {
					return 1
				}
				sum += Long(f, r, start-from)
			}
			*ready = f.End(r)
		}
	}
	return float64(sum) / float64(max(1, f.Devices.LastEnd-f.Devices.FirstStart))
}
