package steps

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
)

// Iterations are the iterations of steps, numbered by start from 0.
type Iterations struct {
	forest *trace.Forest
	rows   []int32 // operations with a step
	of     []int32 // by row
	count  int
}

// Find returns the iterations of steps.
func Find(f *trace.Forest) *Iterations {
	f.Build()
	it := &Iterations{forest: f, rows: rowsWithSteps(f), of: slices.Repeat([]int32{trace.NoRow}, f.Len())}
	if len(it.rows) > 0 {
		it.find()
	}
	return it
}

// Len returns the number of iterations.
func (it *Iterations) Len() int { return it.count }

// Of returns the iteration of a node, or -1.
func (it *Iterations) Of(n trace.Node) int { return int(it.of[n.Row]) }

// Device is the time of a device within an iteration.
type Device struct {
	Iteration int
	Device    device.Key
	// StartNS is the first start, EndNS the last end, in Unix nanoseconds.
	StartNS, EndNS int64
	timeline.Parts
}

// Devices yields the time of each device within each iteration, device by device.
func (it *Iterations) Devices() iter.Seq[Device] {
	f := it.forest
	return func(yield func(Device) bool) {
		for key, rows := range f.Devices.All() {
			order, first := order.GroupRows(rows, it.count, nil, func(i int32) int32 { return it.of[rows[i]] })
			for i := range it.count {
				mine := order[first[i]:first[i+1]]
				if len(mine) == 0 {
					continue
				}
				end := f.End(mine[0])
				for _, r := range mine {
					end = max(end, f.End(r))
				}
				if !yield(Device{i, key, f.Start(mine[0]), end, timeline.PartsOf(f, mine)}) {
					return
				}
			}
		}
	}
}
