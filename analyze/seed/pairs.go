package seed

import (
	"github.com/optrace/optrace/internal/symbols"
	"github.com/optrace/optrace/op"
)

// pair is an operation and the device that it ran on, by number. Device 0 is none.
type pair struct{ operation, device int32 }

// pairs numbers operations, devices and the pairs of them that occur. The zero
// value is ready to use.
type pairs struct {
	operations, devices symbols.Names
	all                 symbols.Table[pair]
}

func (x *pairs) number(e *op.Entry) int32 {
	p := pair{operation: x.operations.ID(e.Operation)}
	if e.HasDevice() {
		p.device = x.devices.ID(e.DeviceID) + 1
	}
	return x.all.ID(p)
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
