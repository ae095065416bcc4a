package collective

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// Joins are the collectives of a forest, by number.
type Joins struct {
	forest *trace.Forest
	all    [][]Part // by number
	// numbers has the number of the collective of several devices that each of the forest's is a part of,
	// trace.NoRow for none.
	numbers []int32
}

// Part is the part that one device had in a collective.
type Part struct {
	*trace.Collective
	// Device is the place of the device among all, in their order.
	Device int32
	// Occurrence is how many others of the sequence number there are on the device in front of it.
	Occurrence int32
	// group is that of the name, apart for those without a sequence number.
	group int32
}

// FindJoins returns the collectives. Operations are of one when they agree in name, group and sequence number. Where a
// number occurs several times on a device, its k-th occurrence there belongs to the k-th occurrence on the others.
// Where there is no sequence number, the k-th of a name and group on each device belong together. Records that repeat
// others are left out.
func FindJoins(f *trace.Forest) *Joins {
	f.Build()
	j := &Joins{forest: f, numbers: slices.Repeat([]int32{trace.NoRow}, len(f.Collectives))}
	var list []Part
	devices := places(f.Devices.Order, len(f.Devices.Keys))
	names := f.Names.Collectives.Values
	groups := places(order.Numbers(len(names), func(a, b int32) int {
		return cmp.Or(strings.Compare(names[a].Name, names[b].Name), strings.Compare(names[a].Group, names[b].Group))
	}), len(names))
	for i := range f.Collectives {
		if c := &f.Collectives[i]; !f.Has(c.Row, trace.FlagRepeat) {
			p := Part{Collective: c, Device: devices[f.Device(c.Row)], group: 2 * groups[c.Name]}
			if p.Inferred {
				p.group++
			}
			list = append(list, p)
		}
	}
	slices.SortFunc(list, j.compareOnDevice)
	for i := 1; i < len(list); i++ {
		if p, before := &list[i], &list[i-1]; p.group == before.group && p.Number == before.Number && p.Device == before.Device {
			p.Occurrence = before.Occurrence + 1
		}
	}
	slices.SortFunc(list, func(a, b Part) int {
		if d := compareNumbers(&a, &b); d != 0 {
			return d
		}
		return cmp.Or(cmp.Compare(a.Occurrence, b.Occurrence), cmp.Compare(a.Device, b.Device))
	})
	type collective struct {
		group, occurrence int32
		number            int64
	}
	for parts := range order.RunsOf(list, func(p *Part) collective { return collective{p.group, p.Occurrence, p.Number} }) {
		for i := range parts {
			if at, ok := trace.CollectiveOf(f.Collectives, parts[i].Row); ok && len(parts) > 1 {
				j.numbers[at] = int32(len(j.all))
			}
		}
		j.all = append(j.all, parts)
	}
	return j
}

// places returns the place of each of n numbers in a list.
func places(list []int32, n int) []int32 {
	at := make([]int32, n)
	for i, number := range list {
		at[number] = int32(i)
	}
	return at
}

// compareNumbers orders parts by name, those with a sequence number first, and by that.
func compareNumbers(a, b *Part) int {
	return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.Number, b.Number))
}

// compareOnDevice orders parts of a name and sequence number by device, and those of a device by start, unknown ones last.
func (j *Joins) compareOnDevice(a, b Part) int {
	if d := cmp.Or(compareNumbers(&a, &b), cmp.Compare(a.Device, b.Device), order.Flags(b.Started, a.Started)); d != 0 {
		return d
	}
	if d := cmp.Compare(a.Start, b.Start); d != 0 && a.Started {
		return d
	}
	return j.forest.CompareStart(a.Row, b.Row)
}

// All yields the parts of each collective, by device: by name and group, collectives with a sequence number first.
func (j *Joins) All() iter.Seq[[]Part] { return slices.Values(j.all) }

// Of returns the parts of collective n, one of each device.
func (j *Joins) Of(n int32) []Part { return j.all[n] }

// Number returns the number of the collective of several devices that the operation in row r is a part of,
// trace.NoRow for none.
func (j *Joins) Number(r int32) int32 {
	if i, ok := trace.CollectiveOf(j.forest.Collectives, r); ok {
		return j.numbers[i]
	}
	return trace.NoRow
}

// Key returns the device at a place, as [Part] has it.
func (j *Joins) Key(place int32) device.Key {
	return j.forest.Devices.Keys[j.forest.Devices.Order[place]]
}

// duration returns how long a part took.
func (j *Joins) duration(p *Part) int64 { return j.forest.Duration(p.Row) }
