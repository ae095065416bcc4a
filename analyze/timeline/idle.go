package timeline

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/trace"
)

// IdleThreshold is the longest gap attributed to queueing, before an operation launched in time.
const IdleThreshold = 30 * time.Microsecond

// IdleCause is the reason for an idle gap of a device.
type IdleCause string

// Causes of idle gaps.
const (
	// IdleHost: the host launched the next operation after the gap had started.
	IdleHost IdleCause = "host"
	// IdleQueue: the next operation was already launched, and the gap is shorter than the threshold.
	IdleQueue IdleCause = "queue"
	// IdleOther: the next operation was already launched and waited longer, or its launch is unknown.
	IdleOther IdleCause = "other"
	// IdleNoRequest: every operation of the device belongs to a request, and no request was running.
	IdleNoRequest IdleCause = "no_request"
)

// Gaps has the longest idle gaps and the sums over all gaps.
type Gaps struct {
	IdleCauses
	Longest []IdleGap // longest first
	Places  []Place   // largest sum first, see [FirstPlaces]
}

// IdleGap is a maximal idle time between two operations of a device.
type IdleGap struct {
	device.Key
	StartNS    int64     `json:"start_unix_ns"`
	DurationNS int64     `json:"duration_ns"`
	Cause      IdleCause `json:"cause"`
	// After and Before are the operations around the gap.
	After  string `json:"after"`
	Before string `json:"before"`
}

// IdleDevice sums up the gaps of a device. Its sums add up to the idle time.
type IdleDevice struct {
	device.Key
	Host  IdleSum `json:"host"`
	Queue IdleSum `json:"queue"`
	Other IdleSum `json:"other"`
	// NoRequest sums up the parts of gaps without any running request. The rest of such a gap has another cause.
	NoRequest IdleSum `json:"no_request"`
}

// IdleSum sums up the gaps of one cause.
type IdleSum struct {
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
}

// Idle returns the idle gaps of all devices with their causes, and lists the top longest gaps. The time before the
// first and after the last operation of a device is not a gap.
//
// The cause depends on when the operation after the gap was launched: at its launch time, or else during the nearest
// span above it other than a device operation. If such a span was running at the start of the gap, the launch may be on
// either side, and the cause is IdleOther.
//
// If every operation of a device belongs to a request, time without a running request counts as IdleNoRequest. The
// cause of a gap is the cause of its larger part.
func Idle(f *trace.Forest, top int) *Gaps { return idleGaps(f, IdleThreshold, top) }

func idleGaps(f *trace.Forest, threshold time.Duration, top int) *Gaps {
	f.Build()
	idle := &Gaps{IdleCauses: IdleCauses{ThresholdNS: int64(threshold), Devices: []IdleDevice{}}}
	longest := []IdleGap{}
	above := int64(0) // gaps up to this length are not among the longest
	if top = max(0, top); top == 0 {
		above = math.MaxInt64
	}
	owners, asked := requestTimes(f)
	hosts := hostsAbove(f)
	places := newPlacer(f, owners)
	for key, rows := range f.Devices.All() {
		sums := IdleDevice{Key: key}
		onlyRequests := owners != nil && !slices.ContainsFunc(rows, func(r int32) bool {
			return owners[r] == trace.NoRow || int(owners[r]) >= f.Len() // a request that was not read
		})
		places.enter(key.Rank)
		for s := range sweep(f, rows) {
			start := s.from + s.busy
			length := s.to - start
			if length == 0 {
				continue
			}
			cause := idleCause(f, s.next, hosts, start, length, idle.ThresholdNS)
			quiet := int64(0)
			if onlyRequests {
				quiet = length - asked.Within(start, s.to)
			}
			if quiet > 0 {
				sums.NoRequest.Add(quiet)
			}
			if quiet < length {
				sums.of(cause).Add(length - quiet)
			}
			places.add(s.last, s.next, start, length, quiet)
			if length <= above {
				continue
			}
			if 2*quiet > length {
				cause = IdleNoRequest
			}
			longest = append(longest, IdleGap{key, start, length, cause, f.RowName(s.last), f.RowName(s.next)})
			if len(longest) > 2*top+64 {
				longest = firstGaps(longest, top)
				above = longest[top-1].DurationNS
			}
		}
		if sums.Host.Count+sums.Queue.Count+sums.Other.Count+sums.NoRequest.Count > 0 {
			idle.Devices = append(idle.Devices, sums)
		}
	}
	idle.Longest = firstGaps(longest, top)
	idle.Places = places.all()
	return idle
}

