package collective

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
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
	group           string
	name, device    int32
	start, wait, ns int64
}

// Lateness returns the lateness in the collectives of each group, the largest first.
func (j *Joins) Lateness() []Lateness {
	names := j.forest.Names.Collectives.Values
	var all []late
	present := make(map[string]map[int32]bool) // devices by group
	for parts := range j.All() {
		name := names[parts[0].Name]
		plain := strings.ToLower(name.Name)
		if len(parts) < 2 || strings.Contains(plain, "send") || strings.Contains(plain, "recv") {
			continue
		}
		if present[name.Group] == nil {
			present[name.Group] = make(map[int32]bool)
		}
		c := late{group: name.Group, name: parts[0].Name, start: math.MaxInt64}
		least, next := int64(math.MaxInt64), int64(math.MaxInt64)
		for i := range parts {
			p, ns := &parts[i], j.duration(&parts[i])
			present[name.Group][p.Device] = true
			c.start, c.wait = min(c.start, p.Start), c.wait+ns
			if ns < least {
				c.device, least, next = p.Device, ns, least
			} else {
				next = min(next, ns)
			}
		}
		c.wait -= least * int64(len(parts))
		c.ns = next - least
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b late) int { return cmp.Or(strings.Compare(a.group, b.group), cmp.Compare(a.start, b.start)) })
	var list []Lateness
	for of := range order.RunsOf(all, func(c *late) string { return c.group }) {
		list = append(list, j.latenessOf(of, present[of[0].group]))
	}
	slices.SortStableFunc(list, func(a, b Lateness) int { return cmp.Compare(b.WaitNS, a.WaitNS) })
	return list
}

// latenessOf sums up the collectives of a group; present tells its devices.
func (j *Joins) latenessOf(all []late, present map[int32]bool) Lateness {
	l := Lateness{Group: all[0].group, Count: int64(len(all)), BlockNS: make([][]int64, min(len(all), Blocks))}
	place := make(map[int32]int)
	for i, d := range slices.Sorted(maps.Keys(present)) {
		place[d] = i
		l.Devices = append(l.Devices, j.Key(d))
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
			most, l.Name = sum, j.forest.Names.Collectives.Values[c.name].Name
		}
	}
	return l
}
