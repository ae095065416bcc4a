package launch

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/units"
)

// Correction is the busy and the idle time of all devices, with the missing replays of graphs and parts of replays
// added. A replay has the median time of the whole replays of its graph.
type Correction struct {
	BusyNS int64 `json:"busy_ns,omitzero"`
	IdleNS int64 `json:"idle_ns,omitzero"`
	SpanNS int64 `json:"span_ns,omitzero"`
	// AddedNS is the part of BusyNS that the input lacks.
	AddedNS int64 `json:"added_ns,omitzero"`
	// Refused is the reason for unknown times, "" for known ones. The times are 0 then.
	Refused string `json:"refused,omitzero"`
}

func (c *Correction) text() string {
	if c.Refused != "" {
		return " Busy and idle time cannot be corrected: " + c.Refused + "."
	}
	return " With the missing replays, devices were busy for about " + units.Duration(c.BusyNS) + " (" +
		units.Percent(float64(c.BusyNS)/float64(max(1, c.SpanNS))) + ") and idle for " + units.Duration(c.IdleNS) + "."
}

type graphKey struct {
	process int32
	graph   string
	first   int32 // the name of the first operation, for graphs without a number
}

// replay is a recorded replay of a graph.
type replay struct {
	graphKey
	rows   []int32
	launch int64
	busy   int64
}

// tolerance bounds how far the times of replays may lie apart that stand for missing ones.
const tolerance = 0.05

// corrector adds up the times of devices.
type corrector struct {
	f       *trace.Forest
	replays []replay
	lost    map[int32][]int64 // starts of launches without a replay, by process
	torn    map[int32][]int64 // and of those with a part of one
	times   map[int32]int64   // of a whole replay, by process
	added   map[int32]int64   // time of parts of replays, by process
	devices map[int32]int32   // by process
	spread  map[int32]float64 // how far the time of a replay may be off, by process
	wall    int64             // from the first to the last operation of the longest whole replay
	latency int64             // the shortest time from a launch to its replay
}

// correct returns the correction for a number of lost launches of graphs, others lost and partial replays.
func correct(f *trace.Forest, replays []replay, lost, others int64) *Correction {
	c := &corrector{f: f, replays: replays, lost: make(map[int32][]int64), torn: make(map[int32][]int64), times: make(map[int32]int64),
		added: make(map[int32]int64), devices: make(map[int32]int32), spread: make(map[int32]float64),
		latency: math.MaxInt64}
	sum := &Correction{}
	reason := ""
	switch {
	case others > 0:
		reason = "launches of kernels are missing too"
	case len(replays) == 0:
		reason = "no replay was recorded"
	default:
		reason = cmp.Or(c.placeDevices(), c.placeLost(lost), c.timeReplays(), c.sum(sum))
	}
	if reason != "" {
		return &Correction{Refused: reason}
	}
	return sum
}

// placeDevices finds the device of each process.
func (c *corrector) placeDevices() string {
	processes := c.f.Processes()
	for _, r := range c.f.Devices.ByStart {
		p, d := processes[c.f.Lane(r)], c.f.Device(r)
		if was, ok := c.devices[p]; ok && was != d {
			return "a process has several devices"
		}
		c.devices[p] = d
	}
	return ""
}

// placeLost finds the launches without a replay.
func (c *corrector) placeLost(want int64) string {
	type at struct {
		process int32
		launch  int64
	}
	seen := make(map[at]bool)
	for i := range c.replays {
		seen[at{c.replays[i].process, c.replays[i].launch}] = true
	}
	for i := range c.f.Calls {
		call := &c.f.Calls[i]
		if !attrkey.IsGraphLaunch(call.Name) {
			continue
		}
		var of []int32
		for p, d := range c.devices {
			if c.f.Devices.Keys[d].Rank == call.Rank || len(c.devices) == 1 {
				of = append(of, p)
			}
		}
		if len(of) == 1 && !seen[at{of[0], call.Start}] {
			c.lost[of[0]] = append(c.lost[of[0]], call.Start)
			want--
		}
	}
	if want != 0 {
		return "the times of the missing launches are not known"
	}
	return ""
}

