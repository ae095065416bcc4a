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

// findTurns returns, by row, the times of all requests of a device that serves one after the other, for each that waited
// for the one before: it came earlier than that ended, and began right behind it.
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
				device, t.from = f.Device(row), f.Start(row)
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

// addTurns adds the turns of a device, by start.
func addTurns(all map[int32]timeline.Times, turns []turn) {
	const least, few, right = 8, 20, 10
	var busy timeline.Times
	var behind []turn
	overlaps, late := 0, 0
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
