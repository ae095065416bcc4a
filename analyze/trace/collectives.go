package trace

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/op"
)

// Collective is what an operation of kind collective that is not the host's view of one
// states of the collective.
type Collective struct {
	Row    int32
	Name   int32 // into dictionary.collectives
	Number int64 // the sequence number, 0 for none
	Start  int64 // out of range, it may be no start of the row
	Bytes  int64
	Facts  collectiveFact
}

// CollectiveName identifies a row.
type CollectiveName struct{ Name, Group string }

// collectiveFact is a set of facts about a collective.
type collectiveFact uint8

const (
	CollectiveInferred collectiveFact = 1 << iota // there is no sequence number
	CollectiveStarted                             // the start is known
	CollectiveSized                               // the bytes are known
)

// addCollective adds what the operation of the row that was added last states, if it is of
// kind collective and not the host's view of one.
func (f *Forest) addCollective(e *op.Entry) {
	if e.Kind != op.KindCollective || e.Side == op.SideHost {
		return
	}
	c := Collective{Row: f.Rows() - 1, Start: e.Start.V}
	name, size := CollectiveName{Name: e.Operation}, e.MemoryBytes
	c.Facts |= CollectiveInferred
	if of := e.Collective; of != nil {
		name = CollectiveName{cmp.Or(of.Name, e.Operation), of.Group}
		if c.Number = of.Sequence.V; of.Sequence.Known {
			c.Facts &^= CollectiveInferred
		}
		if bytes, ok := messageBytes(of, e.DType); ok {
			size = op.Known(bytes)
		}
	}
	if e.Start.Known {
		c.Facts |= CollectiveStarted
	}
	if c.Bytes = size.V; size.Known {
		c.Facts |= CollectiveSized
	}
	c.Name = f.Names.Collectives.ID(name)
	f.Collectives = append(f.Collectives, c)
}

// messageBytes returns the size of the larger side of a collective, the one
// that bandwidth is about; ok is false where it is not known.
func messageBytes(c *op.Collective, t op.DType) (bytes int64, ok bool) {
	n, size := max(c.InElements.V, c.OutElements.V), t.Size()
	if n <= 0 || size == 0 || n > math.MaxInt64/size {
		return 0, false
	}
	return n * size, true
}

// CollectiveOf returns the place in list of what row r states of a collective.
func CollectiveOf(list []Collective, r int32) (i int, ok bool) {
	return slices.BinarySearchFunc(list, r, func(c Collective, r int32) int { return int(c.Row) - int(r) })
}
