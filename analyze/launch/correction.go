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
	// AddedNS is the part of BusyNS missing in the input.
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
	rows         []int32
	launch, busy int64
}

// tolerance bounds the error of corrected times, and the difference between replays used in place of missing ones.
const tolerance = 0.05

// process has the replays of a process, and its device.
type process struct {
	device     int32
	busy       int64   // the sum of the recorded replays
	lost, torn []int64 // launches without a replay, and with a part of one
	low, high  int64   // the times of whole replays of its graphs
	added      int64   // the missing time of parts of replays
	off        float64 // the bound on the error of the missing time
}

// corrector adds up the times of devices.
type corrector struct {
	f         *trace.Forest
	replays   []replay
	processes map[int32]*process
	wall      int64 // from the first to the last operation of the longest whole replay
	latency   int64 // the shortest time from a launch to its replay
}

// correct returns the correction for a number of lost launches of graphs, others lost and partial replays.
func correct(f *trace.Forest, replays []replay, lost, others int64) *Correction {
	c := &corrector{f: f, replays: replays, processes: make(map[int32]*process), latency: math.MaxInt64}
	sum := &Correction{}
	reason := ""
	switch {
	case others > 0:
		reason = "launches of kernels are missing too"
	case len(replays) == 0:
		reason = "no replay was recorded"
	default:
		reason = cmp.Or(c.place(lost), c.time(), c.sum(sum))
	}
	if reason != "" {
		return &Correction{Refused: reason}
	}
	return sum
}

// place finds the device of each process and its launches without a replay.
func (c *corrector) place(lost int64) string {
	byLane := c.f.Processes()
	for _, r := range c.f.Devices.ByStart {
		p := byLane[c.f.Lane(r)]
		d := c.f.Device(r)
		if was := c.processes[p]; was != nil && was.device != d {
			return "a process has several devices"
		} else if was == nil {
			c.processes[p] = &process{device: d}
		}
	}
	type launch struct {
		process *process
		at      int64
	}
	seen := make(map[launch]bool)
	for i := range c.replays {
		r := &c.replays[i]
		if slices.ContainsFunc(r.rows, func(row int32) bool { return !c.f.Has(row, trace.FlagStart) }) {
			return "an operation of a replay has no start"
		}
		seen[launch{c.processes[r.process], r.launch}] = true
		slices.SortFunc(r.rows, c.f.CompareStart)
		r.busy = c.union(r.rows)
		c.processes[r.process].busy += r.busy
		c.latency = min(c.latency, max(0, c.f.Start(r.rows[0])-r.launch))
	}
	for i := range c.f.Calls {
		call := &c.f.Calls[i]
		for _, p := range c.processes {
			isOf := c.f.Devices.Keys[p.device].Rank == call.Rank || len(c.processes) == 1
			if isOf && attrkey.IsGraphLaunch(call.Name) && !seen[launch{p, call.Start}] {
				p.lost = append(p.lost, call.Start)
				lost--
			}
		}
	}
	if lost != 0 {
		return "the times of the missing launches are not known"
	}
	return ""
}

// time finds the times of whole replays of processes with missing ones.
func (c *corrector) time() string {
	byGraph := make(map[graphKey][]*replay)
	for i := range c.replays {
		byGraph[c.replays[i].graphKey] = append(byGraph[c.replays[i].graphKey], &c.replays[i])
	}
	for key, list := range byGraph {
		p := c.processes[key.process]
		size := 0
		for _, r := range list {
			size = max(size, len(r.rows))
		}
		names := make(map[int32]bool) // true for those in a whole replay
		var times []int64
		for _, r := range list {
			isWhole := len(r.rows) == size
			for _, row := range r.rows {
				names[c.f.Name(row)] = names[c.f.Name(row)] || isWhole
			}
			if isWhole {
				times = append(times, r.busy)
				c.wall = max(c.wall, c.f.End(r.rows[size-1])-c.f.Start(r.rows[0]))
			}
		}
		slices.Sort(times)
		n := float64(len(times))
		time := times[len(times)/2]
		spread := float64(times[len(times)-1]-times[0]) / 2 * (1 + 4/max(1, n-1)) // few show little of it
		missing := float64(len(p.lost)+len(list)) - n
		isPart := func(row int32) bool { return !names[c.f.Name(row)] }
		switch {
		case missing == 0:
			continue
		case 2*len(times) < len(list),
			slices.ContainsFunc(list, func(r *replay) bool { return slices.ContainsFunc(r.rows, isPart) }):
			return "too few replays of a graph are whole"
		case spread > tolerance*float64(time)*math.Sqrt(n):
			return "replays of one graph differ too much"
		}
		for _, r := range list {
			if len(r.rows) < size {
				p.added += max(0, time-r.busy)
				p.torn = append(p.torn, r.launch)
			}
		}
		p.off = max(p.off, spread*(missing/math.Sqrt(n)+math.Sqrt(missing)))
		p.low = min(cmp.Or(p.low, time), time)
		p.high = max(p.high, time)
	}
	for _, p := range c.processes {
		switch {
		case len(p.lost) > 0 && p.high == 0:
			return "no replay of a process was recorded"
		case float64(p.high-p.low) > tolerance*float64(p.high):
			return "graphs differ, and launches do not name theirs"
		}
	}
	return ""
}

// sum adds up the devices.
func (c *corrector) sum(to *Correction) string {
	inReplay := make(map[int32]bool)
	for i := range c.replays {
		for _, r := range c.replays[i].rows {
			inReplay[r] = true
		}
	}
	off := 0.0
	for _, p := range c.processes {
		rows := c.f.Devices.Of(p.device)
		others := slices.DeleteFunc(slices.Clone(rows), func(r int32) bool { return inReplay[r] })
		busy := c.union(rows)
		if apart := p.busy + c.union(others); float64(apart-busy) > tolerance/2*float64(busy) {
			return "replays run beside other work"
		}
		start := c.f.Start(rows[0])
		recorded := start
		for _, r := range rows {
			recorded = max(recorded, c.f.End(r))
		}
		end := recorded
		for _, at := range append(p.torn, p.lost...) {
			start = min(start, at+c.latency)
			end = max(end, at+c.latency+c.wall)
		}
		if end > recorded { // it may have waited in a queue
			off += float64(c.wall)
		}
		added := p.added + int64(len(p.lost))*(p.low+p.high)/2
		off += p.off + float64(p.high-p.low)/2*float64(len(p.lost))
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

// union returns the time covered by operations sorted by start.
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
