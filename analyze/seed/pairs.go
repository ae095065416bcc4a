package seed

import "github.com/optrace/optrace/analyze/internal/symbols"

// pair is an operation and the device that it ran on, by number.
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

// number returns the number of a pair.
func (x *pairs) number(operation, device string) int32 {
	p := pair{x.operations.ID(operation), x.devices.ID(device)}
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

// pairNames is a snapshot of pairs.
type pairNames struct {
	operations, devices []string
	pairs               []pair
}

func (x *pairs) names() pairNames {
	return pairNames{x.operations.Values, x.devices.Values, x.all.Values}
}