// firstGaps sorts gaps by length, keeping the order of equal lengths, and returns the first top.
func firstGaps(gaps []IdleGap, top int) []IdleGap {
	slices.SortStableFunc(gaps, func(a, b IdleGap) int { return cmp.Compare(b.DurationNS, a.DurationNS) })
	return gaps[:min(len(gaps), top)]
}

// requestTimes returns the request of each row and the times of all requests; nil if there are no spans.
func requestTimes(f *trace.Forest) (owners []int32, asked Times) {
	if len(f.Names.Spans.Values) == 0 {
		return nil, nil
	}
	owners = f.RequestOwners()
	var requests []int32
	for r, owner := range owners {
		if int(owner) == r && f.Has(owner, trace.FlagStart) {
			requests = append(requests, owner)
		}
	}
	slices.SortFunc(requests, func(a, b int32) int { return cmp.Compare(f.Start(a), f.Start(b)) })
	for _, r := range requests {
		asked.Add(f.Start(r), f.End(r))
	}
	return owners, asked
}

func (d *IdleDevice) of(c IdleCause) *IdleSum {
	switch c {
	case IdleHost:
		return &d.Host
	case IdleQueue:
		return &d.Queue
	}
	return &d.Other
}

// Add adds a gap of the given length.
func (s *IdleSum) Add(length int64) {
	s.Count++
	s.SumNS += length
}

// hostsAbove returns the nearest row above each row other than a device operation, or trace.NoRow.
func hostsAbove(f *trace.Forest) []int32 {
	const unknown = trace.NoRow - 1
	hosts := slices.Repeat([]int32{unknown}, f.Len())
	var below []int32 // rows with the same one
	for r := range f.Rows() {
		at := r
		for below = below[:0]; hosts[at] == unknown; {
			below = append(below, at)
			if p := f.Tree.Parent[at]; p == trace.NoRow || !f.IsDeviceSide(p) {
				hosts[at] = p
			} else {
				at = p
			}
		}
		for _, b := range below {
			hosts[b] = hosts[at]
		}
	}
	return hosts
}

// idleCause returns the cause of a gap of the given start and length before row next. hosts is the result of
// hostsAbove.
func idleCause(f *trace.Forest, next int32, hosts []int32, start, length, threshold int64) IdleCause {
	earliest, latest, ok := launchTime(f, next, hosts[next])
	switch {
	case ok && earliest > start:
		return IdleHost
	case ok && latest <= start && length < threshold:
		return IdleQueue
	}
	return IdleOther
}

// launchTime returns the bounds of the launch time of row r: the end of its launching call, or else the times of the
// host span above.
func launchTime(f *trace.Forest, r, host int32) (earliest, latest int64, ok bool) {
	if f.Has(r, trace.FlagLaunch) {
		return f.Launched(r), f.Launched(r), true
	}
	if host == trace.NoRow || !f.Has(host, trace.FlagStart) {
		return 0, 0, false
	}
	return f.Start(host), f.End(host), true
}

// IdleCauses sums up idle time by device and cause.
type IdleCauses struct {
	// ThresholdNS is the longest gap attributed to queueing.
	ThresholdNS int64 `json:"threshold_ns"`
	// Devices has a row per device with idle time, by rank and name.
	Devices []IdleDevice `json:"devices"`
}
