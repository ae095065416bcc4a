package analyze

import (
	"iter"

	"github.com/optrace/optrace/op"
)

// class is what an operation does as the timeline sees it, in the order in
// which classes claim time that several of them fill.
type class uint8

const (
	classCompute class = iota
	classCommunication
	classMemory
	classOther

	numClasses
)

func classOf(k op.Kind) class {
	switch k {
	case op.KindCompute:
		return classCompute
	case op.KindCollective:
		return classCommunication
	case op.KindMemory:
		return classMemory
	}
	return classOther
}

// stretch is the time from one start on a device to the next. Whatever runs in
// it runs from its beginning on, so that one length per class describes it.
type stretch struct {
	from, to int64
	// active is for how long something of each class runs.
	active [numClasses]int64
	// busy is for how long anything runs: the longest of active.
	busy int64
	// last is the row that runs longest, and next the one that starts at to;
	// noRow after the last start.
	last, next int32
}

// sweep goes over rows, which are sorted by start, from the first start to the
// last end. Stretches without length are left out.
func (c *columns) sweep(rows []int32) iter.Seq[*stretch] {
	return func(yield func(*stretch) bool) {
		var until [numClasses]int64 // the latest end of each class
		for k := range until {
			until[k] = -maxTime
		}
		s := stretch{last: noRow}
		latest := int64(-maxTime)
		for i, r := range rows {
			k := classOf(c.kind(r))
			until[k] = max(until[k], c.end(r))
			if s.last == noRow || c.end(r) > latest {
				latest, s.last = c.end(r), r
			}
			s.from, s.to, s.next = c.start(r), latest, noRow
			if i+1 < len(rows) {
				s.next = rows[i+1]
				s.to = c.start(s.next)
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
