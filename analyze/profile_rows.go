package analyze

import (
	"math"

	"github.com/optrace/optrace/op"
)

// addRows is Add for rows of columns. It finds what each row is added to by the codes of
// the row, and then adds up one column after the other. works is the work of the rows.
func (p *Profile) addRows(rows *op.Rows, works []work) {
	c := rows.Columns
	if p.found == nil {
		p.found = newRowFinder(p.opts.By)
	}
	f := p.found
	f.turnTo(c, p.opts.By)
	f.late.columns = c // no row of earlier ones can be read again
	f.setDurations(c, rows.List)
	for p.findOperations(c, rows.List) { // until no row was evicted for another
	}
	p.addColumns(c, rows.List)
	p.addWorks(works)
	p.addKinds(c)
	if len(p.opts.By) > 0 {
		for p.findGroups(c, rows.List) {
		}
		p.addColumns(c, rows.List)
		p.addWorks(works)
	}
	p.addTotalsOf(c, rows.List)
	p.offerSlow(c, rows.List)
	p.at.n += int64(len(rows.List))
	p.settle()
}

// findOperations sets the sums to those of the operations of rows, and adds what is the
// same for most rows of an operation. It reports whether that evicted another operation.
func (p *Profile) findOperations(c *op.Columns, list []int32) (evicted bool) {
	before := p.operations[0].Evictions() + p.operations[1].Evictions()
	p.found.find(c, list, c.Operation.Codes, p.found.operations, func(side, row int) foundRow {
		r := p.operationRow(side, c.Operation.At(row))
		return newFoundRow(&r.Value.accumulator, &r.Evicted, &r.Value)
	})
	return p.operations[0].Evictions()+p.operations[1].Evictions() > before
}

// findGroups is findOperations for the groups.
func (p *Profile) findGroups(c *op.Columns, list []int32) (evicted bool) {
	f := p.found
	before := p.groups[0].Evictions() + p.groups[1].Evictions()
	look := func(side, row int) foundRow {
		e := keyEntry(p.opts.By, c, row)
		r := p.groupRow(side, &e)
		return newFoundRow(&r.Value.accumulator, &r.Evicted, nil)
	}
	if codes, _ := codesOf(p.opts.By, c); codes != nil {
		f.find(c, list, codes, f.single, look)
		return p.groups[0].Evictions()+p.groups[1].Evictions() > before
	}
	f.sums = f.sums[:0]
	var codes [maxKeyCodes]uint64
	for _, i := range list {
		row := int(i)
		side := sideAt(c, row)
		found, ok := f.groups.slot(appendKeyCodes(append(codes[:0], uint64(side)), p.opts.By, c, row))
		if !ok || *found.evicted {
			*found = look(side, row)
		}
		found.addVariety(c, row)
		found.sums.kinds |= 1 << c.Kind.At(row)
		f.sums = append(f.sums, found.sums)
	}
	return p.groups[0].Evictions()+p.groups[1].Evictions() > before
}

// addColumns adds rows to the sums, but for their kinds and variety.
func (p *Profile) addColumns(c *op.Columns, list []int32) {
	sums := p.found.sums
	durations := p.found.durations[:len(sums)]
	for k, a := range sums {
		d := durations[k]
		if d >= a.max || a.count == 0 {
			p.found.late.raise(a, d, int(list[k]))
		}
		if d < a.min || a.count == 0 {
			a.min = d
		}
		a.count++
		a.sum.Add(d)
		a.squares.AddSquare(d)
		a.durations.Add(d)
	}
	if codes, values := c.OutputElements.Codes, c.OutputElements.Values; len(values) > 1 {
		for k, i := range list {
			sums[k].elements.Add(values[codes[i]].V)
		}
	}
	if codes, values := c.MemoryBytes.Codes, c.MemoryBytes.Values; len(values) > 1 {
		for k, i := range list {
			sums[k].memory.Add(values[codes[i]].V)
		}
	}
	if codes, values := c.Failed.Codes, c.Failed.Values; len(values) > 1 {
		for k, i := range list {
			if values[codes[i]] {
				sums[k].errors++
			}
		}
	}
}

// addWorks adds the work of rows to the sums.
func (p *Profile) addWorks(works []work) {
	sums, durations := p.found.sums[:len(works)], p.found.durations[:len(works)]
	for k := range works {
		if w := &works[k]; w.known() {
			sums[k].addWork(w, durations[k])
		}
	}
}

// sideAt returns the index of the side of a row.
func sideAt(c *op.Columns, row int) int {
	if len(c.Side.Values) == 1 {
		return 0
	}
	return sideIndex(c.Side.At(row))
}

// addTotalsOf adds rows to the devices and to the totals, and offers them to the entries of
// much memory.
func (p *Profile) addTotalsOf(c *op.Columns, list []int32) {
	memories, memoryValues := c.MemoryBytes.Codes, c.MemoryBytes.Values
	starts, startValues := c.Start.Codes, c.Start.Values
	devices, services, ranks := c.DeviceID.Codes, c.Service.Codes, c.Rank.Codes
	durations := p.found.durations[:len(list)]
	hosts := len(c.Side.Values) > 1
	peak := p.peak
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for k, i := range list {
		if hosts && c.Side.At(int(i)) == op.SideHost {
			continue
		}
		duration, memory := durations[k], memoryValues[memories[i]].V
		if memory > peak {
			peak = memory
		}
		if memory > p.opts.HotspotBytes {
			p.offerLarge(c, k, int(i))
		}
		if start := &startValues[starts[i]]; start.Known {
			first, last = min(first, start.V), max(last, start.V+duration)
		}
		device, service, rank := devices[i], services[i], ranks[i]
		s := &p.found.devices[(device+31*service+37*rank)%deviceSlots]
		if s.device != device || s.service != service || s.rank != rank || s.row == nil || s.row.Evicted {
			*s = deviceSlot{p.deviceRowAt(c, int(i)), device, service, rank}
		}
		s.row.Value.count++
		s.row.Value.sum.Add(duration)
		s.row.Value.memory.Add(memory)
	}
	if p.peak = peak; first <= last {
		p.extend(op.Known(first), op.Known(last))
	}
}

// offerLarge offers a row, whose place in the list is given too, to the entries of much
// memory.
func (p *Profile) offerLarge(c *op.Columns, k, row int) {
	p.hotCount++
	if at := (position{p.at.part, p.at.n + int64(k) + 1}); at.before(p.hotspots.last) {
		p.hotspots.offer(c.Entry(row), nil, at)
	}
}

// addKinds adds the rows of kinds that have sums of their own.
func (p *Profile) addKinds(c *op.Columns) {
	for _, s := range p.found.special {
		row, duration := int(s.row), p.found.durations[s.at]
		if c.Kind.At(row) == op.KindCollective {
			p.addCollective(s.found.operation, c.KindRule(row), duration)
		} else {
			p.addCopy(s.found.operation, c.Operation.At(row), duration, c.MemoryBytes.At(row))
		}
	}
}
