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
	maxValues = 1000 // the largest number of values of a run: means of neighbours beyond it
	// minSteps is the least number of steps of a run for values of its operations, minValues of values on a side.
	minSteps  = 10
	minValues = 5
	minBlock  = 20 // the least number of requests for a percentile
)

func chooseUnit(base, head []*Run) Unit {
	switch {
	case len(base) > 1 || len(head) > 1 || base[0].saved || head[0].saved:
		return UnitRuns
	case base[0].steps.count >= minSteps && head[0].steps.count >= minSteps:
		return UnitSteps
	}
	return UnitEntries
}

// groupValues returns the values of a group on both sides. Values are means of logarithms of durations in nanoseconds:
// a few very long operations hardly move them.
func groupValues(unit Unit, base, head []*Run, id string) (b, h []float64) {
	switch unit {
	case UnitRuns:
		saved := slices.ContainsFunc(slices.Concat(base, head), func(r *Run) bool { return r.saved })
		return runMeans(base, id, saved), runMeans(head, id, saved)
	case UnitSteps:
		return base[0].stepMeans(id), head[0].stepMeans(id)
	}
	return base[0].logarithms(id), head[0].logarithms(id)
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

// logarithms returns the means of neighbours by start, at most maxValues.
func (r *Run) logarithms(id string) []float64 {
	g := r.groups[id]
	if g == nil {
		return nil
	}
	byStart := func(a, b sample) int { return cmp.Compare(a.start, b.start) }
	m := make(means, min(len(g.samples), maxValues))
	for i, s := range slices.SortedStableFunc(slices.Values(g.samples), byStart) {
		m.add(i*len(m)/len(g.samples), logarithm(float64(s.duration)))
	}
	return m.values()
}

// stepMeans returns the means of a group in the steps that have it.
func (r *Run) stepMeans(id string) []float64 {
	g := r.groups[id]
	if g == nil {
		return nil
	}
	m := r.steps.means()
	for _, s := range g.samples {
		if s.iteration >= 0 {
			m.add(r.steps.place(int(s.iteration)), logarithm(float64(s.duration)))
		}
	}
	return m.values()
}

func (s *runSteps) means() means { return make(means, min(s.count, maxValues)) }

// place returns the place of an iteration's value: beyond maxValues, neighbours have one value.
func (s *runSteps) place(iteration int) int { return iteration * min(s.count, maxValues) / s.count }

type means []struct {
	sum float64
	n   int
}

func (m means) add(place int, value float64) {
	m[place].sum += value
	m[place].n++
}

func (m means) values() (values []float64) {
	for _, b := range m {
		if b.n > 0 {
			values = append(values, b.sum/float64(b.n))
		}
	}
	return values
}

// part names a part of the time of a device, or with the zero device the wall time.
type part struct {
	name   string
	device device.Key
}

// The parts of all devices: the wall time, and the durations of requests; then the parts of a device's time.
const (
	partWall        = "wall"
	partRequestP50  = "request_p50"
	partRequestP95  = "request_p95"
	partRequestSum  = "request_sum"
	partRequestMean = "request_mean" // for sides with different numbers of requests
	partCompute     = "compute"
	partIdle        = "idle"
)

var (
	deviceParts = []string{partCompute, "exposed_communication", "exposed_memory", "other", partIdle}
	partNames   = append([]string{
		partWall, partRequestP50, partRequestP95, partRequestSum, partRequestMean,
	}, deviceParts...)
)

// timeParts returns the values of the wall time and of the parts of devices.
func timeParts(unit Unit, base, head []*Run, names map[*Run]aliases) (b, h map[part][]float64) {
	if unit == UnitSteps {
		return base[0].steps.parts(names[base[0]]), head[0].steps.parts(names[head[0]])
	}
	bySteps := true
	for _, r := range slices.Concat(base, head) {
		bySteps = bySteps && r.steps.count > 0
	}
	return runParts(base, bySteps, names), runParts(head, bySteps, names)
}

// runParts returns the parts of each run, divided by its number of iterations if bySteps is set.
func runParts(runs []*Run, bySteps bool, names map[*Run]aliases) map[part][]float64 {
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
				add(part{deviceParts[i], names[r].of(d.Key())}, ns.V)
			}
		}
	}
	return all
}

// time returns the time of an iteration, of which a device may have a part.
func (s *runSteps) time(iteration int, start, end int64) steps.Time {
	return steps.Time{Service: s.loops[iteration].service, Step: s.loops[iteration].step, StartNS: start, EndNS: end}
}

// parts returns the parts of each iteration, from its start to the start of the next.
func (s *runSteps) parts(names aliases) map[part][]float64 {
	sums := make(map[part]means)
	add := func(p part, iteration int, ns int64) {
		if sums[p] == nil {
			sums[p] = s.means()
		}
		sums[p].add(s.place(iteration), float64(ns))
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
				add(part{deviceParts[i], names.of(d.Device)}, d.Iteration, ns)
			}
		}
	}
	all := make(map[part][]float64)
	for p, m := range sums {
		all[p] = m.values()
	}
	return all
}
