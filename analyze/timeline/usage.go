package timeline

import (
	"iter"
	"sort"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/heap"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/trace"
)

const maxBuckets = 100_000

// TimeAxis divides the time from the first start to the last end of all devices into buckets of equal width. The last
// bucket may extend beyond the end.
type TimeAxis struct {
	// StartNS is in Unix nanoseconds, WidthNS in nanoseconds.
	StartNS int64 `json:"start_unix_ns"`
	WidthNS int64 `json:"bucket_ns"`
	// Buckets is the number of buckets, 0 if no operation has a start.
	Buckets int `json:"buckets"`
}

func (a *TimeAxis) bucket(at int64) int { return int((at - a.StartNS) / a.WidthNS) }

// Spread calls add with each bucket that overlaps [from, to) and the length of the overlap.
func (a *TimeAxis) Spread(from, to int64, add func(bucket int, length int64)) {
	for from < to {
		b := a.bucket(from)
		end := min(to, a.StartNS+int64(b+1)*a.WidthNS)
		add(b, end-from)
		from = end
	}
}

// Utilisation is the busy time of each device over time.
type Utilisation struct {
	TimeAxis
	// Devices has a row per device with started operations, by rank and name.
	Devices []DeviceUtilisation `json:"devices"`
}

// DeviceUtilisation is the busy time of one device over time.
type DeviceUtilisation struct {
	device.Key
	// BusyNS is the busy time in each bucket in nanoseconds. It adds up to the device's busy time.
	BusyNS []int64 `json:"busy_ns"`
}

// UseOf returns the busy time of each device in buckets. Their number is limited to maxBuckets and to the number
// of nanoseconds.
func UseOf(f *trace.Forest, buckets int) *Utilisation {
	f.Build()
	u := &Utilisation{TimeAxis: AxisOf(f, buckets), Devices: []DeviceUtilisation{}}
	for key, rows := range f.Devices.All() {
		use := DeviceUtilisation{Key: key, BusyNS: make([]int64, u.Buckets)}
		for s := range sweep(f, rows) {
			u.Spread(s.from, s.from+s.busy, func(b int, length int64) { use.BusyNS[b] += length })
		}
		u.Devices = append(u.Devices, use)
	}
	return u
}

// AxisOf divides the time of all devices into buckets.
func AxisOf(f *trace.Forest, buckets int) TimeAxis {
	d := &f.Devices
	if len(d.Rows) == 0 {
		return TimeAxis{}
	}
	length := max(1, d.LastEnd-d.FirstStart)
	wanted := int64(max(1, min(buckets, maxBuckets)))
	width := length / wanted
	if width*wanted < length {
		width++
	}
	return TimeAxis{StartNS: d.FirstStart, WidthNS: width, Buckets: int((length-1)/width) + 1}
}

// maxConcurrency is the highest number of simultaneous operations in [DeviceConcurrency]. Higher numbers count as this
// one.
const maxConcurrency = 256

// DeviceConcurrency is the number of simultaneous operations on a device.
type DeviceConcurrency struct {
	device.Key
	// TimeNS[k] is the time with k simultaneous operations in nanoseconds, within the device's span. TimeNS[0] is the
	// idle time, the sum is the span, and the last index is the highest number reached.
	TimeNS []int64 `json:"time_ns"`
}

// Concurrency returns the number of simultaneous operations on each device with started operations, by rank and name.
//
//	[0,50) and [30,80)   TimeNS [0 60 20]: one for 60 ns, two for 20 ns
func Concurrency(f *trace.Forest) []DeviceConcurrency {
	f.Build()
	list := []DeviceConcurrency{}
	for key, rows := range f.Devices.All() {
		c := DeviceConcurrency{Key: key, TimeNS: make([]int64, 1)}
		for l := range levels(f, rows) {
			running := min(len(l.running), maxConcurrency)
			for running >= len(c.TimeNS) {
				c.TimeNS = append(c.TimeNS, 0)
			}
			c.TimeNS[running] += l.to - l.from
		}
		list = append(list, c)
	}
	return list
}

