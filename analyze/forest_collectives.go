package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/op"
)

// collective is what an operation of kind collective that is not the host's view of one
// states of the collective.
type collective struct {
	row    int32
	name   int32 // into dictionary.collectives
	number int64 // the sequence number, 0 for none
	start  int64 // out of range, it may be no start of the row
	bytes  int64
	facts  collectiveFact
}

// collectiveName identifies a row.
type collectiveName struct{ name, group string }

// collectiveFact is a set of facts about a collective.
type collectiveFact uint8

const (
	collectiveInferred collectiveFact = 1 << iota // there is no sequence number
	collectiveStarted                             // the start is known
	collectiveSized                               // the bytes are known
)

// addCollective adds what the operation of the row that was added last states, if it is of
// kind collective and not the host's view of one.
func (f *Forest) addCollective(e *op.Entry) {
	if e.Kind != op.KindCollective || e.Side == op.SideHost {
		return
	}
	c := collective{row: f.rowCount() - 1, start: e.Start.V}
	name, size := collectiveName{name: e.Operation}, e.MemoryBytes
	c.facts |= collectiveInferred
	if of := e.Collective; of != nil {
		name = collectiveName{cmp.Or(of.Name, e.Operation), of.Group}
		if c.number = of.Sequence.V; of.Sequence.Known {
			c.facts &^= collectiveInferred
		}
		if bytes, ok := messageBytes(of, e.DType); ok {
			size = op.Known(bytes)
		}
	}
	if e.Start.Known {
		c.facts |= collectiveStarted
	}
	if c.bytes = size.V; size.Known {
		c.facts |= collectiveSized
	}
	c.name = f.dict.collectives.ID(name)
	f.collected = append(f.collected, c)
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

// collectiveOf returns the place in list of what row r states of a collective.
func collectiveOf(list []collective, r int32) (i int, ok bool) {
	return slices.BinarySearchFunc(list, r, func(c collective, r int32) int { return int(c.row) - int(r) })
}
