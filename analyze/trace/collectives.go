package trace

import "slices"

// Collective is what an operation of kind collective that is not the host's view of one
// states of the collective.
type Collective struct {
	Row    int32
	Name   int32 // into Names.Collectives
	Number int64 // the sequence number, 0 where Inferred
	Start  int64 // out of range, it may be no start of the row
	Bytes  int64
	Ranks  int32 // of the group, 0 where it is not stated
	// Inferred is that there is no sequence number; Started and Sized are that the start and the bytes are known.
	Inferred, Started, Sized bool
}

// CollectiveName identifies a row.
type CollectiveName struct{ Name, Group string }

// CollectiveOf returns the place in list of what row r states of a collective.
func CollectiveOf(list []Collective, r int32) (i int, ok bool) {
	return slices.BinarySearchFunc(list, r, func(c Collective, r int32) int { return int(c.Row) - int(r) })
}