// timeReplays finds the time of a whole replay of each process with missing ones.
func (c *corrector) timeReplays() string {
	byGraph := make(map[graphKey][]*replay)
	for i := range c.replays {
		r := &c.replays[i]
		slices.SortFunc(r.rows, c.f.CompareStart)
		r.busy = c.union(r.rows)
		c.latency = min(c.latency, max(0, c.f.Start(r.rows[0])-r.launch))
		byGraph[r.graphKey] = append(byGraph[r.graphKey], r)
	}
	low, high := make(map[int32]int64), make(map[int32]int64)
	for key, list := range byGraph {
		size := len(slices.MaxFunc(list, func(a, b *replay) int { return cmp.Compare(len(a.rows), len(b.rows)) }).rows)
		names := make(map[int32]bool)
		whole := make(map[int32]bool) // the names in a whole replay
		var times []int64
		for _, r := range list {
			for _, row := range r.rows {
				names[c.f.Name(row)] = true
				if len(r.rows) == size {
					whole[c.f.Name(row)] = true
				}
			}
			if len(r.rows) == size {
				times = append(times, r.busy)
				c.wall = max(c.wall, c.f.End(r.rows[len(r.rows)-1])-c.f.Start(r.rows[0]))
			}
		}
		slices.Sort(times)
		time := times[len(times)/2]
		n := float64(len(times))
		spread := float64(times[len(times)-1]-times[0]) / 2 * (1 + 4/max(1, n-1)) // few show little of it
		isMissing := len(c.lost[key.process]) > 0 || len(times) < len(list)
		switch {
		case !isMissing:
			continue
		case len(whole) < len(names), 2*len(times) < len(list):
			return "too few replays of a graph are whole"
		case spread > tolerance*float64(time)*math.Sqrt(n):
			return "replays of one graph differ too much"
		}
		missing := float64(len(c.lost[key.process])+len(list)) - n
		c.spread[key.process] = max(c.spread[key.process], spread*(missing/math.Sqrt(n)+math.Sqrt(missing)))
		for _, r := range list {
			if len(r.rows) < size {
				c.added[key.process] += max(0, time-r.busy)
				c.torn[key.process] = append(c.torn[key.process], r.launch)
			}
		}
		if _, ok := low[key.process]; !ok {
			low[key.process] = time
		}
		low[key.process], high[key.process] = min(low[key.process], time), max(high[key.process], time)
		c.times[key.process] = high[key.process]
	}
	for p, starts := range c.lost {
		switch {
		case len(starts) > 0 && c.times[p] == 0:
			return "no replay of a process was recorded"
		case float64(high[p]-low[p]) > tolerance*float64(high[p]):
			return "graphs differ, and launches do not name theirs"
		}
		c.times[p] = (low[p] + high[p]) / 2
		c.spread[p] += float64(high[p]-low[p]) / 2 * float64(len(starts))
	}
	return ""
}

// sum adds up the devices.
func (c *corrector) sum(to *Correction) string {
	inReplay := make(map[int32]bool)
	alone := make(map[int32]int64) // by process
	for i := range c.replays {
		alone[c.replays[i].process] += c.replays[i].busy
		for _, r := range c.replays[i].rows {
			inReplay[r] = true
		}
	}
	off := 0.0
	for p, d := range c.devices {
		rows := c.f.Devices.Of(d)
		others := slices.DeleteFunc(slices.Clone(rows), func(r int32) bool { return inReplay[r] })
		busy := c.union(rows)
		if apart := alone[p] + c.union(others); float64(apart-busy) > tolerance/2*float64(busy) {
			return "replays run beside other work"
		}
		start := c.f.Start(rows[0])
		end := start
		for _, r := range rows {
			end = max(end, c.f.End(r))
		}
		recorded := end
		for _, at := range append(c.torn[p], c.lost[p]...) {
			start = min(start, at+c.latency)
			end = max(end, at+c.latency+c.wall)
		}
		if end > recorded { // it may have waited in a queue
			off += float64(c.wall)
		}
		added := c.added[p] + int64(len(c.lost[p]))*c.times[p]
		off += c.spread[p]
		to.BusyNS += busy + added
		to.AddedNS += added
		to.SpanNS += end - start
	}
	to.IdleNS = to.SpanNS - to.BusyNS
	switch {
	case to.IdleNS < 0:
		return "the missing replays do not fit between the others"
	case off > tolerance*float64(min(to.IdleNS, to.BusyNS)):
		return "the time of the missing replays is not known well enough"
	}
	return ""
}

// union returns the time that operations cover, which are sorted by start.
func (c *corrector) union(rows []int32) (ns int64) {
	end := int64(math.MinInt64)
	for _, r := range rows {
		if at := c.f.End(r); at > end {
			ns += at - max(end, c.f.Start(r))
			end = at
		}
	}
	return ns
}
