package main

import (
	"fmt"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/examples/internal/devices"
)

// finding says in words how copies overlapped and operations waited.
func finding(r *analyze.Report) string {
	d := devices.Find(r, deviceID)
	if d == nil {
		return "nothing was launched"
	}
	waiting, deepest := devices.Waiting(r.Launches)
	return fmt.Sprintf("%s; %d launches took the host %v, and waited for %v in sum, up to %d at once",
		devices.Copies(d), r.Launches.Count, devices.Time(r.Launches.EnqueueNS), devices.Time(waiting), deepest)
}
