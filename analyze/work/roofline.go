package work

import (
	"math"
	"strings"

	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/op"
)

// Roofline compares operations with the peaks of their devices. The least time of an operation is the longer of
// its FLOPs at the peak rate of their element type and its bytes at the peak rate of the memory.
type Roofline struct {
	// Count is the number of operations, SumNS the sum of their durations.
	Count int64 `json:"count"`
	SumNS int64 `json:"sum_ns"`
	// FLOPs and MovedBytes are sums over these operations.
	FLOPs      int64 `json:"flops"`
	MovedBytes int64 `json:"moved_bytes"`
	// BoundNS is the sum of the least times. Share is BoundNS as a part of SumNS: 1 on the roofline.
	// ComputeShare is the part of BoundNS due to FLOPs.
	BoundNS      float64  `json:"bound_ns"`
	Share        op.Float `json:"share"`
	ComputeShare float64  `json:"compute_share"`
	// Bound is the cause of most of BoundNS: "compute" or "memory".
	Bound string `json:"bound"`
}

// Values of Roofline.Bound.
const (
	BoundCompute = "compute"
	BoundMemory  = "memory"
)

// Bounds adds up least times. Partial results contain it as JSON.
type Bounds struct {
	Count        int64    `json:"bound_count,omitempty"`
	TimeNS       wide.Sum `json:"bound_time_ns,omitzero"`
	FLOPs        wide.Sum `json:"bound_flops,omitzero"`
	Bytes        wide.Sum `json:"bound_bytes,omitzero"`
	ArithmeticPS wide.Sum `json:"arithmetic_ps,omitzero"` // if FLOPs take longer
	MemoryPS     wide.Sum `json:"memory_ps,omitzero"`     // if bytes take longer
}

// Add adds the least time of work with duration d, if known with its bytes.
func (s *Bounds) Add(w *Work, d int64) {
	if w.Bound == 0 || !w.Moved() {
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

// Roofline returns the figures, nil without operations.
func (s *Bounds) Roofline() *Roofline {
	if s.Count == 0 {
		return nil
	}
	arithmetic := s.ArithmeticPS.Float64()
	all := s.ArithmeticPS
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

// peaksOf returns the peaks of e's device, or of its accelerator for the host's view; nil if unknown. Without a table it
// uses the model named in the trace.
func (f *Finder) peaksOf(e *op.Entry) *peaks.Device {
	switch {
	case f.peaks == nil && (e.Side == op.SideHost || e.HasDevice() && !strings.HasPrefix(e.DeviceID, "cpu")):
		return f.named
	case f.peaks != nil && e.Side == op.SideHost:
		return f.peaks.Accelerator()
	}
	return f.peaks.Find(e.DeviceID)
}

// bound sets the least time of w, the work of e, in an element type on device d. For the host's view of f32 on a device
// with TF32 it is unknown if arithmetic may decide: only the kernel's name states it.
func (f *Finder) bound(w *Work, e *op.Entry, d *peaks.Device, dtype op.DType) {
	isHost := e.Side == op.SideHost
	if f.Used == nil {
		f.Used = make(Used)
	}
	if d == nil {
		return
	}
	arithmetic := 0.0
	memory := float64(w.Bytes) / d.BytesPerSecond
	if w.Flops > 0 {
		rate, name := d.Rate(dtype, e.Operation, w.Flops, e.Duration)
		isOpen := isHost && dtype == op.F32 && d.TF32FLOPsPerSecond > 0
		if isOpen {
			rate = d.FLOPsPerSecond[op.F32]
		}
		if rate == 0 {
			return
		}
		if arithmetic = float64(w.Flops) / rate; isOpen && arithmetic > memory {
			return
		}
		if !isHost {
			f.Used[Arithmetic{name, rate}] += float64(w.Flops)
		}
	}
	const picosecond = 1e12
	least := int64(min(math.Round(max(memory, arithmetic)*picosecond), math.MaxInt64/2))
	if w.Bound = least; memory >= arithmetic {
		w.Bound = -least
	}
}

// isPlain reports whether e does w with f32 arithmetic without tensor cores, which its device has: near the peak of plain
// cores, and no faster.
func (w *Work) isPlain(e *op.Entry, d *peaks.Device) bool {
	const near = 0.3
	if d == nil || w.Flops == 0 || e.DType != op.F32 || e.Side == op.SideHost || d.TF32FLOPsPerSecond == 0 || e.Duration <= 0 {
		return false
	}
	peak, name := d.Rate(e.DType, e.Operation, w.Flops, e.Duration)
	return name != peaks.TF32 && float64(w.Flops) >= near*peak*float64(e.Duration)/1e9
}

// Arithmetic is the arithmetic of an element type, or peaks.TF32, at the peak rate of a device.
type Arithmetic struct {
	Name               string
	PeakFLOPsPerSecond float64
}

// Used sums up FLOPs of devices with known peaks by arithmetic.
type Used map[Arithmetic]float64

// Main returns the arithmetic of at least nine tenths of all FLOPs. ok is false without one.
func (u Used) Main(all int64) (main Arithmetic, ok bool) {
	for a, flops := range u {
		if flops > u[main] {
			main = a
		}
	}
	return main, u[main] > 0 && 10*u[main] >= 9*float64(all)
}
