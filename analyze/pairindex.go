package analyze

// pair is an operation and the device that it ran on, by number.
type pair struct{ operation, device int32 }

// pairIndex numbers operations, devices and the pairs of them that occur. The
// zero value is ready to use.
type pairIndex struct {
	operations, devices nameIndex
	pairs               symbols[pair]
	// low has, by operation, 1 more than the numbers of the pairs with the first
	// lowDevices devices.
	low [][]int32
}

// lowDevices bounds the memory for a pair to be found without hashing it.
const lowDevices = 64

// number returns the number of a pair.
func (x *pairIndex) number(operation, device string) int32 {
	p := pair{x.operations.id(operation), x.devices.id(device)}
	if int(p.operation) < len(x.low) {
		if row := x.low[p.operation]; int(p.device) < len(row) && row[p.device] != 0 {
			return row[p.device] - 1
		}
	}
	return x.addPair(p)
}

func (x *pairIndex) addPair(p pair) int32 {
	number := x.pairs.id(p)
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
