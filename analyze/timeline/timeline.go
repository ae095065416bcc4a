package timeline

import (
	"iter"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Parts divides the time of a device, in nanoseconds. Every length is the length of a union of intervals, so parallel
// work counts once.
//
// Compute, ExposedCommunication, ExposedMemory, Other and Idle add up to Span exactly: time used by several kinds
// counts for the first of them in that order. In Communication, Memory and Overlap it counts for each.
//
//	compute        [0,50)
//	communication      [30,80)
//	memory                    [90,100)
//
//	Span 100 = Compute 50 + ExposedCommunication 30 + ExposedMemory 10 + Other 0 + Idle 10
//	Communication 50, Overlap 20, OverlapRatio 0.4
type Parts struct {
	// Span is the last end minus the first start. Busy is the part of it with any operation, Idle the rest.
	Span, Busy, Idle int64
	// Compute is the time with computation.
	Compute int64
	// ExposedCommunication is the time of communication without computation.
	ExposedCommunication int64
	// ExposedMemory is the time of copies without computation and communication.
	ExposedMemory int64
	// Other is the time with other operations only.
	Other int64
	// Communication and Memory are the times with each of them. Overlap is the time with both communication and
	// computation.
	Communication, Memory, Overlap int64
}

// OverlapRatio returns the share of communication hidden by computation. ok is false without communication.
func (p *Parts) OverlapRatio() (ratio float64, ok bool) {
	if p.Communication == 0 {
		return 0, false
	}
	return float64(p.Overlap) / float64(p.Communication), true
}

// PartsOf returns the parts of the time of rows sorted by start.
func PartsOf(f *trace.Forest, rows []int32) (p Parts) {
	for s := range sweep(f, rows) {
		p.add(s)
	}
	return p
}

func (p *Parts) add(s *stretch) {
	compute := s.active[ClassCompute]
	communication := s.active[ClassCommunication]
	memory := s.active[ClassMemory]
	p.Span += s.to - s.from
	p.Busy += s.busy
	p.Idle += s.to - s.from - s.busy
	p.Compute += compute
	p.Communication += communication
	p.Memory += memory
	p.Overlap += min(compute, communication)

	// All classes run from the start of the stretch. A class is exposed once the classes before it have ended.
	settled := compute
	p.ExposedCommunication += max(0, communication-settled)
	settled = max(settled, communication)
	p.ExposedMemory += max(0, memory-settled)
	settled = max(settled, memory)
	p.Other += s.busy - settled
}

// Timeline is the timeline of one device.
type Timeline struct {
	device.Key
	// Parts is nil if no operation of the device has a start.
	Parts *Parts
}

// Timelines returns the timeline of each device, by rank and name. The host's views of operations do not count.
func Timelines(f *trace.Forest) []Timeline {
	f.Build()
	timelines := make([]Timeline, 0, len(f.Devices.Order))
	for _, device := range f.Devices.Order {
		line := Timeline{Key: f.Devices.Keys[device]}
		if rows := f.Devices.Of(device); len(rows) > 0 {
			line.Parts = new(PartsOf(f, rows))
		}
		timelines = append(timelines, line)
	}
	return timelines
}

// Class is a group of kinds in the timeline. A lower class takes precedence for shared time.
type Class uint8

// Classes of operations, and their number.
const (
	ClassCompute Class = iota
	ClassCommunication
	ClassMemory
	ClassOther

	NumClasses
)

// ClassOf returns the class of kind k.
func ClassOf(k op.Kind) Class {
	switch k {
	case op.KindCompute:
		return ClassCompute
	case op.KindCollective:
		return ClassCommunication
	case op.KindMemory:
		return ClassMemory
	}
	return ClassOther
}

// stretch is the time from one start on a device to the next. Its operations all run from its beginning, so one length
// per class describes it.
type stretch struct {
	from, to int64
	active   [NumClasses]int64 // the time of each class from the beginning
	busy     int64             // the longest time in active
	// last is the row with the latest end, and next the row starting at to; trace.NoRow after the last start.
	last, next int32
}

// sweep yields the stretches of rows sorted by start. Empty stretches are omitted.
func sweep(f *trace.Forest, rows []int32) iter.Seq[*stretch] {
	return func(yield func(*stretch) bool) {
		var until [NumClasses]int64 // the latest end of each class
		for k := range until {
			until[k] = -trace.MaxTime
		}
		s := stretch{last: trace.NoRow}
		latest := int64(-trace.MaxTime)
		for i, r := range rows {
			k := ClassOf(f.Kind(r))
			end := f.End(r)
			until[k] = max(until[k], end)
			if s.last == trace.NoRow || end > latest {
				latest = end
				s.last = r
			}
			s.from = f.Start(r)
			s.to = latest
			s.next = trace.NoRow
			if i+1 < len(rows) {
				s.next = rows[i+1]
				s.to = f.Start(s.next)
			}
			if f.EndedAt(i) {
				return
			}
			if s.from == s.to {
				continue
			}
			for k, end := range until {
				s.active[k] = max(0, min(end, s.to)-s.from)
			}
			s.busy = max(0, min(latest, s.to)-s.from)
			if !yield(&s) {
				return
			}
		}
	}
}
