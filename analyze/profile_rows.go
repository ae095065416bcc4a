package analyze

import (
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/op"
)

// rowFinder finds the rows of a profile by the codes of columns, which it looks up once
// per code.
type rowFinder struct {
	operationsOf, devicesOf, groupsOf columnVersions
	// operations is by code, first those of the device side and then those of the
	// host side.
	operations []foundRow[operationRow]
	devices    codeCache[*table.Row[deviceRow]]
	groups     codeCache[foundRow[groupRow]]
}

// foundRow is a row and the codes that were last seen in it, of what varies.
type foundRow[R any] struct {
	row                           *table.Row[R]
	inputs, output, dtype, dtypes uint32
}

// columnVersions tells whether what is known of the codes of some columns still holds.
type columnVersions struct {
	of       *op.Columns
	versions [maxKeyCodes]int64
}

// turnTo reports whether the columns have other values than at the last call.
func (v *columnVersions) turnTo(c *op.Columns, versions ...int64) (changed bool) {
	now := columnVersions{of: c}
	copy(now.versions[:], versions)
	if changed = *v != now; changed {
		*v = now
	}
	return changed
}

// varietyVersions returns the versions of what varies within a row.
func varietyVersions(c *op.Columns) [4]int64 {
	return [4]int64{c.InputShapes.Version, c.OutputShape.Version, c.InputDTypes.Version, c.DType.Version}
}

// turnTo forgets what it knows of other codes.
func (f *rowFinder) turnTo(c *op.Columns, keys []Key) {
	v := varietyVersions(c)
	if f.operationsOf.turnTo(c, c.Operation.Version, v[0], v[1], v[2], v[3]) {
		clear(f.operations)
	}
	if n := 2 * len(c.Operation.Values); n > len(f.operations) { // values may join the others
		f.operations = append(f.operations, make([]foundRow[operationRow], n-len(f.operations))...)
	}
	if f.devicesOf.turnTo(c, c.DeviceID.Version, c.Service.Version) {
		f.devices.clear()
	}
	if len(keys) > 0 && f.groupsOf.turnTo(c, append(appendKeyVersions(nil, keys, c), v[:]...)...) {
		f.groups.clear()
	}
}

// addRows is Add for rows of columns.
func (p *Profile) addRows(rows *op.Rows) {
	c := rows.Columns
	if p.found == nil {
		p.found = new(rowFinder)
	}
	p.found.turnTo(c, p.opts.By)
	hosts := len(c.Side.Values) > 1
	for _, at := range rows.List {
		i := int(at)
		p.at.n++
		side := op.SideNone
		if hosts {
			side = c.Side.At(i)
		}
		memory, kind := c.MemoryBytes.At(i), c.Kind.At(i)
		m := measures{
			duration: c.Duration.At(i).V, elements: c.OutputElements.At(i).V, memory: memory.V, flops: c.FLOPs.At(i).V,
		}
		found := p.foundOperation(c, sideIndex(side), i)
		row := &found.row.Value
		row.addRow(c, i, m)
		addVariety(&row.variety, found, c, i)
		if len(p.opts.By) > 0 {
			found := p.foundGroup(c, sideIndex(side), i)
			found.row.Value.addRow(c, i, m)
			addVariety(&found.row.Value.variety, found, c, i)
		}
		if side == op.SideHost {
			continue
		}
		p.peak = max(p.peak, memory.V)
		if start := c.Start.At(i); start.Known {
			p.extend(start, op.Known(start.V+m.duration))
		}
		p.foundDevice(c, i).addMeasures(m)
		switch kind {
		case op.KindCollective:
			p.addCollective(row, c.KindRule(i), m.duration)
		case op.KindMemory:
			p.addCopy(row, c.Operation.At(i), m.duration, memory)
		}
		if m.duration > p.slowest.shortest || m.duration == p.slowest.shortest && p.at.before(p.slowest.last) {
			p.slowest.offer(c.Entry(i), nil, p.at)
		}
		if memory.V > p.opts.HotspotBytes {
			p.hotCount++
			if p.at.before(p.hotspots.last) {
				p.hotspots.offer(c.Entry(i), nil, p.at)
			}
		}
	}
}

// addRow is add for a row of columns, but for its variety.
func (a *accumulator) addRow(c *op.Columns, i int, m measures) {
	if m.duration >= a.max || a.count == 0 {
		a.offerSlowest(m.duration, c.TraceID(i), c.SpanID(i))
	}
	a.addMeasures(m)
	a.durations.Add(m.duration)
	a.kinds |= 1 << c.Kind.At(i)
	if c.Failed.At(i) {
		a.errors++
	}
}

// addVariety adds the shapes and element types of a row of columns, unless they are
// those that were last seen.
func addVariety[R any](v *variety, last *foundRow[R], c *op.Columns, i int) {
	if k := c.InputShapes.Codes[i]; k != last.inputs && !v.mixesInputs {
		last.inputs = k
		v.addInputs(c.InputShapes.Value(k))
	}
	if k := c.OutputShape.Codes[i]; k != last.output && !v.mixesOutput {
		last.output = k
		v.addOutput(c.OutputShape.Value(k))
	}
	if k := c.DType.Codes[i]; k != last.dtype && !v.mixesDType {
		last.dtype = k
		v.addDType(c.DType.Value(k))
	}
	if k := c.InputDTypes.Codes[i]; k != last.dtypes && !v.mixesDTypes {
		last.dtypes = k
		v.addDTypes(c.InputDTypes.Value(k))
	}
}

// foundOperation returns the row of the operation of row i.
func (p *Profile) foundOperation(c *op.Columns, side, i int) *foundRow[operationRow] {
	code := c.Operation.Codes[i]
	found := &p.found.operations[2*int(code)+side]
	if found.row == nil || found.row.Evicted {
		*found = foundRow[operationRow]{row: p.operationRow(side, c.Operation.Values[code])}
	}
	return found
}

// foundDevice returns the row of the device of row i.
func (p *Profile) foundDevice(c *op.Columns, i int) *deviceRow {
	rank := c.Rank.At(i)
	var codes [maxKeyCodes]uint64
	row, ok := p.found.devices.slot(appendIntCode(append(codes[:0], uint64(c.DeviceID.Codes[i]), uint64(c.Service.Codes[i])), rank))
	if !ok || (*row).Evicted {
		*row = p.deviceRow(&op.Entry{DeviceID: c.DeviceID.At(i), Rank: rank, Service: c.Service.At(i)})
	}
	return &(*row).Value
}

// foundGroup returns the row of the group of row i.
func (p *Profile) foundGroup(c *op.Columns, side, i int) *foundRow[groupRow] {
	var codes [maxKeyCodes]uint64
	found, ok := p.found.groups.slot(appendKeyCodes(append(codes[:0], uint64(side)), p.opts.By, c, i))
	if !ok || found.row.Evicted {
		e := keyEntry(p.opts.By, c, i)
		*found = foundRow[groupRow]{row: p.groupRow(side, &e)}
	}
	return found
}
