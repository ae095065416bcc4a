package analyze

import (
	"iter"

	"github.com/optrace/optrace/analyze/internal/order"
)

// Iterations are the iterations of steps, those of the report's steps, numbered by start
// from 0.
type Iterations struct {
	forest *Forest
	of     []int32 // by row
	count  int
}

// Iterations returns the iterations of steps.
func (f *Forest) Iterations() *Iterations {
	f.build()
	it := &Iterations{forest: f, of: make([]int32, f.Len())}
	for i := range it.of {
		it.of[i] = noRow
	}
	rows := f.rowsWithSteps()
	var numbers []int32
	numbers, it.count = f.newLoops().iterationsOf(rows)
	for i, r := range rows {
		it.of[r] = numbers[i]
	}
	return it
}

// Len returns how many iterations there are.
func (it *Iterations) Len() int { return it.count }

// Of returns the iteration that a node of the forest belongs to, -1 for none.
func (it *Iterations) Of(n Node) int { return int(it.of[n.row]) }

// StepDevice is the time of a device within an iteration, in nanoseconds.
type StepDevice struct {
	Iteration int
	Device    DeviceKey
	// ComputeNS, ExposedCommunicationNS, ExposedMemoryNS, OtherNS and IdleNS add up to the time
	// from the first start to the last end of the iteration on the device.
	ComputeNS, ExposedCommunicationNS, ExposedMemoryNS, OtherNS, IdleNS int64
}

// Devices yields the time of each device within each iteration, device by device.
func (it *Iterations) Devices() iter.Seq[StepDevice] {
	f := it.forest
	return func(yield func(StepDevice) bool) {
		for _, device := range f.onDevice.order {
			rows := f.onDevice.of(device)
			order, first := order.Group(int32(len(rows)), it.count, nil, func(i int32) int32 { return it.of[rows[i]] })
			for i, at := range order {
				order[i] = rows[at]
			}
			for i := range it.count {
				mine := order[first[i]:first[i+1]]
				if len(mine) > 0 && !yield(f.stepDevice(i, f.onDevice.keys[device], mine)) {
					return
				}
			}
		}
	}
}

func (f *Forest) stepDevice(iteration int, device DeviceKey, rows []int32) StepDevice {
	var parts deviceParts
	for s := range f.sweep(rows) {
		parts.add(s)
	}
	return StepDevice{
		Iteration: iteration, Device: device, ComputeNS: parts.Compute, ExposedCommunicationNS: parts.ExposedCommunication,
		ExposedMemoryNS: parts.ExposedMemory, OtherNS: parts.Other, IdleNS: parts.Idle,
	}
}
