package parquet

import (
	"math"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/op"
)

// collectiveColumns are the columns of the group of a collective, from which its column
// follows: each collective has a code of its own, in each window others.
type collectiveColumns struct {
	name, group                   *valueColumn[string]
	groupSize, sequence, peerRank *valueColumn[op.Int]
	inElements, outElements       *valueColumn[op.Int]
	codes                         [windowRows]uint32
	list                          []op.Collective
	values                        []*op.Collective
	version                       int64
}

// newCollectiveColumns returns the columns, those of a file that has none where they are
// not wanted.
func newCollectiveColumns(b *block, wanted bool) *collectiveColumns {
	name := func(column string) string {
		if !wanted {
			return ""
		}
		return "collective." + column
	}
	number := func(column string) *valueColumn[op.Int] {
		return newIntegerColumn(b, name(column), math.MinInt64, integer(math.MinInt64, op.WarnBadValue))
	}
	c := &collectiveColumns{
		name: newValueColumn(b, name("name"), text), group: newValueColumn(b, name("group"), text),
		groupSize: number("group_size"), sequence: number("sequence"),
		peerRank:   number("peer_rank"),
		inElements: number("in_elements"), outElements: number("out_elements"),
		list: make([]op.Collective, 0, windowRows),
	}
	fillCollective(b, name("name"), c, c.name)
	fillCollective(b, name("group"), c, c.group)
	fillCollective(b, name("group_size"), c, c.groupSize)
	fillCollective(b, name("sequence"), c, c.sequence)
	fillCollective(b, name("peer_rank"), c, c.peerRank)
	fillCollective(b, name("in_elements"), c, c.inElements)
	fillCollective(b, name("out_elements"), c, c.outElements)
	return c
}

// fillCollective has rows take their collectives from the columns.
func fillCollective[T any](b *block, name string, c *collectiveColumns, part *valueColumn[T]) {
	for _, i := range b.places(name) {
		b.byReader[i].fill = func(r *rows.Row, k int) bool {
			r.Collective = c.values[c.codes[k]]
			r.Warn |= part.warnings[part.codes[k]]
			return true
		}
	}
}

// load finds the collectives of a window of n rows.
func (c *collectiveColumns) load(n int) {
	c.list, c.values = c.list[:0], append(c.values[:0], nil)
	c.version++
	for i := range n {
		c.codes[i] = 0
		// The null of a value has the code 0 only where the group is null.
		if c.name.codes[i]|c.group.codes[i]|c.groupSize.codes[i]|c.sequence.codes[i]|c.peerRank.codes[i]|
			c.inElements.codes[i]|c.outElements.codes[i] == 0 {
			continue
		}
		c.list = append(c.list, op.Collective{
			Name: c.name.at(i), Group: c.group.at(i), GroupSize: c.groupSize.at(i), Sequence: c.sequence.at(i), PeerRank: c.peerRank.at(i),
			InElements: c.inElements.at(i), OutElements: c.outElements.at(i),
		})
		c.codes[i] = uint32(len(c.values))
		c.values = append(c.values, &c.list[len(c.list)-1])
	}
}

// shown returns the column of the window.
func (c *collectiveColumns) shown() op.Column[*op.Collective] {
	return op.Column[*op.Collective]{Codes: c.codes[:], Values: c.values, Version: c.version}
}
