package analyze

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/op"
)

// collectives keeps the entries of kind collective, 48 bytes each. The zero
// value is ready to use.
type collectives struct {
	names   symbols[collectiveName]
	devices symbols[DeviceKey]
	entries []collectiveEntry
}

// collectiveName is what has a row of its own.
type collectiveName struct{ name, group string }

// collectiveEntry is the part that one device had in a collective.
type collectiveEntry struct {
	name, device int32
	groupSize    int32 // 0 when not known
	inferred     bool  // number is a place, not a sequence number
	started      bool  // start is known
	sized        bool  // bytes is known
	// number is the sequence number, or else the place among the device's
	// collectives of the name.
	number   int64
	start    int64
	duration int64
	bytes    int64
}

// add adds e if it is of kind collective and not the host's view of one.
func (c *collectives) add(e *op.Entry) {
	if e.Kind != op.KindCollective || e.Side == op.SideHost {
		return
	}
	name := collectiveName{name: e.Operation}
	entry := collectiveEntry{
		inferred: true,
		started:  e.Start.Known, start: e.Start.V,
		duration: max(0, e.Duration),
		sized:    e.MemoryBytes.Known, bytes: e.MemoryBytes.V,
	}
	if of := e.Collective; of != nil {
		name = collectiveName{cmp.Or(of.Name, e.Operation), of.Group}
		entry.inferred, entry.number = !of.Sequence.Known, of.Sequence.V
		entry.groupSize = int32(min(max(0, of.GroupSize.V), math.MaxInt32))
		if bytes, ok := messageBytes(of, e.DType); ok {
			entry.sized, entry.bytes = true, bytes
		}
	}
	entry.name, entry.device = c.names.id(name), c.devices.id(DeviceOf(e))
	c.entries = append(c.entries, entry)
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

// sorted returns a copy of the entries, by name and then by collective, the
// devices of each in order.
func (c *collectives) sorted() []collectiveEntry {
	entries := slices.Clone(c.entries)
	c.number(entries)
	slices.SortStableFunc(entries, func(a, b collectiveEntry) int {
		nameA, nameB := &c.names.values[a.name], &c.names.values[b.name]
		return cmp.Or(
			strings.Compare(nameA.name, nameB.name), strings.Compare(nameA.group, nameB.group),
			compareFlag(a.inferred, b.inferred), compareInt(a.number, b.number),
			c.devices.values[a.device].Compare(c.devices.values[b.device]),
		)
	})
	return entries
}

// number gives entries without a sequence number their place in the order of
// their device: by start, those without one last, and in the order of the
// input where that does not tell.
func (c *collectives) number(entries []collectiveEntry) {
	slices.SortStableFunc(entries, func(a, b collectiveEntry) int {
		return cmp.Or(compareFlag(b.started, a.started), compareInt(a.start, b.start))
	})
	type place struct{ name, device int32 }
	next := make(map[place]int64)
	for i := range entries {
		e := &entries[i]
		if e.inferred {
			at := place{e.name, e.device}
			e.number = next[at]
			next[at]++
		}
	}
}

// sameCollective reports whether both are parts of one collective.
func (e *collectiveEntry) sameCollective(o *collectiveEntry) bool {
	return e.name == o.name && e.inferred == o.inferred && e.number == o.number
}

// compareFlag orders false before true.
func compareFlag(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
