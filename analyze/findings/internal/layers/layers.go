// Package layers compares the operations of layers whose names or paths are equal up to one number, such as layer_05.
package layers

import (
	"cmp"
	"fmt"
	"maps"
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
	Number      int64
	Row         profile.Operation
	Path, Phase string  // of a layer told by its path
	Device      int32   // the number of the only device where it is slow, or AnyDevice
	devices     int     // with enough calls
	Factor      float64 // times the usual time of its like
	Median      int64   // of the usual times of all, in ns
	Like        int     // the number of others
}

// AnyDevice is the device of a layer that is slow on all devices.
const AnyDevice = int32(-1)

// Usual returns the usual time of a call in ns. First calls may take far longer.
func (l *Layer) Usual() float64 { return cmp.Or(l.Row.P50NS.V, l.Row.MeanNS) }

// Excess returns by how much all calls usually exceed the median, in ns.
func (l *Layer) Excess() int64 { return int64(l.Usual()-float64(l.Median)) * l.Row.Count }

// Selects returns the selection of a replay. Names of kernels have commas, as templates do.
func (l *Layer) Selects() string {
	if l.Path == "" {
		return l.Row.Operation
	}
	value := func(text string) string { return strings.ReplaceAll(text, ",", "*") }
	text := "operation=" + value(l.Row.Operation) + ",path=" + value(l.Path)
	if l.Phase != "" {
		text += ",phase=" + value(l.Phase)
	}
	return text
}

// Together returns the layers of one number, and of one device, that are slower alike, the most excess first, and of these
// at most so many.
func Together(slow []Layer, most int) (all [][]Layer) {
	const near = 1.25
	slow = slices.Clone(slow)
	slices.SortStableFunc(slow, func(a, b Layer) int { return cmp.Compare(b.Excess(), a.Excess()) })
	for len(slow) > 0 {
		first := slow[0]
		isOther := func(s Layer) bool {
			return s.Number != first.Number || s.Device != first.Device || s.Factor > near*first.Factor ||
				first.Factor > near*s.Factor
		}
		of := slices.DeleteFunc(slices.Clone(slow), isOther)
		slow = slices.DeleteFunc(slow, func(s Layer) bool { return !isOther(s) })
		all = append(all, of[:min(len(of), most)])
	}
	return all
}

// Slower returns the operations of layers that take longer than those of the other layers: on all devices, or on some only.
// f may be nil.
func Slower(operations []profile.Operation, f *trace.Forest) (slow []Layer) {
	families := make(map[string][]Layer)
	var order []string
	add := func(family string, l Layer) {
		if families[family] == nil {
			order = append(order, family)
		}
		families[family] = append(families[family], l)
	}
	for i := range operations {
		o := &operations[i]
		if o.Side != "" || o.Kind != op.KindCompute.String() || o.Count == 0 {
			continue
		}
		if family, number, ok := trace.LayerOf(o.Operation); ok {
			add(family, Layer{Number: number, Row: *o, Device: AnyDevice})
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
			w := workOf(&of[i].Row)
			usual[w] = append(usual[w], int64(of[i].Usual()))
			first, last = min(first, of[i].Number), max(last, of[i].Number)
		}
		if last-first >= 2*int64(len(of)) {
			continue
		}
		for _, l := range of {
			like := usual[workOf(&l.Row)]
			l.Median, l.Like = sketch.Median(like), len(like)-1
			if l.Factor = l.Usual() / float64(l.Median); l.Factor >= slower && len(like) >= least {
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

func (l *Layer) place() place { return place{l.Row.Operation, l.Path, l.Phase} }

// ofPaths adds the operations of devices whose paths name a layer, of all devices and of each.
func ofPaths(f *trace.Forest, add func(family string, l Layer)) {
	if f == nil || len(f.Names.Paths.Values) < 2 {
		return
	}
	type placeOn struct{ name, path, phase, device int32 }
	var phases symbols.Names
	var phaseOf []int32 // by mark
	for _, m := range f.Names.Marks.Values {
		phaseOf = append(phaseOf, phases.ID(m.Phase))
	}
	all := make(map[placeOn]*calls)
	for _, r := range f.Devices.ByStart {
		path := f.Path(r)
		if path == 0 || !f.CountsInSums(r) || !f.IsDeviceSide(r) || f.Kind(r) != op.KindCompute {
			continue
		}
		c := order.At(all, placeOn{f.Name(r), path, phaseOf[f.Mark(r)], f.Device(r)})
		c.flops += f.Flops(r)
		c.elements += f.Elements(r)
		c.durations = append(c.durations, f.Duration(r))
	}
	devices := make(map[placeOn]int)
	for _, at := range slices.Collect(maps.Keys(all)) {
		c := all[at]
		at.device = AnyDevice
		order.At(all, at).add(c)
		if len(c.durations) >= enough {
			devices[at]++
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(all), func(a, b placeOn) int {
		byPhase := cmp.Compare(phases.Values[a.phase], phases.Values[b.phase])
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path), byPhase, cmp.Compare(a.device, b.device))
	}) {
		whole := at
		whole.device = AnyDevice
		isLittle := at != whole && (devices[whole] < 2 || len(all[at].durations) < enough)
		name, path, phase := f.Names.Operations.Values[at.name], f.Names.Paths.Values[at.path], phases.Values[at.phase]
		family, number, isLayer := trace.LayerOf(path)
		if !isLayer || isLittle {
			continue
		}
		l := Layer{Number: number, Row: all[at].operation(), Path: path, Phase: phase, Device: at.device, devices: devices[whole]}
		l.Row.Operation = name
		add(fmt.Sprint(name, " of ", family, " in ", phase, " on ", at.device), l)
	}
}

// calls has the calls of an operation.
type calls struct {
	flops, elements int64
	durations       []int64
}

func (c *calls) add(o *calls) {
	c.flops += o.flops
	c.elements += o.elements
	if c.durations == nil {
		c.durations = slices.Clip(o.durations)
		return
	}
	c.durations = append(c.durations, o.durations...)
}

// operation returns the figures that layers are compared by.
func (c *calls) operation() (o profile.Operation) {
	o.Count = int64(len(c.durations))
	o.FLOPs = c.flops
	o.Elements = c.elements
	for _, ns := range c.durations {
		o.SumNS += ns
	}
	o.MeanNS = float64(o.SumNS) / float64(o.Count)
	o.P50NS = op.KnownFloat(float64(sketch.Median(c.durations)))
	return o
}

// work is the work of a call, as far as it is known.
type work struct{ flops, elements int64 }

func workOf(o *profile.Operation) work {
	n := max(1, o.Count)
	return work{o.FLOPs / n, o.Elements / n}
}
