package timeline

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/trace"
)

// IdleThreshold is up to where a gap before an operation that the host had launched in time is put
// down to queueing.
const IdleThreshold = 30 * time.Microsecond

// IdleCause says why nothing ran on a device.
type IdleCause string

// The causes.
const (
	// IdleHost: the next operation was launched only after the gap had begun.
	IdleHost IdleCause = "host"
	// IdleQueue: it had been launched, and the gap is shorter than the threshold.
	IdleQueue IdleCause = "queue"
	// IdleOther: it had been launched and was kept waiting for longer, or
	// nothing is known of its launch.
	IdleOther IdleCause = "other"
	// IdleNoRequest: every operation of the device belongs to a request, and none was under way.
	IdleNoRequest IdleCause = "no_request"
)

// Gaps has the longest idle gaps and the sums of all.
type Gaps struct {
	IdleCauses
	Longest []IdleGap // longest first
}

// IdleGap is a maximal time within the span of a device in which nothing ran.
type IdleGap struct {
	device.Key
	StartNS    int64     `json:"start_unix_ns"`
	DurationNS int64     `json:"duration_ns"`
	Cause      IdleCause `json:"cause"`
	// After and Before are the operations between which the gap lies.
	After  string `json:"after"`
	Before string `json:"before"`
}

// IdleDevice sums up the gaps of a device. The sums add up to its idle time.
type IdleDevice struct {
	device.Key
	Host  IdleSum `json:"host"`
	Queue IdleSum `json:"queue"`
	Other IdleSum `json:"other"`
	// NoRequest has the parts of gaps in which no request was under way; the rest of such a gap has one of the other causes.
	NoRequest IdleSum `json:"no_request"`
}

// IdleSum sums up the gaps of one cause.
type IdleSum struct {
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
}

// Idle returns the idle gaps of all devices with their causes. Time before the
// first and after the last operation of a device is no gap.
//
// The cause follows from when the operation after the gap was launched: at its
// launch time, or else while the nearest span above it ran that is no operation
// or the host's view of one. When such a span was
// running as the gap began, the launch may lie on either side of that and the
// cause is other.
//
// Where every operation of a device belongs to a request, the time in which none is under way is not idleness of the
// device, and counts apart. The cause of a gap is that of its larger part.
//
// It lists the top longest gaps; with a top of 0 or less none.
func Idle(f *trace.Forest, top int) *Gaps { return idleGaps(f, IdleThreshold, top) }

func idleGaps(f *trace.Forest, threshold time.Duration, top int) *Gaps {
	f.Build()
	idle := &Gaps{IdleCauses: IdleCauses{ThresholdNS: int64(threshold), Devices: []IdleDevice{}}}
	longest := []IdleGap{}
	above := int64(0) // up to this length a gap is not among the longest
	if top = max(0, top); top == 0 {
		above = math.MaxInt64
	}
	owners, asked := requestTimes(f)
	hosts := hostsAbove(f)
	for key, rows := range f.Devices.All() {
		sums := IdleDevice{Key: key}
		onlyRequests := owners != nil && !slices.ContainsFunc(rows, func(r int32) bool {
			return owners[r] == trace.NoRow || int(owners[r]) >= f.Len() // a request that was not read
		})
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
	return idle
}

// firstGaps returns the top longest of gaps, which it sorts: by device and time where they are equally long.
func firstGaps(gaps []IdleGap, top int) []IdleGap {
	slices.SortStableFunc(gaps, func(a, b IdleGap) int { return cmp.Compare(b.DurationNS, a.DurationNS) })
	return gaps[:min(len(gaps), top)]
}

// requestTimes returns the request of each row and when any request was under way, nil where there are no spans.
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

// Add adds a gap.
func (s *IdleSum) Add(length int64) {
	s.Count++
	s.SumNS += length
}

// hostsAbove returns the nearest row above each that is no operation of a device, trace.NoRow for none.
func hostsAbove(f *trace.Forest) []int32 {
	hosts := slices.Repeat([]int32{trace.NoRow}, f.Len())
	for _, r := range f.Nesting().Rows() {
		if p := f.Tree.Parent[r]; p != trace.NoRow && f.IsDeviceSide(p) {
			hosts[r] = hosts[p]
		} else {
			hosts[r] = p
		}
	}
	return hosts
}

// idleCause returns why nothing ran from start on for so long before the operation in row next, given what is above each row.
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

// launchTime returns between which times the operation in row r was launched: when the launching call ended, or else in the
// time of the span of the host above.
func launchTime(f *trace.Forest, r, host int32) (earliest, latest int64, ok bool) {
	if f.Has(r, trace.FlagLaunch) {
		return f.Launched(r), f.Launched(r), true
	}
	if host == trace.NoRow || !f.Has(host, trace.FlagStart) {
		return 0, 0, false
	}
	return f.Start(host), f.End(host), true
}

// IdleCauses sums up the idle time of each device by cause.
type IdleCauses struct {
	// ThresholdNS is up to where a gap counts as queueing.
	ThresholdNS int64 `json:"threshold_ns"`
	// Devices has a row per device that idled, by rank and name.
	Devices []IdleDevice `json:"devices"`
}
