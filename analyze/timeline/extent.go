package timeline

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// Blocks is the number of equal parts of the devices' time for comparing devices.
const Blocks = 16

const maxTimes = 16

// Extent is the time from the first start to the last end of all operations and spans, including the host's, and of calls
// but the runtime's: ranges, and frames of Python. It has the work of devices and host within it.
//
//	host    prepare [0,60)
//	cuda:0  matmul [60,90), relu [80,100)
//
//	Duration 100, Host prepare 60, HostNS 60
type Extent struct {
	StartNS, DurationNS int64
	// Devices has a row per device with started operations, by rank and name.
	Devices []DeviceWork
	// HostNS is the time of host activity while a device was idle, summed over devices. Without devices the host counts
	// as for one device.
	HostNS int64
	// Host divides HostNS by the innermost operation or span on the host, the last to start. Largest first.
	Host []HostTime
	// Calls divides the time without any operation or span on the host by the innermost call of the host, the last to
	// start. Largest first.
	Calls []HostTime
}

// DeviceWork is the work of a device except communication.
type DeviceWork struct {
	device.Key
	// BlockNS is the sum of durations by the block of the start.
	BlockNS [Blocks]int64
	// Count, FLOPs and Elements are sums over operations.
	Count, FLOPs, Elements int64
}

// HostTime is the time of a host operation or span while devices were idle.
type HostTime struct {
	Operation string
	IsOp      bool
	TimeNS    int64
	// FirstNS is the part of TimeNS in the earliest instance.
	FirstNS int64
	// Longest is the idle gap of a device with the largest part of it.
	Longest HostGap
}

// HostGap is an idle time of a device: before its first operation, between two, or after the last.
type HostGap struct {
	device.Key
	StartNS, DurationNS int64
	// HostNS is the time of the host operation in it.
	HostNS int64
}

// ExtentOf returns the extent of f.
func ExtentOf(f *trace.Forest) *Extent {
	f.Build()
	e := &extents{hosts: newHosts(f, nil), sums: make(map[hostKey]*hostSum), longGaps: make(map[longKey][]HostGap)}
	if e.first <= e.last {
		e.StartNS = e.first
		e.DurationNS = e.last - e.first
	}
	for key, rows := range f.Devices.All() {
		e.device(key, rows)
	}
	if len(e.Devices) == 0 && e.DurationNS > 0 {
		e.startDevice(device.Key{})
		e.gap(e.StartNS, e.StartNS+e.DurationNS)
		e.Devices = nil
	}
	e.walkLong(func(_ *Place, innermost int32, ns int64) { e.add(innermost, ns) })
	for _, h := range e.sums {
		h.inGap = 0
	}
	for k, gaps := range e.longGaps {
		e.longest(k, gaps)
	}
	for key, h := range e.sums {
		if key.name == trace.NoRow {
			e.Calls = append(e.Calls, h.HostTime)
		} else {
			e.Host = append(e.Host, h.HostTime)
		}
	}
	e.Host = largestTimes(e.Host)
	e.Calls = largestTimes(e.Calls)
	return &e.Extent
}

// Lead returns the calls before the first operation of a device, and their time. Those of the runtime, and those that read
// the input, do not count.
func (e *Extent) Lead() (ns int64, calls []HostTime) {
	for _, c := range e.Calls {
		if c.Longest.StartNS == e.StartNS && !attrkey.IsInput(c.Operation) && !attrkey.IsRuntime(c.Operation) {
			ns += c.Longest.HostNS
			calls = append(calls, c)
		}
	}
	return ns, calls
}

func largestTimes(times []HostTime) []HostTime {
	slices.SortFunc(times, func(a, b HostTime) int {
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), cmp.Compare(a.Operation, b.Operation),
			order.Flags(a.IsOp, b.IsOp), b.Longest.compare(&a.Longest))
	})
	return times[:min(len(times), maxTimes)]
}

type extents struct {
	Extent
	hosts
	sums     map[hostKey]*hostSum
	at       *DeviceWork // the current device
	gaps     int64
	longGaps map[longKey][]HostGap // has the gaps left to walkLong
}

type hostKey struct {
	name int32 // of a row, or NoRow
	isOp bool
	call string
}

type hostSum struct {
	HostTime
	gap, inGap int64 // the latest gap's number, and the time in it
	first      int32 // the row of the first call
}

func (e *extents) startDevice(k device.Key) {
	e.Devices = append(e.Devices, DeviceWork{Key: k})
	e.at = &e.Devices[len(e.Devices)-1]
	e.enter(k.Rank)
}

