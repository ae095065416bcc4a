package seed

import (
	"io"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/op"
)

// unknownDevice is the frame of entries without a device.
const unknownDevice = "unknown"

// Stacks collects the stacks of [Summary.FlamegraphCollapsed] entry by entry. Its memory
// grows with the number of stacks, not of entries. The zero value is ready to
// use; it is not safe for concurrent use.
type Stacks struct {
	pairs   pairs
	weights []int64 // by pair, in microseconds
}

// Add adds an entry. It ignores entries of the host side, whose work is that of
// the device's entries, and keeps nothing of e but its strings.
func (s *Stacks) Add(e *op.Entry) {
	if e.Side == op.SideHost {
		return
	}
	number := int(s.pairs.number(e))
	if number == len(s.weights) {
		s.weights = append(s.weights, 0)
	}
	s.weights[number] = wide.AddSaturating(s.weights[number], roundMicros(e.Duration))
}

// Write writes a line "trace;<device>;<operation> <weight>" per stack, sorted.
// The weight is the sum of the durations, each in microseconds, rounded half up
// and at least 1. Names are escaped as in [Summary.FlamegraphCollapsed].
func (s *Stacks) Write(w io.Writer) error { return s.pairs.names().writeStacks(w, s.weights) }

func (x pairNames) writeStacks(w io.Writer, weights []int64) error {
	byStack := make(map[string]int64, len(weights))
	for i, weight := range weights {
		p := x.pairs[i]
		device := unknownDevice
		if p.device > 0 {
			device = x.devices[p.device-1]
		}
		stack := stacks.Collapse("trace", device, x.operations[p.operation])
		byStack[stack] = wide.AddSaturating(byStack[stack], weight)
	}
	return stacks.WriteCollapsed(w, byStack)
}

// roundMicros returns ns as microseconds, rounded half up and at least 1. An unsigned sum does not overflow.
func roundMicros(ns int64) int64 {
	return max(1, int64((uint64(max(ns, 0))+500)/1000))
}