// level is a time with a constant set of running operations.
type level struct {
	from, to int64
	running  []runningRow
	bytes    wide.Sum // memory of the running operations
}

type runningRow struct {
	end int64
	row int32
}

// levels yields the levels of rows sorted by start.
func levels(f *trace.Forest, rows []int32) iter.Seq[*level] {
	return func(yield func(*level) bool) {
		if len(rows) == 0 {
			return
		}
		l := level{from: f.Start(rows[0])}
		endsLater := func(a, b runningRow) bool { return a.end > b.end }
		running := heap.Heap[runningRow]{Less: endsLater} // first to end on top
		for next := 0; next < len(rows) || len(running.Items) > 0; {
			ends := next == len(rows) || len(running.Items) > 0 && running.Top().end <= f.Start(rows[next])
			if ends {
				l.to = running.Top().end
			} else {
				l.to = f.Start(rows[next])
			}
			l.running = running.Items
			if f.EndedAt(next) || l.from < l.to && !yield(&l) {
				return
			}
			l.from = l.to
			if ends {
				l.bytes.Sub(f.Memory(running.Pop().row))
				continue
			}
			l.bytes.Add(f.Memory(rows[next]))
			running.Push(runningRow{f.End(rows[next]), rows[next]})
			next++
		}
	}
}

// MemoryUse is the memory written and held by operations over time.
type MemoryUse struct {
	TimeAxis
	// Devices has a row per device with started operations, by rank and name.
	Devices []DeviceMemory `json:"devices"`
}

// DeviceMemory is the memory of one device over time.
type DeviceMemory struct {
	device.Key
	// WrittenBytes is the memory of operations starting in each bucket.
	WrittenBytes []int64 `json:"written_bytes"`
	// RunningBytes is the largest memory in each bucket of operations running at one time.
	RunningBytes []int64 `json:"running_bytes"`
}

// MemoryOf returns the memory of each device's operations in buckets, as for [UseOf]. Unknown memory counts as 0.
// Operations without duration count only in WrittenBytes.
func MemoryOf(f *trace.Forest, buckets int) *MemoryUse {
	f.Build()
	use := &MemoryUse{TimeAxis: AxisOf(f, buckets), Devices: []DeviceMemory{}}
	for key, rows := range f.Devices.All() {
		m := DeviceMemory{
			Key: key, WrittenBytes: make([]int64, use.Buckets), RunningBytes: make([]int64, use.Buckets),
		}
		written := make([]wide.Sum, use.Buckets)
		for _, r := range rows {
			// An operation without duration at the end of the axis belongs to the last bucket.
			written[min(use.bucket(f.Start(r)), use.Buckets-1)].Add(f.Memory(r))
		}
		for b := range written {
			m.WrittenBytes[b] = written[b].Int64()
		}
		for l := range levels(f, rows) {
			bytes := l.bytes.Int64()
			use.Spread(l.from, l.to, func(b int, _ int64) {
				m.RunningBytes[b] = max(m.RunningBytes[b], bytes)
			})
		}
		use.Devices = append(use.Devices, m)
	}
	return use
}

// Times is a list of disjoint, non-adjacent intervals, sorted by start.
type Times []span

type span struct {
	start, end int64
	before     int64 // the length of all earlier spans
}

// Add adds the interval [start, end). Add intervals by start. Overlapping and adjacent intervals merge.
func (t *Times) Add(start, end int64) {
	n := len(*t)
	switch {
	case end <= start:
	case n == 0:
		*t = Times{{start: start, end: end}}
	case start <= (*t)[n-1].end:
		(*t)[n-1].end = max((*t)[n-1].end, end)
	default:
		last := (*t)[n-1]
		*t = append(*t, span{start, end, last.before + last.end - last.start})
	}
}

// Within returns the length of the intervals inside [start, end).
func (t Times) Within(start, end int64) int64 { return t.until(end) - t.until(start) }

func (t Times) until(at int64) int64 {
	i := sort.Search(len(t), func(i int) bool { return t[i].start >= at }) - 1
	if i < 0 {
		return 0
	}
	return t[i].before + min(at, t[i].end) - t[i].start
}
