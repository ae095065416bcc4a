package seed

import (
	"io"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/op"
)

// unknownDevice is the frame of entries without a device.
const unknownDevice = "unknown"

// Stacks sums up durations by device and operation, for flame graph tools. Its memory grows with the number of stacks.
// The zero value is ready to use; it is not safe for concurrent use.
type Stacks struct {
	weights map[stack]int64 // in microseconds
}

type stack struct{ device, operation string }

// Add adds the duration of e. It ignores host-side entries: their work has entries on the device.
func (s *Stacks) Add(e *op.Entry) {
	if e.Side != op.SideHost {
		s.add(e)
	}
}

func (s *Stacks) add(e *op.Entry) {
	key := stack{device: unknownDevice, operation: e.Operation}
	if e.HasDevice() {
		key.device = e.DeviceID
	}
	if s.weights == nil {
		s.weights = make(map[stack]int64)
	}
	s.weights[key] = wide.AddSaturating(s.weights[key], roundMicros(e.Duration))
}

// Write writes a line "trace;<device>;<operation> <weight>" per stack, sorted. The weight is the sum of the durations,
// each in microseconds, rounded half up and at least 1. In names a semicolon becomes a colon and control characters
// become spaces.
func (s *Stacks) Write(w io.Writer) error {
	byText := make(map[string]int64, len(s.weights))
	for key, weight := range s.weights {
		text := stacks.Collapse("trace", key.device, key.operation)
		byText[text] = wide.AddSaturating(byText[text], weight)
	}
	return stacks.WriteCollapsed(w, byText)
}

// roundMicros returns ns as microseconds, rounded half up and at least 1. The unsigned sum does not overflow.
func roundMicros(ns int64) int64 {
	return max(1, int64((uint64(max(ns, 0))+500)/1000))
}
