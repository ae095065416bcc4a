package launch

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Launches sums up operations with a known launch on the host.
type Launches struct {
	timeline.TimeAxis
	// Count is their number. Early counts starts before the launch, EarlyMaxNS is the largest lead.
	Count      int64 `json:"count"`
	Early      int64 `json:"early"`
	EarlyMaxNS int64 `json:"early_max_ns"`
	// EnqueueNS is the running time of launching operations on the host, overlaps counted once.
	EnqueueNS int64 `json:"enqueue_ns"`
	// Streams has a row per stream with launches, by device and stream.
	Streams []Stream `json:"streams"`
	// Path is the critical path across host and devices.
	Path *Path `json:"path"`
}

// Stream sums up the operations of one stream.
type Stream struct {
	device.Key
	// Stream is nil for operations without a stream.
	Stream op.Int `json:"stream"`
	// Count is the number of operations with a known launch.
	Count int64 `json:"count"`
	// Overhead is the time from launch to start of operations held up by their launch alone: their stream was idle, no
	// operation on another stream ended meanwhile and less than 30 µs before the start, and they were not early.
	Overhead Overhead `json:"overhead"`
	// WaitingNS sums up the times from launch to start, MaxDepth and Depth, by bucket, count waiting operations.
	WaitingNS int64   `json:"waiting_ns"`
	MaxDepth  int64   `json:"max_depth"`
	Depth     []int64 `json:"depth"`
	// Idle divides the idle time between the operations of the stream.
	Idle Idle `json:"idle"`
}

// Overhead sums up times from a launch to a start.
type Overhead struct {
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
	// MedianNS and P95NS are unknown if Count is 0.
	MedianNS op.Int `json:"median_ns"`
	P95NS    op.Int `json:"p95_ns"`
	MaxNS    int64  `json:"max_ns"`
}

// Idle divides the idle time of a stream by the cause of each gap: the reason for the wait of the operation after it.
type Idle struct {
	// Host: its launch came after the beginning of the gap.
	Host timeline.IdleSum `json:"host"`
	// Dependency: an operation on another stream of the device ended less than the threshold before the gap's end.
	Dependency timeline.IdleSum `json:"dependency"`
	// Queue: it was launched, and the gap is shorter than the threshold.
	Queue timeline.IdleSum `json:"queue"`
	// Other: all other gaps, and gaps before operations without a launch.
	Other timeline.IdleSum `json:"other"`
}

// launched has the operations of devices with launches.
type launched struct {
	f *trace.Forest
	// order lists operations by end, before the place of the previous one on the stream, or trace.NoRow.
	order, before []int32
	// devices lists the places of the operations of each device, numbers has their numbers in it, by place.
	devices [][]int32
	numbers []int32
	places  []int32 // by row
}

// Find returns the figures on launches, nil if no launch is known.
func Find(f *trace.Forest, buckets int) *Launches {
	f.Build()
	all := launchedRows(f)
	if all == nil {
		return nil
	}
	l := &Launches{TimeAxis: timeline.AxisOf(f, buckets), Streams: []Stream{}}
	for _, device := range f.Devices.Order {
		if all.devices[device] == nil {
			continue
		}
		for _, rows := range rowsOfStreams(f, f.Devices.Of(device)) {
			l.addStream(f, all, device, rows)
		}
	}
	l.EnqueueNS = enqueueTime(f, all)
	l.Path = all.path()
	return l
}

// launchedRows returns the operations of devices with a known launch, nil without such devices.
func launchedRows(f *trace.Forest) *launched {
	l := &launched{f: f, devices: make([][]int32, len(f.Devices.Keys))}
	for _, device := range f.Devices.Order {
		rows := f.Devices.Of(device)
		if slices.ContainsFunc(rows, func(r int32) bool { return f.Has(r, trace.FlagLaunch) }) {
			l.order = append(l.order, rows...)
		}
	}
	if len(l.order) == 0 {
		return nil
	}
	slices.SortFunc(l.order, l.compare)
	l.before = slices.Repeat([]int32{trace.NoRow}, len(l.order))
	l.numbers = make([]int32, len(l.order))
	l.places = make([]int32, f.Len())
	last := slices.Repeat([]int32{trace.NoRow}, f.Devices.NumStreams())
	for i, r := range l.order {
		place := int32(i)
		stream := f.DeviceStreamOf(r)
		l.before[i] = last[stream]
		last[stream] = place
		l.places[r] = place
		of := &l.devices[f.Device(r)]
		l.numbers[i] = int32(len(*of))
		*of = append(*of, place)
	}
	return l
}

func (l *launched) compare(a, b int32) int {
	return cmp.Or(cmp.Compare(l.f.End(a), l.f.End(b)), l.f.CompareStart(a, b))
}

// rowsOfStreams divides the rows of a device by stream, in the order of stream numbers, rows without a stream first.
func rowsOfStreams(f *trace.Forest, rows []int32) [][]int32 {
	byStream := make(map[int32][]int32)
	for _, r := range rows {
		s := f.DeviceStreamOf(r)
		byStream[s] = append(byStream[s], r)
	}
	id := func(rows []int32) op.Int { return f.Names.Lanes.Values[f.Lane(rows[0])].Stream }
	return slices.SortedFunc(maps.Values(byStream), func(a, b []int32) int { return order.Ints(id(a), id(b)) })
}

