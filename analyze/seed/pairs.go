package seed

import (
	"github.com/optrace/optrace/analyze/internal/symbols"
	"github.com/optrace/optrace/op"
)

// pair is an operation and the device that it ran on, by number. Device 0 is none.
type pair struct{ operation, device int32 }

// pairs numbers operations, devices and the pairs of them that occur. The zero
// value is ready to use.
type pairs struct {
	operations, devices symbols.Names
	all                 symbols.Table[pair]
	// low holds, by operation, the number of each pair with one of the first
	// lowDevices devices, plus 1.
	low [][]int32
}

// lowDevices bounds the memory of the pairs that are found without hashing.
const lowDevices = 64

// number returns the number of e's pair.
func (x *pairs) number(e *op.Entry) int32 {
	p := pair{operation: x.operations.ID(e.Operation)}
	if e.HasDevice() {
		p.device = x.devices.ID(e.DeviceID) + 1
	}
	if int(p.operation) < len(x.low) {
		if row := x.low[p.operation]; int(p.device) < len(row) && row[p.device] != 0 {
			return row[p.device] - 1
		}
	}
	return x.add(p)
}

func (x *pairs) add(p pair) int32 {
	number := x.all.ID(p)
	if p.device >= lowDevices {
		return number
	}
	for int(p.operation) >= len(x.low) {
		x.low = append(x.low, nil)
	}
	row := &x.low[p.operation]
	for int(p.device) >= len(*row) {
		*row = append(*row, 0)
	}
	(*row)[p.device] = number + 1
	return number
}

// device returns the name of the device of a number, "" for none.
func (x *pairs) device(number int32) string {
	if number == noDevice {
		return ""
	}
	return x.devices.Values[number-1]
}

// noDevice is the number of the device of entries without one.
const noDevice = 0

// pairNames is a snapshot of pairs. The devices start with the absence of one.
type pairNames struct {
	operations, devices []string
	pairs               []pair
}

func (x *pairs) names() pairNames {
	return pairNames{x.operations.Values, append([]string{""}, x.devices.Values...), x.all.Values}
}
