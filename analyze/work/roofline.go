package work

import (
	"math"

	"github.com/optrace/optrace/analyze/internal/symbols"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/op"
)

// Roofline compares operations with what their devices can do at best: the least time that
// each takes is that of its FLOPs at the peak of their element type, or that of its bytes at
// the peak of the memory, whichever is longer.
type Roofline struct {
	// Count is the number of the operations, and SumNS the sum of their durations.
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
	// FLOPs and MovedBytes are theirs.
	FLOPs      int64 `json:"flops"`
	MovedBytes int64 `json:"moved_bytes"`
	// BoundNS is the sum of their least times, and Share that part of SumNS: 1 on the
	// roofline. ComputeShare is the part of BoundNS that FLOPs take.
	BoundNS      float64  `json:"bound_ns"`
	Share        op.Float `json:"share"`
	ComputeShare float64  `json:"compute_share"`
	// Bound is "compute" or "memory": what most of BoundNS is due to.
	Bound string `json:"bound"`
}

// The bounds that a Roofline may name.
const (
	BoundCompute = "compute"
	BoundMemory  = "memory"
)

// Bounds adds up least times. Its JSON form is that of partial results.
type Bounds struct {
	Count        int64    `json:"bound_count,omitempty"`
	TimeNS       wide.Sum `json:"bound_time_ns,omitzero"`
	FLOPs        wide.Sum `json:"bound_flops,omitzero"`
	Bytes        wide.Sum `json:"bound_bytes,omitzero"`
	ArithmeticPS wide.Sum `json:"arithmetic_ps,omitzero"` // where FLOPs take longer
	MemoryPS     wide.Sum `json:"memory_ps,omitzero"`     // where bytes do
}

// Add adds the least time of work that took d, if it is known.
func (s *Bounds) Add(w *Work, d int64) {
	if w.Bound == 0 {
		return
	}
	s.Count++
	s.TimeNS.Add(d)
	s.FLOPs.Add(w.Flops)
	s.Bytes.Add(w.Bytes)
	if w.Bound > 0 {
		s.ArithmeticPS.Add(w.Bound)
	} else {
		s.MemoryPS.Add(-w.Bound)
	}
}

func (s *Bounds) merge(o *Bounds) {
	s.Count += o.Count
	s.TimeNS.Merge(o.TimeNS)
	s.FLOPs.Merge(o.FLOPs)
	s.Bytes.Merge(o.Bytes)
	s.ArithmeticPS.Merge(o.ArithmeticPS)
	s.MemoryPS.Merge(o.MemoryPS)
}

// Roofline returns the figures, nil without an operation.
func (s *Bounds) Roofline() *Roofline {
	if s.Count == 0 {
		return nil
	}
	arithmetic, all := s.ArithmeticPS.Float64(), s.ArithmeticPS
	all.Merge(s.MemoryPS)
	r := &Roofline{
		Count: s.Count, SumNS: s.TimeNS.Int64(), FLOPs: s.FLOPs.Int64(), MovedBytes: s.Bytes.Int64(),
		BoundNS: all.Float64() / 1000, ComputeShare: arithmetic / all.Float64(), Bound: BoundMemory,
	}
	if r.ComputeShare > 0.5 {
		r.Bound = BoundCompute
	}
	if ns := s.TimeNS.Float64(); ns > 0 {
		r.Share = op.KnownFloat(r.BoundNS / ns)
	}
	return r
}

// roofs finds the peaks of devices.
type roofs struct {
	table  *peaks.Table // nil for none
	dtypes []op.DType   // by number less one
	cache  *symbols.Cache[bool, *roof]
}

// roof has the peaks of a device; nil where they are not known.
type roof struct {
	bytes float64
	flops [maxRoofTypes + 1]float64 // by the number of an element type, 0 where it is not known
}

// maxRoofTypes is more than there are element types.
const maxRoofTypes = 31

// number returns the number of an element type, 0 for one that is not recognised.
func (f *roofs) number(t op.DType) uint8 {
	for i, known := range f.dtypes {
		if known == t {
			return uint8(i + 1)
		}
	}
	if t.Size() == 0 || len(f.dtypes) == maxRoofTypes {
		return 0
	}
	f.dtypes = append(f.dtypes, t)
	f.cache = nil // its devices lack the type
	return uint8(len(f.dtypes))
}

// of returns the peaks of the device of an entry, or for the host's view of an operation those of the devices
// that it may have been launched to.
func (f *roofs) of(e *op.Entry) *roof {
	if f.cache == nil {
		f.cache = new(symbols.Cache[bool, *roof])
	}
	device, host := e.DeviceID, e.Side == op.SideHost
	if host {
		device = ""
	}
	slot := f.cache.Slot(device, 0)
	if !slot.Holds(device, host) {
		d := f.table.Find(device)
		if host {
			d = f.table.Accelerator()
		}
		slot.Set(device, host, f.roof(d))
	}
	return slot.Value
}

func (f *roofs) roof(d *peaks.Device) *roof {
	if d == nil {
		return nil
	}
	r := &roof{bytes: d.BytesPerSecond}
	for i, t := range f.dtypes {
		r.flops[i+1] = d.FLOPsPerSecond[t]
	}
	return r
}

// bound sets the least time of work with an element type of some number.
func (r *roof) bound(w *Work, dtype uint8) {
	if r == nil || w.Flops > 0 && r.flops[dtype] == 0 {
		return
	}
	const picosecond = 1e12
	memory, arithmetic := float64(w.Bytes)/r.bytes, 0.0
	if w.Flops > 0 {
		arithmetic = float64(w.Flops) / r.flops[dtype]
	}
	least := int64(min(math.Round(max(memory, arithmetic)*picosecond), math.MaxInt64/2))
	if w.Bound = least; memory >= arithmetic {
		w.Bound = -least
	}
}
