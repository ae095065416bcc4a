//go:build !unix

package measure

import "time"

// started is when the process began to measure.
var started = time.Now()

// processCPU returns the time that has passed: there is no getrusage here.
func processCPU() time.Duration { return time.Since(started) }
