package trace

import "slices"

// Collective is the collective stated by a device operation of kind collective.
type Collective struct {
	Row    int32
	Name   int32 // into Names.Collectives
	Number int64 // the sequence number, 0 where Inferred
	Start  int64 // as recorded, may be out of range
	Bytes  int64
	Ranks  int32 // of the group, 0 if not stated
	// Inferred means a missing sequence number. Started and Sized mean a known start and known bytes.
	Inferred, Started, Sized bool
}

// CollectiveName is the name and group of a collective.
type CollectiveName struct{ Name, Group string }

// CollectiveOf returns the index in list of the collective of row r. list is sorted by row.
func CollectiveOf(list []Collective, r int32) (i int, ok bool) {
	return slices.BinarySearchFunc(list, r, func(c Collective, r int32) int { return int(c.Row) - int(r) })
}
