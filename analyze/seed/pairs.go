package seed

import (
	"github.com/optrace/optrace/internal/model/symbols"
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

// pairNames is a snapshot of pairs.
type pairNames struct {
	operations, devices []string
	pairs               []pair
}

func (x *pairs) names() pairNames {
	return pairNames{x.operations.Values, x.devices.Values, x.all.Values}
}
