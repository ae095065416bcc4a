package analyze

import "unsafe"

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
	p := pair{x.operations.number(operation), x.devices.number(device)}
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

// nameIndex numbers names in the order in which they first appear. The zero
// value is ready to use.
type nameIndex struct {
	names  symbols[string]
	recent [recentNames]recentName
}

// recentNames is a power of two, for some tens of names.
const (
	recentNameBits = 8
	recentNames    = 1 << recentNameBits
)

type recentName struct {
	name   string
	number int32 // 1 more than the name's; 0 while the slot is free
}

// number returns the number of a name. Readers intern strings, so that names
// are mostly the same bytes again, whose address tells where the name was put
// the last time: that takes 8 ns, hashing it 20.
func (x *nameIndex) number(name string) int32 {
	// The address serves as a hash only. Multiplying by 2^64 divided by the
	// golden ratio spreads addresses that differ in few bits.
	address := uint64(uintptr(unsafe.Pointer(unsafe.StringData(name))))
	r := &x.recent[address*0x9e3779b97f4a7c15>>(64-recentNameBits)]
	if r.number == 0 || r.name != name {
		*r = recentName{name, x.names.id(name) + 1}
	}
	return r.number - 1
}