func (e *extents) device(k device.Key, rows []int32) {
	f := e.forest
	e.startDevice(k)
	from := f.Devices.FirstStart
	to := f.Devices.LastEnd
	for _, r := range rows {
		if f.Kind(r) != op.KindCollective && f.Kind(r) != op.KindMemory { // copies are work of the link
			block := (f.Start(r) - from) / max(1, (to-from+Blocks-1)/Blocks)
			e.at.BlockNS[min(Blocks-1, block)] += f.Duration(r)
			e.at.Count++
			e.at.FLOPs += f.Flops(r)
			e.at.Elements += f.Elements(r)
		}
	}
	at := f.Start(rows[0])
	if e.StartNS < at {
		e.gap(e.StartNS, at)
	}
	for s := range sweep(f, rows) {
		if at = s.to; s.from+s.busy < s.to {
			e.gap(s.from+s.busy, s.to)
		}
	}
	if end := e.StartNS + e.DurationNS; at < end {
		e.gap(at, end)
	}
}

// gap adds an idle time of the current device.
func (e *extents) gap(from, to int64) {
	e.gaps++
	if e.forest.EndedAt(int(e.gaps)) {
		return
	}
	g := HostGap{Key: e.at.Key, StartNS: from, DurationNS: to - from}
	isLong := e.walk(nil, from, to, func(innermost int32, ns int64) {
		if innermost == nobody {
			return
		}
		h := e.add(innermost, ns)
		if h.gap != e.gaps {
			h.gap = e.gaps
			h.inGap = 0
		}
		h.inGap += ns
		h.consider(g)
	})
	if isLong {
		for _, k := range []longKey{{layer: e.around}, {layer: e.beside, above: e.around}} {
			if k.layer != nil {
				e.longGaps[k] = append(e.longGaps[k], g)
			}
		}
	}
}

// add adds idle time with row or call i innermost.
func (e *extents) add(i int32, ns int64) *hostSum {
	h := e.sumOf(i)
	h.TimeNS += ns
	if i < 0 {
		return h
	}
	e.HostNS += ns
	if h.first == trace.NoRow || e.forest.CompareStart(i, h.first) < 0 {
		h.first = i
		h.FirstNS = 0
	}
	if i == h.first {
		h.FirstNS += ns
	}
	return h
}

// consider makes gap g, with inGap, the longest if it is.
func (h *hostSum) consider(g HostGap) {
	if g.HostNS = h.inGap; g.HostNS >= h.Longest.HostNS && g.compare(&h.Longest) > 0 {
		h.Longest = g
	}
}

// compare orders gaps by the host's time in them, descending start, length and descending device.
func (g *HostGap) compare(o *HostGap) int {
	if d := cmp.Or(cmp.Compare(g.HostNS, o.HostNS), cmp.Compare(o.StartNS, g.StartNS)); d != 0 {
		return d
	}
	return cmp.Or(cmp.Compare(g.DurationNS, o.DurationNS), o.Key.Compare(g.Key))
}

// longest considers gaps with the rows or calls of k. Gaps within another one are not the longest. All inGap are 0
// before and after it.
func (e *extents) longest(k longKey, gaps []HostGap) {
	slices.SortFunc(gaps, func(a, b HostGap) int {
		return cmp.Or(cmp.Compare(a.StartNS, b.StartNS), cmp.Compare(b.DurationNS, a.DurationNS), a.Key.Compare(b.Key))
	})
	leave := func(from, to int64) {
		k.layer.overlaps([]interval{{from, to}}, func(i int32, _ int, from, to int64) {
			if ns := e.within(k, from, to); ns > 0 {
				e.sumOf(i).inGap -= ns
			}
		})
	}
	last := interval{-trace.MaxTime, -trace.MaxTime}
	for _, g := range gaps {
		gap := interval{g.StartNS, g.StartNS + g.DurationNS}
		if gap.to <= last.to {
			continue
		}
		leave(last.from, min(last.to, gap.from))
		entered := interval{max(last.to, gap.from), gap.to}
		k.layer.overlaps([]interval{entered}, func(i int32, _ int, from, to int64) {
			if ns := e.within(k, from, to); ns > 0 {
				h := e.sumOf(i)
				h.inGap += ns
				h.consider(g)
			}
		})
		last = gap
	}
	leave(last.from, last.to)
}

func (e *extents) sumOf(i int32) *hostSum {
	key := hostKey{name: trace.NoRow}
	if i < 0 {
		key.call = e.name(i)
	} else {
		key = hostKey{name: e.forest.Name(i), isOp: e.forest.Has(i, trace.FlagOp)}
	}
	h := e.sums[key]
	if h == nil {
		h = &hostSum{HostTime: HostTime{Operation: e.name(i), IsOp: key.isOp}, first: trace.NoRow}
		e.sums[key] = h
	}
	return h
}
