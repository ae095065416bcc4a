// Package layers compares the operations of layers whose names or paths are equal up to one number, such as layer_05.
package layers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// Layer is an operation of one of several layers that are alike.
type Layer struct {
	Number, Count int64
	Operation     string
	Path, Phase   string  // of a layer told by its path
	Device        int32   // the number of the only device where it is slow, or AnyDevice
	Mean, Usual   float64 // times of a call in ns; first calls may take far longer than usual
	Factor        float64 // times the usual time of its like
	Median        int64   // of the usual times of all, in ns
	Like          int     // the number of others

	work    work
	devices int // with enough calls
}

// work is the work of a call, as far as it is known, and its least time in ps: other types of elements have another one.
type work struct{ flops, elements, least int64 }

// AnyDevice is the device of a layer that is slow on all devices.
const AnyDevice = int32(-1)

// Excess returns by how much all calls usually exceed the median, in ns.
func (l *Layer) Excess() int64 { return int64(l.Usual-float64(l.Median)) * l.Count }

// Selects returns the selection of a replay. Names of kernels have commas, as templates do.
func (l *Layer) Selects() string {
	if l.Path == "" {
		return l.Operation
	}
	value := func(text string) string { return strings.ReplaceAll(text, ",", "*") }
	text := "operation=" + value(l.Operation) + ",path=" + value(l.Path)
	if l.Phase != "" {
		text += ",phase=" + value(l.Phase)
	}
	return text
}

// Together returns the layers of one number, and of one device, that are slower alike, or all much slower, the most excess first,
// and of these at most so many.
func Together(slow []Layer, most int) (all [][]Layer) {
	const near, much = 1.25, 2
	slow = slices.Clone(slow)
	slices.SortStableFunc(slow, func(a, b Layer) int { return cmp.Compare(b.Excess(), a.Excess()) })
	for len(slow) > 0 {
		first := slow[0]
		isOther := func(s Layer) bool {
			isAlike := s.Factor <= near*first.Factor && first.Factor <= near*s.Factor || min(s.Factor, first.Factor) >= much
			return s.Number != first.Number || s.Device != first.Device || !isAlike
		}
		of := slices.DeleteFunc(slices.Clone(slow), isOther)
		slow = slices.DeleteFunc(slow, func(s Layer) bool { return !isOther(s) })
		all = append(all, of[:min(len(of), most)])
	}
	return all
}

// family is what layers that are alike have in common.
type family struct {
	layer, operation, phase string
	device                  int32
}

// Slower returns the operations of layers that take longer than those of the other layers: on all devices, or on some only.
// f may be nil.
func Slower(operations []profile.Operation, f *trace.Forest) (slow []Layer) {
	families := make(map[family][]Layer)
	var order []family
	add := func(of family, l Layer) {
		if families[of] == nil {
			order = append(order, of)
		}
		families[of] = append(families[of], l)
	}
	for i := range operations {
		o := &operations[i]
		if o.Side != "" || o.Kind != op.KindCompute.String() || o.Count == 0 {
			continue
		}
		if name, number, ok := trace.LayerOf(o.Operation); ok {
			add(family{layer: name}, Layer{
				Number: number, Operation: o.Operation, Device: AnyDevice, Count: o.Count, Mean: o.MeanNS,
				Usual: cmp.Or(o.P50NS.V, o.MeanNS), work: work{o.FLOPs / o.Count, o.Elements / o.Count, 0},
			})
		}
	}
	ofPaths(f, add)
	const (
		least  = 4
		slower = 1.15
	)
	for _, family := range order {
		of := families[family]
		usual := make(map[work][]int64)
		first, last := of[0].Number, of[0].Number
		for i := range of {
			l := &of[i]
			usual[l.work] = append(usual[l.work], int64(l.Usual))
			first, last = min(first, l.Number), max(last, l.Number)
		}
		if last-first >= 2*int64(len(of)) {
			continue
		}
		medians := make(map[work]int64)
		for w, like := range usual {
			medians[w] = sketch.Median(like)
		}
		for _, l := range of {
			l.Median, l.Like = medians[l.work], len(usual[l.work])-1
			if l.Factor = l.Usual / float64(l.Median); l.Factor >= slower && l.Like >= least-1 {
				slow = append(slow, l)
			}
		}
	}
	return onDevices(slow)
}

// enough is the least number of calls of a layer that tells whether it is slow on a device.
const enough = 10

