// Package profiler has the common parts of readers of profilers' recordings (Kineto, Nsight Systems): the nesting of a
// thread's intervals, texts held once, and a fingerprint of a recording.
package profiler

import (
	"cmp"
	"slices"
)

// Interval is a time span on a thread. Without a duration it is the instant of its start.
type Interval struct {
	Thread     uint32
	Start, End int64
}

// Intervals are the intervals of a table's N rows.
type Intervals struct {
	N          int
	At         func(i int32) Interval
	InnerFirst bool // set if the first of two intervals of equal time is the inner one
}

// Order returns the numbers of the intervals by thread and start, outer ones first.
func (s *Intervals) Order() []int32 {
	list := s.byThread()
	for start := 0; start < len(list); {
		thread := s.At(list[start]).Thread
		end := start + 1
		for end < len(list) && s.At(list[end]).Thread == thread {
			end++
		}
		slices.SortFunc(list[start:end], s.compare) // mostly in order already
		start = end
	}
	return list
}

// byThread returns the numbers of the intervals by thread, in order within a thread.
func (s *Intervals) byThread() []int32 {
	var ends []int // of each thread in the list
	for i := range int32(s.N) {
		t := s.At(i).Thread
		for uint32(len(ends)) <= t {
			ends = append(ends, 0)
		}
		ends[t]++
	}
	sum := 0
	for t, count := range ends {
		ends[t] = sum
		sum += count
	}
	list := make([]int32, s.N)
	for i := range int32(s.N) {
		t := s.At(i).Thread
		list[ends[t]] = i
		ends[t]++
	}
	return list
}

func (s *Intervals) compare(i, j int32) int {
	a := s.At(i)
	b := s.At(j)
	order := cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	if order == 0 && s.InnerFirst {
		return cmp.Compare(j, i)
	}
	return cmp.Or(order, cmp.Compare(i, j))
}

// maxOverlaps bounds the search for the interval around another among overlapping ones.
const maxOverlaps = 64

// Enclose calls parent with the innermost interval around each interval, and around with the innermost one running at the
// start of each of others; -1 means no interval. It returns the order of the intervals.
//
//	a |------------------|
//	b    |------|            parent a
//	c         |------|       overlaps b, parent a
//	other       ^ c   ^ a
func (s *Intervals) Enclose(others *Intervals, parent, around func(i, in int32)) (order []int32) {
	order = s.Order()
	var open []int32 // outermost first, all of one thread
	stillOpen := func(thread uint32, at int64) {
		for len(open) > 0 {
			if o := s.At(open[len(open)-1]); o.Thread == thread && (o.End > at || o.Start == at) {
				return
			}
			open = open[:len(open)-1]
		}
	}
	begin := func(i int32, it Interval) {
		stillOpen(it.Thread, it.Start)
		in := int32(-1)
		for n := len(open) - 1; n >= max(0, len(open)-maxOverlaps); n-- {
			if o := s.At(open[n]); it.End <= o.End && it.Start < o.End {
				in = open[n]
				break
			}
		}
		parent(i, in)
		open = append(open, i)
	}
	rest := order
	for _, k := range others.Order() {
		at := others.At(k)
		for ; len(rest) > 0; rest = rest[1:] {
			it := s.At(rest[0])
			if it.Thread > at.Thread || it.Thread == at.Thread && it.Start > at.Start {
				break
			}
			begin(rest[0], it)
		}
		in := int32(-1)
		if stillOpen(at.Thread, at.Start); len(open) > 0 {
			in = open[len(open)-1]
		}
		around(k, in)
	}
	for _, i := range rest {
		begin(i, s.At(i))
	}
	return order
}
