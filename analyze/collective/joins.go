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
	// numbers has the number of each of the forest's collectives, trace.NoRow for one on a single device.
	numbers []int32
}

// Part is the part of one device in a collective.
type Part struct {
	*trace.Collective
	// Device is the place of the device in the order of devices.
	Device int32
	// Occurrence counts earlier parts of the same sequence number on the device.
	Occurrence int32
	// group is the number of name and group, with a separate number for parts without a sequence number.
	group int32
}

// FindJoins returns the collectives. Operations join if name, group and sequence number agree. If a number repeats on
// a device, its k-th occurrence joins the k-th on the others. Without a sequence number, the k-th of a name and group
// on each device join, except sends and receives: a send waits for its receive and for no other send. With a known
// peer they never join. Repeated records are left out.
func FindJoins(f *trace.Forest) *Joins { return trace.Found(f, findJoins) }

func findJoins(f *trace.Forest) *Joins {
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
	type collective struct {
		group, occurrence, device int32
		number                    int64
	}
	for of := range order.RunsOf(list, func(p *Part) collective { return collective{group: p.group, number: p.Number} }) {
		for i := 1; i < len(of); i++ {
			if of[i].Device == of[i-1].Device {
				of[i].Occurrence = of[i-1].Occurrence + 1
			}
		}
		slices.SortFunc(of, func(a, b Part) int {
			return cmp.Or(cmp.Compare(a.Occurrence, b.Occurrence), cmp.Compare(a.Device, b.Device))
		})
	}
	identify := func(p *Part) collective {
		c := collective{p.group, p.Occurrence, 0, p.Number}
		if name := names[p.Name].Name; (p.Inferred || p.Peer >= 0) && (IsSend(name) || IsReceive(name)) {
			c.device = p.Device + 1
		}
		return c
	}
	for parts := range order.RunsOf(list, identify) {
		for i := range parts {
			if at, ok := trace.CollectiveOf(f.Collectives, parts[i].Row); ok && len(parts) > 1 {
				j.numbers[at] = int32(len(j.all))
			}
		}
		j.all = append(j.all, parts)
	}
	return j
}

// IsSend and IsReceive report whether an operation is one side of a transfer between two ranks, by its name.
func IsSend(name string) bool { return sideOf(name) == "send" }

// IsReceive is described at [IsSend].
func IsReceive(name string) bool { return sideOf(name) == "recv" }

// sideOf returns send or recv for a name with one of them, "" for other names and for both sides in one.
func sideOf(name string) string {
	name = strings.ToLower(name)
	sends := strings.Contains(name, "send")
	receives := strings.Contains(name, "recv")
	switch {
	case sends && !receives:
		return "send"
	case receives && !sends:
		return "recv"
	}
	return ""
}

func places(list []int32, n int) []int32 {
	at := make([]int32, n)
	for i, number := range list {
		at[number] = int32(i)
	}
	return at
}

// compareNumbers orders parts by name, parts with a sequence number first, then by number.
func compareNumbers(a, b *Part) int {
	return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.Number, b.Number))
}

// compareOnDevice orders parts of a name and number by device, then by start, unknown starts last.
func (j *Joins) compareOnDevice(a, b Part) int {
	if d := cmp.Or(compareNumbers(&a, &b), cmp.Compare(a.Device, b.Device), order.Flags(b.Started, a.Started)); d != 0 {
		return d
	}
	if d := cmp.Compare(a.Start, b.Start); d != 0 && a.Started {
		return d
	}
	return j.forest.CompareStart(a.Row, b.Row)
}

// All yields the parts of each collective, sorted by device: by name and group, collectives with a number first.
func (j *Joins) All() iter.Seq[[]Part] { return slices.Values(j.all) }

// Of returns the parts of collective n, one per device.
func (j *Joins) Of(n int32) []Part { return j.all[n] }

// Number returns the number of the collective of the operation in row r, trace.NoRow for one on a single device.
func (j *Joins) Number(r int32) int32 {
	if i, ok := trace.CollectiveOf(j.forest.Collectives, r); ok {
		return j.numbers[i]
	}
	return trace.NoRow
}

// Key returns the device at a place, see [Part].
func (j *Joins) Key(place int32) device.Key {
	return j.forest.Devices.Keys[j.forest.Devices.Order[place]]
}

func (j *Joins) duration(p *Part) int64 { return j.forest.Duration(p.Row) }