func (l *Launches) addStream(f *trace.Forest, all *launched, device int32, rows []int32) {
	s := Stream{
		Key: f.Devices.Keys[device], Stream: f.Names.Lanes.Values[f.Lane(rows[0])].Stream,
		Depth: make([]int64, l.Buckets),
	}
	var waiting wide.Sum
	var overhead []int64
	latest := int64(-trace.MaxTime)
	for i, r := range rows {
		start := f.Start(r)
		if f.Has(r, trace.FlagLaunch) {
			s.Count++
			wait := max(0, start-f.Launched(r))
			switch early := f.Launch(r) - start; {
			case early > 0:
				l.Early++
				l.EarlyMaxNS = max(l.EarlyMaxNS, early)
			case latest <= f.Launch(r) && all.dependency(r, f.Launch(r)) == trace.NoRow:
				overhead = append(overhead, wait)
			}
			waiting.Add(wait)
		}
		if i > 0 && latest < start {
			all.gapOf(&s.Idle, r, latest).Add(start - latest)
		}
		latest = max(latest, f.End(r))
	}
	l.Count += s.Count
	s.Overhead = overheadOf(overhead)
	s.WaitingNS = waiting.Int64()
	l.addDepth(f, &s, rows)
	l.Streams = append(l.Streams, s)
}

func overheadOf(ns []int64) (o Overhead) {
	if len(ns) == 0 {
		return o
	}
	slices.Sort(ns)
	var sum wide.Sum
	for _, n := range ns {
		sum.Add(n)
	}
	at := func(percent int64) op.Int { return op.Known(ns[sketch.Place(int64(len(ns)), percent)]) }
	return Overhead{int64(len(ns)), sum.Int64(), at(50), at(95), ns[len(ns)-1]}
}

func (l *Launches) addDepth(f *trace.Forest, s *Stream, rows []int32) {
	var from, to []int64
	for _, r := range rows {
		if f.Has(r, trace.FlagLaunch) && f.Launch(r) < f.Start(r) {
			from = append(from, f.Launch(r))
			to = append(to, f.Start(r))
		}
	}
	slices.Sort(from) // the starts are in order
	var depth, at int64
	end := l.StartNS + l.WidthNS*int64(l.Buckets)
	step := func(to, change int64) {
		if depth > 0 {
			l.Spread(max(at, l.StartNS), min(to, end), func(b int, _ int64) { s.Depth[b] = max(s.Depth[b], depth) })
		}
		at = to
		depth += change
		s.MaxDepth = max(s.MaxDepth, depth)
	}
	for _, start := range to {
		for ; len(from) > 0 && from[0] < start; from = from[1:] {
			step(from[0], 1)
		}
		step(start, -1)
	}
}

// gapOf returns the sum in d for the gap between from and the start of r.
func (l *launched) gapOf(d *Idle, r int32, from int64) *timeline.IdleSum {
	f := l.f
	switch {
	case !f.Has(r, trace.FlagLaunch):
		return &d.Other
	case f.Launched(r) > from:
		return &d.Host
	case l.dependency(r, from) != trace.NoRow:
		return &d.Dependency
	case f.Start(r)-from < int64(timeline.IdleThreshold):
		return &d.Queue
	}
	return &d.Other
}

// dependency returns the place of the last operation to end on another stream of the device before the start of r: later
// than after, and less than the threshold before the start. It returns trace.NoRow without one.
func (l *launched) dependency(r int32, after int64) int32 {
	f := l.f
	places := l.devices[f.Device(r)]
	start := f.Start(r)
	stream := f.DeviceStreamOf(r)
	ended := func(i int) bool { return f.End(l.order[places[i]]) <= start }
	own := int(l.numbers[l.places[r]])
	if ended(own) { // it has no duration
		own = len(places)
	}
	i := lastEnded(own, ended)
	const most = 256 // operations without duration
	for n := 0; i >= 0 && n < most; i, n = i-1, n+1 {
		other := l.order[places[i]]
		end := f.End(other)
		if end <= after || start-end >= int64(timeline.IdleThreshold) {
			break
		}
		if f.DeviceStreamOf(other) != stream && l.compare(other, r) < 0 {
			return places[i]
		}
	}
	return trace.NoRow
}

// lastEnded returns the last ended one of n places, in the order of ends, or -1. It examines the last ones first.
func lastEnded(n int, ended func(i int) bool) int {
	step := 1
	for step <= n && !ended(n-step) {
		step *= 2
	}
	from := max(0, n-step)
	return from + sort.Search(n-from, func(i int) bool { return !ended(from + i) }) - 1
}

// enqueueTime returns the running time of launching operations, at each launch the last host operation to start.
func enqueueTime(f *trace.Forest, l *launched) int64 {
	var hosts []int32
	for r := range f.Rows() {
		const all = trace.FlagOp | trace.FlagHost | trace.FlagStart | trace.FlagRepeat
		if f.Flags(r)&all == all&^trace.FlagRepeat {
			hosts = append(hosts, r)
		}
	}
	if len(hosts) == 0 {
		return 0
	}
	slices.SortFunc(hosts, f.CompareStart)
	var at []int64
	for _, r := range l.order {
		if f.Has(r, trace.FlagLaunch) {
			at = append(at, f.Launch(r))
		}
	}
	slices.Sort(at)
	var launching, open []int32 // open are the started operations, by start
	next := 0
	for _, launch := range at {
		for ; next < len(hosts) && f.Start(hosts[next]) <= launch; next++ {
			open = append(open, hosts[next])
		}
		for len(open) > 0 && f.End(open[len(open)-1]) < launch {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			launching = append(launching, open[len(open)-1])
		}
	}
	slices.SortFunc(launching, f.CompareStart)
	var times timeline.Times
	for _, r := range launching {
		times.Add(f.Start(r), f.End(r))
	}
	return times.Within(-trace.MaxTime, trace.MaxTime)
}
