package analyze

import (
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/op"
)

// rowFinder finds the rows of a profile by the codes of columns, which it looks up once
// per code.
type rowFinder struct {
	of     *op.Columns
	number int64
	// operations is by code, first those of the device side and then those of the
	// host side.
	operations []codedOperation
	devices    [codedDevices]codedDevice
}

// codedOperation is the row of an operation and the codes that were last seen in it.
type codedOperation struct {
	row                           *table.Row[operationRow]
	inputs, output, dtype, dtypes uint32
}

// codedDevice is the row of a device.
type codedDevice struct {
	device, rank, service uint32
	row                   *table.Row[deviceRow]
}

// codedDevices is a power of two, for some dozens of devices.
const (
	codedDeviceBits = 8
	codedDevices    = 1 << codedDeviceBits
)

// turnTo forgets what it knows of other codes.
func (f *rowFinder) turnTo(c *op.Columns) {
	if f.of == c && f.number == c.Number {
		return
	}
	f.of, f.number = c, c.Number
	clear(f.operations)
	if n := 2 * len(c.Operation.Values); n > len(f.operations) {
		f.operations = make([]codedOperation, n)
	}
	clear(f.devices[:])
}

// deviceSlot returns the place of a device, which may be that of another.
func (f *rowFinder) deviceSlot(device, rank, service uint32) *codedDevice {
	mixed := uint64(device)<<40 ^ uint64(service)<<20 ^ uint64(rank)
	return &f.devices[mixed*0x9e3779b97f4a7c15>>(64-codedDeviceBits)]
}

// addRows is Add for rows of columns, without groups.
func (p *Profile) addRows(rows *op.Rows) {
	c := rows.Columns
	p.found.turnTo(c)
	hosts := len(c.Side.Values) > 1
	for i := rows.From; i < rows.To; i++ {
		p.at.n++
		side := op.SideNone
		if hosts {
			side = c.Side.At(i)
		}
		row := p.codedOperation(c, sideIndex(side), i)
		m := measures{
			duration: c.Duration.At(i).V, elements: c.OutputElements.At(i).V, flops: c.FLOPs.At(i).V,
		}
		memory, kind := c.MemoryBytes.At(i), c.Kind.At(i)
		m.memory = memory.V
		if m.duration >= row.max || row.count == 0 {
			row.offerSlowest(m.duration, c.TraceID(i), c.SpanID(i))
		}
		row.addMeasures(m)
		row.durations.Add(m.duration)
		row.kinds |= 1 << kind
		if c.Failed.At(i) {
			row.errors++
		}
		if side == op.SideHost {
			continue
		}
		p.peak = max(p.peak, memory.V)
		if start := c.Start.At(i); start.Known {
			p.extend(start, op.Known(start.V+m.duration))
		}
		p.codedDevice(c, i).addMeasures(m)
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

// codedOperation returns the row of the operation of row i, and adds to its variety.
func (p *Profile) codedOperation(c *op.Columns, side, i int) *operationRow {
	code := c.Operation.Codes[i]
	slot := &p.found.operations[side*len(c.Operation.Values)+int(code)]
	if slot.row == nil || slot.row.Evicted {
		*slot = codedOperation{row: p.operationRow(side, c.Operation.Values[code])}
	}
	row := &slot.row.Value
	v := &row.variety
	if k := c.InputShapes.Codes[i]; k != slot.inputs && !v.mixesInputs {
		slot.inputs = k
		v.addInputs(c.InputShapes.Value(k))
	}
	if k := c.OutputShape.Codes[i]; k != slot.output && !v.mixesOutput {
		slot.output = k
		v.addOutput(c.OutputShape.Value(k))
	}
	if k := c.DType.Codes[i]; k != slot.dtype && !v.mixesDType {
		slot.dtype = k
		v.addDType(c.DType.Value(k))
	}
	if k := c.InputDTypes.Codes[i]; k != slot.dtypes && !v.mixesDTypes {
		slot.dtypes = k
		v.addDTypes(c.InputDTypes.Value(k))
	}
	return row
}

// codedDevice returns the row of the device of row i.
func (p *Profile) codedDevice(c *op.Columns, i int) *deviceRow {
	device, rank, service := c.DeviceID.Codes[i], c.Rank.Codes[i], c.Service.Codes[i]
	slot := p.found.deviceSlot(device, rank, service)
	if slot.row == nil || slot.device != device || slot.rank != rank || slot.service != service || slot.row.Evicted {
		*slot = codedDevice{device, rank, service, p.deviceRow(&op.Entry{
			DeviceID: c.DeviceID.Values[device], Rank: c.Rank.Values[rank], Service: c.Service.Values[service],
		})}
	}
	return &slot.row.Value
}
