package profile

import (
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// Settle returns p, or recomputed sums if the structure of f adds to its groups, or if p counts repeats and repeats is
// false. p must contain exactly the operations of f.
func Settle(f *trace.Forest, p *Profile, repeats bool) *Profile {
	f.Build()
	if filled := f.FillGroups(); f.Counts.Overflow > 0 || !filled && (repeats || f.Counts.Repeated == 0) {
		return p
	}
	return Of(f, p, func(r int32) bool { return repeats || f.CountsInSums(r) })
}

// Of returns the sums over the operations selected by keep, as a Profile of these alone. Lists of entries and stated
// totals are taken from base. So are differences within rows, unless the groups of f need the tree, and the first start
// and last end if some times are out of range in f. base must contain all operations of f.
func Of(f *trace.Forest, base *Profile, keep func(r int32) bool) *Profile {
	base = base.settled()
	p := newProfile(base.opts)
	var e op.Entry
	for r := range f.Rows() {
		if !f.Has(r, trace.FlagOp) || !keep(r) {
			continue
		}
		setEntry(f, r, &e)
		w := f.Work(r)
		p.addSums(&e, w)
		if len(f.By) > 0 {
			p.key = append(p.key[:0], f.Names.Groups.Values[f.Group(r)]...)
			p.groupRow(SideIndex(e.Side)).add(&e, w)
		}
	}
	p.slowest.merge(&base.slowest, 0)
	p.hotspots.merge(&base.hotspots, 0)
	p.StatedMore = base.StatedMore
	p.States = base.States
	if f.Counts.BadTimes > 0 {
		p.extend(base.First, base.Last)
	}
	if !f.ByTree {
		for side := range p.operations {
			p.operations[side].Match(base.operations[side], func(mine, its *operationRow) { mine.variety = its.variety })
			p.groups[side].Match(base.groups[side], func(mine, its *groupRow) { mine.variety = its.variety })
		}
	}
	return p
}

// setEntry sets e to the operation in row r with all fields used by sums, except keys of groups.
func setEntry(f *trace.Forest, r int32, e *op.Entry) {
	flags := f.Flags(r)
	lane := &f.Names.Lanes.Values[f.Lane(r)]
	v := &f.Names.Varieties.Values[f.Variety(r)]
	*e = op.Entry{
		Operation: f.Names.Operations.Values[f.Name(r)], Kind: f.Kind(r),
		KindRule: op.KindRule(flags >> trace.RuleShift),
		TraceID:  f.Names.Traces.Values[f.Trace(r)], SpanID: trace.SpanID(f.Span(r)),
		Rank: lane.Device.Rank, Stream: lane.Stream, Service: lane.Device.Service, Host: lane.Device.Host,
		Start: op.Int{V: f.Start(r), Known: flags&trace.FlagStart != 0}, Duration: f.Duration(r),
		InputShapes: v.InputShapes, OutputShape: v.OutputShape, DType: v.DType, InputDTypes: v.InputDTypes,
		OutputElements: op.Known(f.Elements(r)),
		MemoryBytes:    op.Int{V: f.Memory(r), Known: flags&trace.FlagMemory != 0},
		AdjustedCount:  f.Weight(r), Failed: flags&trace.FlagFailed != 0, Error: f.ErrorText(r),
	}
	e.DeviceID, e.EmptyDevice = lane.Device.Recorded()
	if flags&trace.FlagHost != 0 {
		e.Side = op.SideHost
	}
	if flags&trace.FlagNegative != 0 {
		e.Warn = op.WarnNegativeDuration
	}
}
