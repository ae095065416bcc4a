package timeline

import (
	"cmp"
	"slices"
)

// Counter is a counter of a device over time.
type Counter struct {
	Group Group
	// Name is "memory in use", the bytes of running operations, or "utilisation", the percentage of time with a running
	// operation.
	Name      string
	IsPercent bool
	// Points are in order of time. A value holds until the next one.
	Points []Point
}

// Point is a value from a time on, in Unix nanoseconds.
type Point struct{ At, Value int64 }

const utilisationBuckets = 500

// Counters returns the counters of each device with operations that have starts, by rank and name. Operations of the
// host's side do not count.
func (t *Timeline) Counters() []Counter {
	var all []Counter
	for from := 0; from < len(t.Slices); {
		group := t.Slices[from].Group
		var work []*Slice
		to := from
		for ; to < len(t.Slices) && t.Slices[to].Group == group; to++ {
			if s := &t.Slices[to]; !s.IsService && !s.Bare && !s.OnHost {
				work = append(work, s)
			}
		}
		from = to
		if len(work) == 0 {
			continue
		}
		slices.SortStableFunc(work, func(a, b *Slice) int { return cmp.Compare(a.Start, b.Start) })
		if points := memoryInUse(work); len(points) > 0 {
			all = append(all, Counter{group, "memory in use", false, points})
		}
		if points := utilisation(work); len(points) > 0 {
			all = append(all, Counter{group, "utilisation", true, points})
		}
	}
	return all
}

// memoryInUse returns the memory of running operations, nil if no operation states any. Sums beyond 64 bits wrap
// around.
func memoryInUse(work []*Slice) []Point {
	var changes []Point
	for _, s := range work {
		if s.Bytes.V != 0 && s.Start < s.End() {
			changes = append(changes, Point{s.Start, s.Bytes.V}, Point{s.End(), -s.Bytes.V})
		}
	}
	slices.SortStableFunc(changes, func(a, b Point) int { return cmp.Compare(a.At, b.At) })
	var points []Point
	sum := int64(0)
	for i, c := range changes {
		sum += c.Value
		if i+1 < len(changes) && changes[i+1].At == c.At {
			continue
		}
		points = appendPoint(points, c.At, sum)
	}
	return points
}

// appendPoint appends a value unless it equals the last one.
func appendPoint(points []Point, at, value int64) []Point {
	if n := len(points); n > 0 && points[n-1].Value == value {
		return points
	}
	return append(points, Point{at, value})
}

// utilisation returns the percentage of time with a running operation, from the first start to the last end; nil for an
// empty time. work is sorted by start.
func utilisation(work []*Slice) []Point {
	first, last := work[0].Start, work[0].Start
	for _, s := range work {
		last = max(last, s.End())
	}
	length := uint64(last) - uint64(first)
	if length == 0 {
		return nil
	}
	width := (length-1)/utilisationBuckets + 1
	busy := make([]uint64, (length-1)/width+1)
	done := uint64(0) // how far, from first, the operations so far reach
	for _, s := range work {
		from, to := max(done, uint64(s.Start)-uint64(first)), uint64(s.End())-uint64(first)
		done = max(done, to)
		for from < to {
			bucket := from / width
			end := to
			if int(bucket)+1 < len(busy) {
				end = min(to, (bucket+1)*width)
			}
			busy[bucket] += end - from
			from = end
		}
	}
	var points []Point
	for i, ns := range busy {
		at := uint64(i) * width
		part := min(width, length-at)
		points = appendPoint(points, int64(uint64(first)+at), int64((float64(ns)*100)/float64(part)+0.5))
	}
	return appendPoint(points, last, 0)
}
