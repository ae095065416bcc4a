package analyze

import (
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/op"
)

// settle returns p, or, where the structure tells that p counts records twice or
// lacks local roots, the sums made again. p must have seen all operations of f,
// and no others.
func (f *Forest) settle(p *Profile) *Profile {
	f.build()
	filled := f.fillRoots()
	if f.counts.Overflow > 0 || !filled && f.counts.Repeated == 0 {
		return p
	}
	return f.profile(p, f.countsInSums)
}

// settleRoots returns p, or the sums made again where p lacks local roots.
// Repeats count in them, as in p.
func (f *Forest) settleRoots(p *Profile) *Profile {
	f.build()
	if !f.fillRoots() || f.counts.Overflow > 0 {
		return p
	}
	return f.profile(p, func(int32) bool { return true })
}

// profile returns the sums over the operations that keep selects, as a Profile
// that had seen these alone would have them. The lists of entries and the totals
// that seed traces state are those of base. So is what differs within a row, unless f groups by root and knows
// itself, and, where times are beyond what f holds, the first start and the last
// end. base must have seen all operations of f.
func (f *Forest) profile(base *Profile, keep func(r int32) bool) *Profile {
	p := newProfile(base.opts)
	groups := groupLookup{forest: f, profile: p}
	var varieties []op.Entry
	for _, text := range f.dict.varieties.Values {
		varieties = append(varieties, entryVariety(text))
	}
	var e op.Entry
	for r := range f.rowCount() {
		if !f.has(r, flagOp) || !keep(r) {
			continue
		}
		e = varieties[f.variety(r)]
		f.entry(r, &e)
		w := f.work(r)
		p.addSums(&e, nil, w)
		if len(f.by) > 0 {
			groups.row(sideIndex(e.Side), f.group(r)).add(&e, nil, w)
		}
	}
	p.slowest, p.hotspots = base.slowest, base.hotspots
	p.stated, p.states = base.stated, base.states
	if f.counts.BadTimes > 0 {
		p.extend(base.first, base.last)
	}
	if !f.byRoot {
		p.takeVarieties(base)
	}
	return p
}

// entry sets the fields of e that a Profile sums up to those of the operation in
// row r. It leaves out the keys of groups and the shapes.
func (f *Forest) entry(r int32, e *op.Entry) {
	flags := f.flags(r)
	lane := &f.dict.lanes.Values[f.lane(r)]
	e.Operation, e.Kind, e.KindRule = f.dict.operations.Values[f.name(r)], f.kind(r), op.KindRule(flags>>ruleShift)
	e.TraceID, e.SpanID = f.dict.traces.Values[f.trace(r)], spanID(f.span(r))
	e.DeviceID, e.EmptyDevice = lane.device.recorded()
	e.Rank, e.Stream = lane.device.Rank, lane.stream
	e.Service, e.Host = lane.device.Service, lane.device.Host
	e.Start = op.Int{V: f.start(r), Known: flags&flagStart != 0}
	e.Duration = f.duration(r)
	e.OutputElements = op.Known(f.elements(r))
	e.MemoryBytes = op.Int{V: f.memory(r), Known: flags&flagMemory != 0}
	e.AdjustedCount = f.weight(r)
	e.Failed = flags&flagFailed != 0
	if flags&flagHost != 0 {
		e.Side = op.SideHost
	}
	if flags&flagNegative != 0 {
		e.Warn = op.WarnNegativeDuration
	}
}

// takeVarieties takes over what differs within the rows of o that p has too.
func (p *Profile) takeVarieties(o *Profile) {
	for side := range p.operations {
		p.operations[side].Match(o.operations[side], func(mine, its *operationRow) { mine.variety = its.variety })
		p.groups[side].Match(o.groups[side], func(mine, its *groupRow) { mine.variety = its.variety })
	}
}

// groupLookup finds the rows of groups by their numbers in a Forest.
type groupLookup struct {
	forest  *Forest
	profile *Profile
	rows    [2][]*table.Row[groupRow] // by side
}

// row returns the row of the group.
func (l *groupLookup) row(side int, group int32) *groupRow {
	if l.rows[side] == nil {
		l.rows[side] = make([]*table.Row[groupRow], len(l.forest.dict.groups.Values))
	}
	slot := &l.rows[side][group]
	if *slot == nil || (*slot).Evicted {
		text := l.forest.dict.groups.Values[group]
		row, isNew := l.profile.groups[side].Row([]byte(text))
		if isNew {
			row.Value.values = cutKeys(text, l.forest.by)
		}
		*slot = row
	}
	return &(*slot).Value
}
