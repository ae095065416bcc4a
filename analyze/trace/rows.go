package trace

import (
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/model/opfile"
)

// Service returns the service of the operation in row r.
func (f *Forest) Service(r int32) string { return f.Names.Lanes.Values[f.Lane(r)].Service }

// IsLocal reports whether row r belongs to a local trace.
func (f *Forest) IsLocal(r int32) bool { return opfile.IsLocal(f.Names.Traces.Values[f.Trace(r)]) }

// RowName returns the name of the operation or span in row r.
func (f *Forest) RowName(r int32) string {
	if f.Has(r, FlagOp) {
		return f.Names.Operations.Values[f.Name(r)]
	}
	return f.Names.Spans.Values[f.Name(r)].Name
}

// ErrorText returns the error text of row r, "" if unknown.
func (f *Forest) ErrorText(r int32) string { return f.Names.Errors.Values[f.code(r, colError)] }

// Device returns the number of the device of row r.
func (f *Forest) Device(r int32) int32 { return f.Devices.Lanes[f.Lane(r)] }

// DeviceKey returns the device of row r.
func (f *Forest) DeviceKey(r int32) device.Key { return f.Devices.Keys[f.Device(r)] }

// DeviceStreamOf returns the number of the stream of row r.
func (f *Forest) DeviceStreamOf(r int32) int32 { return f.Devices.Streams[f.Lane(r)] }

// Work returns the work of the operation in row r.
func (f *Forest) Work(r int32) work.Work {
	w := work.Work{Flops: f.Flops(r), Bound: f.number(r, colBound)}
	if f.Has(r, flagFLOPs) {
		w.Facts |= work.Known
	}
	if f.Has(r, flagDerived) {
		w.Facts |= work.Derived
	}
	if n := f.number(r, colMoved); n < 0 {
		w.Bytes = ^n
		w.Facts |= work.Moved
	}
	return w
}