// onDevices returns the layers that are slow on each of their devices, without those of the devices, and the others by device.
func onDevices(slow []Layer) []Layer {
	slowOn := make(map[place]int) // devices
	for i := range slow {
		if l := &slow[i]; l.Device != AnyDevice {
			slowOn[l.place()]++
		}
	}
	return slices.DeleteFunc(slow, func(l Layer) bool {
		isEverywhere := slowOn[l.place()] == l.devices
		return l.devices > 1 && isEverywhere != (l.Device == AnyDevice)
	})
}

// place tells an operation of a layer.
type place struct{ operation, path, phase string }

func (l *Layer) place() place { return place{l.Operation, l.Path, l.Phase} }

// ofPaths adds the operations of devices whose paths name a layer, of all devices and of each.
func ofPaths(f *trace.Forest, add func(of family, l Layer)) {
	if f == nil || len(f.Names.Paths.Values) < 2 {
		return
	}
	type place struct{ name, path, phase, device int32 }
	var phases symbols.Names
	var phaseOf []int32 // by mark
	for _, m := range f.Names.Marks.Values {
		phaseOf = append(phaseOf, phases.ID(m.Phase))
	}
	var places symbols.Table[place]
	var sums []calls
	of := slices.Repeat([]int32{trace.NoRow}, len(f.Devices.ByStart)) // the places
	for i, r := range f.Devices.ByStart {
		path := f.Path(r)
		if path == 0 || f.Kind(r) != op.KindCompute {
			continue
		}
		of[i] = places.ID(place{f.Name(r), path, phaseOf[f.Mark(r)], f.Device(r)})
		if int(of[i]) == len(sums) {
			sums = append(sums, calls{})
		}
		c := &sums[of[i]]
		c.n++
		c.flops += f.Flops(r)
		c.elements += f.Elements(r)
		least := f.Work(r).Bound // below 0 by memory
		c.least += max(least, -least)
	}
	sorted := order.Numbers(len(sums), func(x, y int32) int {
		a, b := &places.Values[x], &places.Values[y]
		byPhase := cmp.Compare(phases.Values[a.phase], phases.Values[b.phase])
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path), byPhase, cmp.Compare(a.device, b.device))
	})
	all := 0
	for _, p := range sorted {
		sums[p].first = all
		all += sums[p].n
		sums[p].n = 0
	}
	durations := make([]int64, all)
	for i, r := range f.Devices.ByStart {
		if of[i] != trace.NoRow {
			c := &sums[of[i]]
			durations[c.first+c.n] = f.Duration(r)
			c.n++
		}
	}
	onAny := func(p *int32) place {
		at := places.Values[*p]
		at.device = AnyDevice
		return at
	}
	for devices := range order.RunsOf(sorted, onAny) {
		at := onAny(&devices[0])
		path := f.Names.Paths.Values[at.path]
		layer, number, isLayer := trace.LayerOf(path)
		if !isLayer {
			continue
		}
		l := Layer{
			Number: number, Operation: f.Names.Operations.Values[at.name], Path: path, Phase: phases.Values[at.phase],
			Device: AnyDevice,
		}
		together := calls{first: sums[devices[0]].first}
		for _, d := range devices {
			together.add(&sums[d])
			if sums[d].n >= enough {
				l.devices++
			}
		}
		l.measure(&together, durations)
		add(family{layer, l.Operation, l.Phase, l.Device}, l)
		for _, d := range devices {
			if l.devices > 1 && sums[d].n >= enough {
				l.Device = places.Values[d].device
				l.measure(&sums[d], durations)
				add(family{layer, l.Operation, l.Phase, l.Device}, l)
			}
		}
	}
}

// calls sums up calls, with their durations from a place on.
type calls struct {
	first, n               int
	flops, elements, least int64
}

// add adds calls whose durations follow.
func (c *calls) add(o *calls) {
	c.n += o.n
	c.flops += o.flops
	c.elements += o.elements
	c.least += o.least
}

// measure sets the figures of calls.
func (l *Layer) measure(c *calls, durations []int64) {
	durations = durations[c.first : c.first+c.n]
	ns := int64(0)
	for _, took := range durations {
		ns += took
	}
	l.Count = int64(c.n)
	l.work = work{c.flops / l.Count, c.elements / l.Count, c.least / l.Count}
	l.Mean = float64(ns) / float64(l.Count)
	l.Usual = cmp.Or(float64(sketch.Median(durations)), l.Mean)
}
