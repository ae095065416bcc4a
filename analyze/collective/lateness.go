package collective

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// Blocks is into how many parts the collectives of a group are divided to compare devices.
const Blocks = 16

// Lateness is about the devices of a group that came last to its collectives. The lateness of the
// last device is for how long the one before it waited: as much sooner would all of them have gone
// on. Sends and receives count in none, for which one side waits by design.
//
//	rank 0   |--------------------|   [0,100)
//	rank 1          |-------------|   [35,100)
//	rank 2               |--------|   [60,100)   late by 25
type Lateness struct {
	// Name is the collective with the largest part of it, "" where nobody was late.
	Name  string
	Group string
	// Devices are the devices, by rank and name.
	Devices []device.Key
	// Count is how many collectives there are, WaitNS how long all waited in them.
	Count, WaitNS int64
	// BlockNS is the lateness of each device in up to Blocks parts of as many collectives each,
	// one after the other.
	BlockNS [][]int64
}

// late is a collective with several devices.
type late struct {
	group, name, device int32
	start, wait, ns     int64
}

// LatenessOf returns the lateness in the collectives of each group, the largest first.
func LatenessOf(f *trace.Forest) []Lateness {
	f.Build()
	if len(f.Collectives) == 0 {
		return nil
	}
	names := f.Names.Collectives.Values
	groups, devices := make(map[string]int32), DevicesOf(f)
	var all []late
	var present [][]bool // by group and device
	Each(f, func(name int32, parts []Part) {
		plain := strings.ToLower(names[name].Name)
		if len(parts) < 2 || strings.Contains(plain, "send") || strings.Contains(plain, "recv") {
			return
		}
		group, ok := groups[names[name].Group]
		if !ok {
			group = int32(len(groups))
			groups[names[name].Group] = group
			present = append(present, make([]bool, len(devices.Keys)))
		}
		c := late{group: group, name: name, start: math.MaxInt64}
		least, next := int64(math.MaxInt64), int64(math.MaxInt64)
		for _, p := range parts {
			present[group][p.Device] = true
			c.start = min(c.start, p.Start)
			if p.Duration < least {
				c.device, least, next = p.Device, p.Duration, least
			} else {
				next = min(next, p.Duration)
			}
		}
		for _, p := range parts {
			c.wait += p.Duration - least
		}
		c.ns = next - least
		all = append(all, c)
	})
	slices.SortStableFunc(all, func(a, b late) int { return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.start, b.start)) })
	var list []Lateness
	for of := range order.RunsOf(all, func(c *late) int32 { return c.group }) {
		list = append(list, latenessOf(of, names, devices.Keys, present[of[0].group]))
	}
	slices.SortStableFunc(list, func(a, b Lateness) int { return cmp.Compare(b.WaitNS, a.WaitNS) })
	return list
}

// latenessOf sums up the collectives of a group; present tells its devices.
func latenessOf(all []late, names []trace.CollectiveName, devices []device.Key, present []bool) Lateness {
	l := Lateness{Group: names[all[0].name].Group, Count: int64(len(all)), BlockNS: make([][]int64, min(len(all), Blocks))}
	place := make([]int, len(devices))
	for d, key := range devices {
		if place[d] = len(l.Devices); present[d] {
			l.Devices = append(l.Devices, key)
		}
	}
	for b := range l.BlockNS {
		l.BlockNS[b] = make([]int64, len(l.Devices))
	}
	byName := make(map[int32]int64)
	most := int64(0)
	for i, c := range all {
		l.WaitNS += c.wait
		l.BlockNS[i*len(l.BlockNS)/len(all)][place[c.device]] += c.ns
		byName[c.name] += c.ns
		if sum := byName[c.name]; sum > most {
			most, l.Name = sum, names[c.name].Name
		}
	}
	return l
}
