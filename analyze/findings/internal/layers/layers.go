// Package layers compares the operations of layers whose names or paths are equal up to one number, such as layer_05.
package layers

import (
	"cmp"
	"maps"
	"slices"
	"strings"

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
	Factor      float64 // times the usual time of its like
	Median      int64   // of the usual times of all, in ns
	Like        int     // the number of others
}

// Usual returns the usual time of a call in ns. First calls may take far longer.
func (l *Layer) Usual() float64 { return cmp.Or(l.Row.P50NS.V, l.Row.MeanNS) }

// Excess returns by how much all calls usually exceed the median, in ns.
func (l *Layer) Excess() int64 { return int64(l.Usual()-float64(l.Median)) * l.Row.Count }

// Selects returns the selection of a replay.
func (l *Layer) Selects() string {
	text := l.Row.Operation
	if l.Path != "" {
		text = "operation=" + text + ",path=" + l.Path
	}
	if l.Phase != "" {
		text += ",phase=" + l.Phase
	}
	return text
}

// Slower returns the operations of layers that take longer than those of the other layers. f may be nil.
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
			add(family, Layer{Number: number, Row: *o})
		}
	}
	ofPaths(f, add)
	const (
		least  = 4
		slower = 1.15
	)
	for _, family := range order {
		of := families[family]
		var usual []int64
		first, last := of[0].Number, of[0].Number
		for i := range of {
			usual = append(usual, int64(of[i].Usual()))
			first, last = min(first, of[i].Number), max(last, of[i].Number)
		}
		median := sketch.Median(usual)
		if len(of) < least || last-first >= 2*int64(len(of)) {
			continue
		}
		for _, l := range of {
			l.Factor, l.Median, l.Like = l.Usual()/float64(median), median, len(of)-1
			if l.Factor >= slower && (sameWork(&l.Row, &of[0].Row) || sameWork(&l.Row, &of[1].Row)) {
				slow = append(slow, l)
			}
		}
	}
	return slow
}

// ofPaths adds the operations of devices whose paths name a layer.
func ofPaths(f *trace.Forest, add func(family string, l Layer)) {
	if f == nil || len(f.Names.Paths.Values) < 2 {
		return
	}
	type place struct{ name, path, phase int32 }
	var phases symbols.Names
	var phaseOf []int32 // by mark
	for _, m := range f.Names.Marks.Values {
		phaseOf = append(phaseOf, phases.ID(m.Phase))
	}
	type calls struct {
		profile.Operation
		durations []int64
	}
	all := make(map[place]*calls)
	for _, r := range f.Devices.ByStart {
		path := f.Path(r)
		if path == 0 || !f.CountsInSums(r) || !f.IsDeviceSide(r) || f.Kind(r) != op.KindCompute {
			continue
		}
		at := place{f.Name(r), path, phaseOf[f.Mark(r)]}
		o := all[at]
		if o == nil {
			o = &calls{Operation: profile.Operation{Operation: f.RowName(r)}}
			all[at] = o
		}
		o.Count++
		o.FLOPs += f.Flops(r)
		o.Elements += f.Elements(r)
		o.SumNS += f.Duration(r)
		o.durations = append(o.durations, f.Duration(r))
	}
	for _, at := range slices.SortedFunc(maps.Keys(all), func(a, b place) int {
		byPhase := cmp.Compare(phases.Values[a.phase], phases.Values[b.phase])
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.path, b.path), byPhase)
	}) {
		o := all[at].Operation
		o.MeanNS = float64(o.SumNS) / float64(o.Count)
		o.P50NS = op.KnownFloat(float64(sketch.Median(all[at].durations)))
		path := f.Names.Paths.Values[at.path]
		phase := phases.Values[at.phase]
		family, number, isLayer := trace.LayerOf(path)
		if !isLayer || strings.ContainsAny(o.Operation+path+phase, ",=*") {
			continue
		}
		add(o.Operation+" of "+family+" in "+phase, Layer{Number: number, Row: o, Path: path, Phase: phase})
	}
}

// sameWork reports whether calls of two operations have the same work, as far as it is known.
func sameWork(a, b *profile.Operation) bool {
	per := func(sum, n int64) int64 { return sum / max(1, n) }
	return per(a.FLOPs, a.Count) == per(b.FLOPs, b.Count) && per(a.Elements, a.Count) == per(b.Elements, b.Count)
}
