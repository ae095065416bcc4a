// Package turns finds devices of a program that work one at a time, as under a lock.
package turns

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/internal/drivers"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Turns are the turns of devices.
type Turns struct {
	Operations []string // that never run on two devices at once, the longest first
	Devices    int
	Count      int64 // of turns
	// ChanceNS is how long they would run on two devices at once by chance, NS the time of turns beyond those of the
	// device with the longest ones, between one collective and the next.
	ChanceNS, NS int64
}

// Find returns the turns of devices. By chance their operations would run on two at once for a twentieth of the whole,
// and they do for a fiftieth of that at most. One device begins as another ends. The devices reduce together, and
// exchange no other data: so no device waits for what another one computes.
func Find(f *trace.Forest) (t Turns, ok bool) {
	const (
		most   = 0.02 // of chance
		least  = 0.05 // of the whole by chance
		few    = 16   // turns
		longer = 2    // a turn, at least, than the time before it
	)
	joined, independent := reductions(f)
	if !independent {
		return t, false
	}
	rows, names := alone(f, most)
	o := drivers.Find(f, rows, math.Inf(1))
	if o.Chance < least*o.WholeNS || o.WholeNS == 0 {
		return t, false
	}
	t = Turns{Operations: names, ChanceNS: int64(o.Chance)}
	var took, before []int64
	devices := make(map[int32]bool)
	joinedBefore := func(r *int32) int {
		return sort.Search(len(joined), func(i int) bool { return joined[i] > f.Start(*r) })
	}
	for between := range order.RunsOf(rows, joinedBefore) {
		ofDevice := make(map[int32]int64)
		last := int64(0)
		for turn := range order.RunsOf(between, func(r *int32) int32 { return f.Device(*r) }) {
			from, to := f.Start(turn[0]), int64(0)
			for _, r := range turn {
				to = max(to, f.End(r))
			}
			if last > 0 { // what the device does before its first operation is of its turn
				before = append(before, max(0, from-last))
				from = min(from, last)
			}
			took = append(took, to-from)
			ofDevice[f.Device(turn[0])] += to - from
			devices[f.Device(turn[0])] = true
			last = max(last, to)
		}
		longest := int64(0)
		for _, ns := range ofDevice {
			t.NS += ns
			longest = max(longest, ns)
		}
		t.NS -= longest
	}
	t.Count = int64(len(took))
	t.Devices = len(devices)
	isSoon := sum(took) >= (1+longer)*sum(before)
	return t, t.Count >= few && t.Count >= 3*int64(len(joined)) && isSoon
}

func sum(list []int64) (ns int64) {
	for _, x := range list {
		ns += x
	}
	return ns
}

// reductions returns the latest starts of the collectives of several devices of a process, by time. independent is
// false without any, or if devices send each other data.
func reductions(f *trace.Forest) (starts []int64, independent bool) {
	if len(f.Devices.Keys) < 2 || len(f.Collectives) == 0 || len(collective.Transfers(f)) > 0 {
		return nil, false
	}
	for _, name := range f.Names.Operations.Values {
		if strings.Contains(name, "PtoP") {
			return nil, false
		}
	}
	process := f.Processes()
	for parts := range collective.FindJoins(f).All() {
		name := f.Names.Collectives.Values[parts[0].Name].Name
		if collective.IsSend(name) || collective.IsReceive(name) {
			return nil, false
		}
		latest := parts[0].Start
		for i := range parts {
			if process[f.Lane(parts[i].Row)] != process[f.Lane(parts[0].Row)] {
				return nil, false
			}
			latest = max(latest, parts[i].Start)
		}
		if len(parts) > 1 {
			starts = append(starts, latest)
		}
	}
	slices.Sort(starts)
	return starts, len(starts) > 0
}

// alone returns the operations that run on one device at a time, by start, and their names, the longest first: those
// that keep the time together below a part of what chance has.
func alone(f *trace.Forest, most float64) (rows []int32, names []string) {
	const several, share = 32, 100 // names, and the least part of the time of one
	compute := make([]int32, 0, len(f.Devices.ByStart))
	for _, r := range f.Devices.ByStart {
		if f.Kind(r) == op.KindCompute && !f.Devices.Keys[f.Device(r)].IsNone() {
			compute = append(compute, r)
		}
	}
	ns := make([]int64, len(f.Names.Operations.Values)) // by name
	byName, first := order.GroupRows(compute, len(ns), nil, func(i int32) int32 { return f.Name(compute[i]) })
	for _, r := range compute {
		ns[f.Name(r)] += f.Duration(r)
	}
	whole := sum(ns)
	alone := int64(0) // of rows
	all := order.Numbers(len(ns), func(a, b int32) int {
		if d := cmp.Compare(ns[b], ns[a]); d != 0 || ns[a] == 0 {
			return d
		}
		return f.CompareStart(byName[first[a]], byName[first[b]])
	})
	for _, n := range all[:min(len(all), several)] {
		if ns[n] == 0 || ns[n]*share < whole {
			break
		}
		with := byName[first[n]:first[n+1]]
		if rows != nil {
			with = slices.Concat(rows, with)
			order.Rows(with, f.Start, f.CompareStart)
		}
		took := float64(alone + ns[n])
		chance := took * took / 2 / float64(max(1, f.Start(with[len(with)-1])-f.Start(with[0]))) // at most
		if o := drivers.Find(f, with, most*chance); o.NS <= most*min(chance, o.Chance) {
			rows = with
			alone += ns[n]
			names = append(names, f.Names.Operations.Values[n])
		}
	}
	return rows, names
}
