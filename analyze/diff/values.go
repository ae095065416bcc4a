package diff

import (
	"cmp"
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/op"
)

const (
	// maxBlocks is the number of blocks of a run, minBlocks the least number of blocks with values.
	maxBlocks = 20
	minBlocks = 10
	// minValues is the least number of values on a side of a row.
	minValues = 5
)

func chooseUnit(base, head []*Run) Unit {
	switch {
	case len(base) > 1 || len(head) > 1 || base[0].saved || head[0].saved:
		return UnitRuns
	case base[0].steps.count >= minBlocks && head[0].steps.count >= minBlocks:
		return UnitSteps
	}
	return UnitWindows
}

// groupValues returns the values of a group on both sides and their unit. Values are means of logarithms of durations
// in nanoseconds: a few very long operations hardly move them.
func groupValues(unit Unit, base, head []*Run, id string) (u Unit, b, h []float64) {
	if unit == UnitRuns {
		saved := slices.ContainsFunc(slices.Concat(base, head), func(r *Run) bool { return r.saved })
		return unit, runMeans(base, id, saved), runMeans(head, id, saved)
	}
	b, h = base[0].means(id, unit), head[0].means(id, unit)
	if unit == UnitSteps || len(b) >= minBlocks && len(h) >= minBlocks {
		return unit, b, h
	}
	return UnitEntries, base[0].logarithms(id), head[0].logarithms(id)
}

// runMeans returns the mean of a group in each run. Saved reports have arithmetic means only.
func runMeans(runs []*Run, id string, saved bool) (means []float64) {
	for _, r := range runs {
		switch g := r.groups[id]; {
		case g == nil || g.count == 0:
		case saved:
			means = append(means, logarithm(float64(g.sum)/float64(g.count)))
		default:
			means = append(means, g.logarithms/float64(g.count))
		}
	}
	return means
}

// logarithm returns the logarithm of a duration, at least a nanosecond.
func logarithm(ns float64) float64 { return math.Log(max(1, ns)) }

func logarithmsOf(all []float64) (logs []float64) {
	for _, ns := range all {
		logs = append(logs, math.Log(ns))
	}
	return logs
}

func (r *Run) logarithms(id string) (values []float64) {
	if g := r.groups[id]; g != nil {
		byStart := func(a, b sample) int { return cmp.Compare(a.start, b.start) }
		for _, s := range slices.SortedStableFunc(slices.Values(g.samples), byStart) {
			values = append(values, logarithm(float64(s.duration)))
		}
	}
	return values
}

// means returns the mean of a group in each block of steps or window with values.
func (r *Run) means(id string, unit Unit) []float64 {
	var m blockMeans
	if g := r.groups[id]; g != nil {
		length := uint64(r.last-r.first)/maxBlocks + 1 // of a window
		for _, s := range g.samples {
			switch {
			case unit == UnitSteps && s.iteration >= 0:
				m.add(r.steps.block(int(s.iteration)), logarithm(float64(s.duration)))
			case unit == UnitWindows && s.start != noTime:
				m.add(int(uint64(s.start-r.first)/length), logarithm(float64(s.duration)))
			}
		}
	}
	return m.values()
}

func (s *runSteps) block(iteration int) int { return iteration * min(s.count, maxBlocks) / s.count }

type blockMeans [maxBlocks]struct {
	sum float64
	n   int
}

func (m *blockMeans) add(block int, value float64) {
	m[block].sum += value
	m[block].n++
}

func (m *blockMeans) values() (means []float64) {
	for _, b := range m {
		if b.n > 0 {
			means = append(means, b.sum/float64(b.n))
		}
	}
	return means
}

// part names a part of the time of a device, or with the zero device the wall time.
type part struct {
	name   string
	device device.Key
}

// The time of all devices, and the time in which a device did not work.
const (
	partWall = "wall"
	partIdle = "idle"
)

var partNames = []string{"compute", "exposed_communication", "exposed_memory", "other", partIdle}

func partValues(unit Unit, base, head []*Run) (b, h map[part][]float64) {
	if unit == UnitSteps {
		return base[0].steps.parts(), head[0].steps.parts()
	}
	bySteps := true
	for _, r := range slices.Concat(base, head) {
		bySteps = bySteps && r.steps.count > 0
	}
	return runParts(base, bySteps), runParts(head, bySteps)
}

// runParts returns the parts of each run, divided by its number of iterations if bySteps is set.
func runParts(runs []*Run, bySteps bool) map[part][]float64 {
	all := make(map[part][]float64)
	for _, r := range runs {
		each := 1.0
		if bySteps {
			each = float64(r.steps.count)
		}
		add := func(p part, ns int64) { all[p] = append(all[p], float64(ns)/each) }
		if r.total.WallNS.Known {
			add(part{name: partWall}, r.total.WallNS.V)
		}
		for _, d := range r.devices {
			if !d.SpanNS.Known {
				continue
			}
			for i, ns := range []op.Int{d.ComputeNS, d.ExposedCommunicationNS, d.ExposedMemoryNS, d.OtherNS, d.IdleNS} {
				add(part{partNames[i], d.Key()}, ns.V)
			}
		}
	}
	return all
}

// time returns the time of an iteration, of which a device may have a part.
func (s *runSteps) time(iteration int, start, end int64) steps.Time {
	return steps.Time{Service: s.loops[iteration].service, Step: s.loops[iteration].step, StartNS: start, EndNS: end}
}

// parts returns the mean parts of an iteration in each block, from its start to the start of the next.
func (s *runSteps) parts() map[part][]float64 {
	means := make(map[part]*blockMeans)
	add := func(p part, iteration int, ns int64) {
		order.At(means, p).add(s.block(iteration), float64(ns))
	}
	var times []steps.Time
	var iterations []int
	for i, end := range s.last {
		if end != 0 {
			iterations = append(iterations, i)
			times = append(times, s.time(i, s.first[i], end))
		}
	}
	for i, gap := range steps.Gaps(times) {
		add(part{name: partWall}, iterations[i], times[i].EndNS-times[i].StartNS+gap)
	}
	for list := range order.RunsOf(s.devices, func(d *steps.Device) device.Key { return d.Device }) {
		times = times[:0]
		for i := range list {
			times = append(times, s.time(list[i].Iteration, list[i].StartNS, list[i].EndNS))
		}
		for k, gap := range steps.Gaps(times) {
			d := &list[k]
			idle := max(0, d.Idle+gap)
			for i, ns := range []int64{d.Compute, d.ExposedCommunication, d.ExposedMemory, d.Other, idle} {
				add(part{partNames[i], d.Device}, d.Iteration, ns)
			}
		}
	}
	all := make(map[part][]float64)
	for p, m := range means {
		all[p] = m.values()
	}
	return all
}
