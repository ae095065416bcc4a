package profiler

import (
	"time"

	"github.com/optrace/optrace/op"
)

// HasTime reports whether an event of a device has a time. CUPTI leaves start and duration 0 where it knows neither.
// A start more than an hour before the launch is wrong. All times are nanoseconds of one clock.
func HasTime(start, duration int64, launch op.Int) bool {
	if start == 0 && duration == 0 {
		return false
	}
	return !launch.Known || launch.V-start < int64(time.Hour)
}
