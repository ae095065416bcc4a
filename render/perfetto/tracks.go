package perfetto

import "github.com/optrace/optrace/render/internal/timeline"

// track is a track of a process, or a process if it has no parent. Its uuid is its index in the list plus one.
type track struct {
	parent int64
	title  string
	// rank orders the tracks of a process.
	rank    int
	counter *timeline.Counter // the counter of the track, nil for a track of slices
}

type layout struct {
	tracks []track
	// lanes and launches are the tracks of each lane; a launch track of 0 is missing.
	lanes, launches []int64
	counters        []timeline.Counter
}

func (l *layout) add(t track) int64 {
	l.tracks = append(l.tracks, t)
	return int64(len(l.tracks))
}

// processOf returns the group of all tracks of a process: a service, or the devices of a rank.
func processOf(g timeline.Group) timeline.Group {
	if g.IsService {
		return timeline.Group{IsService: true, Name: g.Name}
	}
	return timeline.Group{Rank: g.Rank}
}

// layoutOf arranges a timeline and lays out its tracks. The counters of a device are above its streams, launches above
// the track of their operations.
func layoutOf(t *timeline.Timeline) *layout {
	lanes := t.Arrange()
	launches := make([]bool, len(lanes)) // lanes with shown launches
	for i := range t.Slices {
		s := &t.Slices[i]
		launches[s.Lane] = launches[s.Lane] || hasLaunch(s)
	}
	l := &layout{lanes: make([]int64, len(lanes)), launches: make([]int64, len(lanes)), counters: t.Counters()}
	var parent int64
	rank := 0
	counter := 0
	add := func(title string, c *timeline.Counter) int64 {
		rank++
		return l.add(track{parent: parent, title: title, rank: rank, counter: c})
	}
	for i := range lanes {
		lane := &lanes[i]
		if i == 0 || processOf(lane.Group) != processOf(lanes[i-1].Group) {
			parent = l.add(track{title: processOf(lane.Group).Title()})
			rank = 0
		}
		prefix := ""
		if !lane.Group.IsService {
			prefix = lane.Group.Name + " "
		}
		for ; counter < len(l.counters) && l.counters[counter].Group == lane.Group; counter++ {
			c := &l.counters[counter]
			add(prefix+c.Name, c)
		}
		if launches[i] {
			l.launches[i] = add(prefix+lane.Title()+" launches", nil)
		}
		l.lanes[i] = add(prefix+lane.Title()+lane.Group.Note(), nil)
	}
	return l
}

func hasLaunch(s *timeline.Slice) bool { return s.Launch.Known && !s.Bare }
