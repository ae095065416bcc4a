package requests

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/timeline"
)

// turn is the time from the first to the last operation of a request on a device.
type turn struct {
	*Request
	from, to int64
}

// findTurns finds devices serving one request after the other. For each request that waited for its predecessor, by
// row, it returns the busy times of the device. A waiting request arrived before its predecessor ended, and began right
// after it.
func (r *Requests) findTurns() map[int32]timeline.Times {
	f := r.forest
	byDevice := make(map[int32][]turn)
	for i := range r.List {
		q := &r.List[i]
		if len(q.shared) > 0 || len(q.below) > 0 || q.Root.IsZero() || !q.StartNS.Known {
			continue
		}
		t := turn{Request: q}
		device := int32(-1)
		for _, row := range q.ops {
			if !f.IsDeviceSide(row) || !f.CountsInSums(row) {
				continue
			}
			if device < 0 || f.Start(row) < t.from {
				device = f.Device(row)
				t.from = f.Start(row)
			}
			t.to = max(t.to, f.End(row))
		}
		if device >= 0 {
			byDevice[device] = append(byDevice[device], t)
		}
	}
	all := make(map[int32]timeline.Times)
	for _, turns := range byDevice {
		slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.from, b.from) })
		addTurns(all, turns)
	}
	return all
}

// addTurns adds the waiting requests of a device. turns are sorted by start.
func addTurns(all map[int32]timeline.Times, turns []turn) {
	const (
		least = 8
		few   = 20
		right = 10
	)
	var busy timeline.Times
	var behind []turn
	overlaps := 0
	late := 0
	for i, t := range turns {
		busy.Add(t.from, t.to)
		if i == 0 {
			continue
		}
		switch end := turns[i-1].to; {
		case t.from < end:
			overlaps++
		case t.StartNS.V >= end:
		case right*(t.from-end) <= t.from-t.StartNS.V:
			behind = append(behind, t)
		default:
			late++
		}
	}
	if len(turns) < least || few*overlaps > len(turns) || late > len(behind) {
		return
	}
	for _, t := range behind {
		all[t.Root.Row] = busy
	}
}
