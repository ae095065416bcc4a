package analyze

import (
	"iter"
	"slices"
)

// MaxConcurrency is the highest number of operations at once that
// [DeviceConcurrency] tells apart; the time of higher ones counts as this.
const MaxConcurrency = 256

// DeviceConcurrency tells how many operations ran on a device at once.
type DeviceConcurrency struct {
	DeviceKey
	// Time is the time within the device's span in which k operations ran, at
	// index k, in nanoseconds: Time[0] is its idle time, and the sum is its
	// span. It ends with the highest number that was reached.
	Time []int64 `json:"time_ns"`
}

// Concurrency returns how many operations ran at once on each device with
// starts, by rank and name.
//
//	[0,50) and [30,80)   Time [0 60 20]: one for 60 ns, two for 20 ns
func (t *Trace) Concurrency() []DeviceConcurrency {
	t.Build()
	list := []DeviceConcurrency{}
	for _, device := range t.onDevice.order {
		rows := t.onDevice.of(device)
		if len(rows) == 0 {
			continue
		}
		c := DeviceConcurrency{DeviceKey: t.dict.devices.values[device], Time: make([]int64, 1)}
		for l := range t.levels(rows) {
			running := min(l.running, MaxConcurrency)
			for running >= len(c.Time) {
				c.Time = append(c.Time, 0)
			}
			c.Time[running] += l.to - l.from
		}
		list = append(list, c)
	}
	return list
}

// level is a time in which the same operations run.
type level struct {
	from, to int64
	running  int
	bytes    byteCount // memory of the running operations
}

// levels goes over rows, which are sorted by start, from the first start to
// the last end.
func (t *Trace) levels(rows []int32) iter.Seq[*level] {
	return func(yield func(*level) bool) {
		if len(rows) == 0 {
			return
		}
		byEnd := slices.Clone(rows)
		slices.SortFunc(byEnd, func(a, b int32) int { return compareInt(t.end(a), t.end(b)) })
		l := level{from: t.start(rows[0])}
		started, ended := 0, 0
		for ended < len(byEnd) {
			at := t.end(byEnd[ended])
			if started < len(rows) {
				at = min(at, t.start(rows[started]))
			}
			l.to = at
			if l.from < l.to && !yield(&l) {
				return
			}
			l.from = at
			for ; started < len(rows) && t.start(rows[started]) == at; started++ {
				l.running++
				l.bytes.add(t.memory(rows[started]))
			}
			for ; ended < len(byEnd) && t.end(byEnd[ended]) == at; ended++ {
				l.running--
				l.bytes.remove(t.memory(byEnd[ended]))
			}
		}
	}
}
