package analyze

import "iter"

// Group returns the number of the operation's group, by the keys of [Options].By: operations
// with the same values have the same number. It is -1 for a span that is no operation, for
// a repeat of an operation, and where the forest was made without keys.
func (n Node) Group() int {
	if n.IsZero() || n.forest.by == nil || !n.forest.countsInSums(n.row) {
		return -1
	}
	return int(n.forest.group(n.row))
}

// GroupKey returns the keys of the groups, and the values that they have in the group of that
// number.
func (f *Forest) GroupKey(group int) GroupKey {
	return GroupKey{Keys: f.by, Values: cutKeys(f.dict.groups.Values[group], f.by)}
}

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
	it := &Iterations{forest: f, of: make([]int32, f.rows())}
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
			order, first := groupRows(int32(len(rows)), it.count, nil, func(i int32) int32 { return it.of[rows[i]] })
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
