package collective

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// Blocks is the number of blocks of a group's collectives.
const Blocks = 16

// Lateness is the lateness of devices in the collectives of a group. The last device is late by the wait of the one
// before: all could have continued so much sooner. Sends and receives do not count, because one side waits by design.
//
//	rank 0   |--------------------|   [0,100)
//	rank 1          |-------------|   [35,100)
//	rank 2               |--------|   [60,100)   late by 25
type Lateness struct {
	// Name is the collective with the largest part of the lateness, "" without any.
	Name  string
	Group string
	// Devices are the devices, by rank and name.
	Devices []device.Key
	// Count is the number of collectives, WaitNS the waiting time of all devices.
	Count, WaitNS int64
	// BlockNS is the lateness of each device in up to Blocks consecutive blocks with equal numbers of collectives.
	BlockNS [][]int64
}

// late is a collective with several devices.
type late struct {
	trace.CollectiveName
	parts           []Part
	device          int32 // the last to arrive
	start, wait, ns int64
}

// Lateness returns the lateness in the collectives of each group, the largest wait first.
func (j *Joins) Lateness() []Lateness {
	var all []late
	for parts := range j.All() {
		c := late{
			CollectiveName: j.forest.Names.Collectives.Values[parts[0].Name], parts: parts, start: math.MaxInt64,
		}
		plain := strings.ToLower(c.Name)
		if len(parts) < 2 || strings.Contains(plain, "send") || strings.Contains(plain, "recv") {
			continue
		}
		least := int64(math.MaxInt64)
		next := int64(math.MaxInt64)
		for i := range parts {
			p := &parts[i]
			ns := j.duration(p)
			c.start = min(c.start, p.Start)
			c.wait += ns
			if ns < least {
				next = least
				least = ns
				c.device = p.Device
			} else {
				next = min(next, ns)
			}
		}
		c.wait -= least * int64(len(parts))
		c.ns = next - least
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b late) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), cmp.Compare(a.start, b.start))
	})
	var list []Lateness
	for of := range order.RunsOf(all, func(c *late) string { return c.Group }) {
		list = append(list, j.latenessOf(of))
	}
	slices.SortStableFunc(list, func(a, b Lateness) int { return cmp.Compare(b.WaitNS, a.WaitNS) })
	return list
}

func (j *Joins) latenessOf(all []late) Lateness {
	l := Lateness{Group: all[0].Group, Count: int64(len(all)), BlockNS: make([][]int64, min(len(all), Blocks))}
	place := make(map[int32]int) // of the devices
	for _, c := range all {
		for i := range c.parts {
			place[c.parts[i].Device] = 0
		}
	}
	for i, d := range slices.Sorted(maps.Keys(place)) {
		place[d] = i
		l.Devices = append(l.Devices, j.Key(d))
	}
	for b := range l.BlockNS {
		l.BlockNS[b] = make([]int64, len(l.Devices))
	}
	byName := make(map[string]int64)
	most := int64(0)
	for i, c := range all {
		l.WaitNS += c.wait
		l.BlockNS[i*len(l.BlockNS)/len(all)][place[c.device]] += c.ns
		byName[c.Name] += c.ns
		if sum := byName[c.Name]; sum > most {
			most = sum
			l.Name = c.Name
		}
	}
	return l
}
