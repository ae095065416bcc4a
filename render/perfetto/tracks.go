package perfetto

import (
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/timeline"
)

// track is a track of a process, or the process if it has no parent. Its uuid is its place
// in the list, from 1.
type track struct {
	parent int64
	title  string
	// rank orders the tracks of a process.
	rank int
	// counter is what the track counts, nil for one of slices.
	counter *timeline.Counter
}

// layout is the tracks of a timeline.
type layout struct {
	tracks []track
	// lanes and launches are the tracks of each lane; 0 where it has no launches.
	lanes, launches []int64
	counters        []timeline.Counter
}

// add adds a track and returns its uuid.
func (l *layout) add(t track) int64 {
	l.tracks = append(l.tracks, t)
	return int64(len(l.tracks))
}

// process identifies a process: a service, or the devices of a rank.
type process struct {
	isService bool
	service   string
	rank      op.Int
}

func processOf(g timeline.Group) process {
	if g.IsService {
		return process{isService: true, service: g.Name}
	}
	return process{rank: g.Rank}
}

func (p process) title() string {
	switch {
	case p.isService:
		return "service " + p.service
	case p.rank.Known:
		return "rank " + p.rank.String()
	}
	return "devices"
}

// layoutOf arranges a timeline and lays out its tracks. The counters of a device stand
// above its streams, and launches above the track that they lead to.
func layoutOf(t *timeline.Timeline) *layout {
	lanes := t.Arrange()
	launches := launchedOn(t, len(lanes))
	l := &layout{lanes: make([]int64, len(lanes)), launches: make([]int64, len(lanes)), counters: t.Counters()}
	var parent int64
	rank, counter := 0, 0
	add := func(title string, c *timeline.Counter) int64 {
		rank++
		return l.add(track{parent: parent, title: title, rank: rank, counter: c})
	}
	for i := range lanes {
		lane := &lanes[i]
		if i == 0 || processOf(lane.Group) != processOf(lanes[i-1].Group) {
			parent = l.add(track{title: processOf(lane.Group).title()})
			rank = 0
		}
		prefix := ""
		if !lane.Group.IsService {
			prefix = lane.Group.Name + " "
		}
		for ; counter < len(l.counters) && l.counters[counter].Group == lane.Group; counter++ {
			c := &l.counters[counter]
			add(prefix+c.Unit.String(), c)
		}
		if launches[i] {
			l.launches[i] = add(prefix+lane.Title()+" launches", nil)
		}
		l.lanes[i] = add(prefix+lane.Title()+lane.Group.Note(), nil)
	}
	return l
}

// launchedOn reports for each lane whether launches of its operations are known.
func launchedOn(t *timeline.Timeline, lanes int) []bool {
	on := make([]bool, lanes)
	for i := range t.Slices {
		if hasLaunch(&t.Slices[i]) {
			on[t.Slices[i].Lane] = true
		}
	}
	return on
}

// hasLaunch reports whether the launch of a slice is shown.
func hasLaunch(s *timeline.Slice) bool { return s.Launch.Known && !s.Bare }
