package main

import (
	"fmt"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/examples/internal/devices"
)

// finding says in words what the phase was bound by.
func finding(r *analyze.Report) string {
	d := devices.Find(r, deviceID)
	if d == nil {
		return "nothing was launched"
	}
	waiting, deepest := devices.Waiting(r.Launches)
	switch path := r.Launches.Path; {
	case 2*path.BoundBy.HostNS > path.DurationNS:
		return fmt.Sprintf("bound by the host: of %v it took %v to launch what came next; %s",
			devices.Time(path.DurationNS), devices.Time(path.BoundBy.HostNS), devices.Copies(d))
	case waiting > d.BusyNS.V:
		return fmt.Sprintf("bound by the queues: operations waited for %v in sum while the device was busy for %v, up to %d at once; %s",
			devices.Time(waiting), devices.Time(d.BusyNS.V), deepest, devices.Copies(d))
	default:
		return fmt.Sprintf("bound by the device: it was busy for %v of %v; %s",
			devices.Time(d.BusyNS.V), devices.Time(d.SpanNS.V), devices.Copies(d))
	}
}
