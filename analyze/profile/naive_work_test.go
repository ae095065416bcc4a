package profile

import (
	"math/big"
	"math/rand/v2"
	"strings"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/op"
)

// naiveWork returns the work of entries of one side, as package flops tells it for each where it is not recorded.
func naiveWork(opts *Options, entries []op.Entry) (total int64, w work.Figures) {
	var time, moved, movedFLOPs int64
	var roof work.Roofline
	all := new(big.Rat)
	compute := new(big.Rat)
	for _, e := range entries {
		var follows flops.Work
		if !opts.RecordedFLOPs {
			follows = flops.Of(&e)
		}
		n := follows.FLOPs
		bytes := follows.Bytes
		dtype := follows.DType
		if e.FLOPs.Known {
			n = e.FLOPs
		} else if n.Known {
			w.FLOPsDerived += n.V
			w.FLOPsDerivedCount++
		}
		if !n.Known {
			continue
		}
		w.FLOPsCount++
		total += n.V
		time += e.Duration
		if !bytes.Known {
			continue
		}
		w.MovedCount++
		moved += bytes.V
		movedFLOPs += n.V
		bandwidth, speed := naivePeaks(opts.Peaks, e.DeviceID, dtype)
		if bandwidth == 0 || n.V > 0 && speed == 0 {
			continue
		}
		least := big.NewRat(bytes.V, bandwidth)
		busy := new(big.Rat)
		if n.V > 0 {
			busy.SetFrac64(n.V, speed)
		}
		arithmetic := busy.Cmp(least) > 0
		if arithmetic {
			least = busy
		}
		least.SetString(least.Mul(least, big.NewRat(1e12, 1)).FloatString(0)) // no peak of naivePeaks makes a half
		if least.Sign() == 0 {
			continue // neither computes nor moves anything
		}
		roof.Count++
		roof.SumNS += e.Duration
		roof.FLOPs += n.V
		roof.MovedBytes += bytes.V
		if all.Add(all, least); arithmetic {
			compute.Add(compute, least)
		}
	}
	if time > 0 && entries[0].Side != op.SideHost {
		w.FLOPsPerSecond = op.KnownFloat(float64(total) / float64(time) * 1e9)
	}
	if w.MovedCount > 0 {
		w.MovedBytes = op.Known(moved)
	}
	if moved > 0 {
		w.FLOPsPerByte = op.KnownFloat(float64(movedFLOPs) / float64(moved))
	}
	if roof.Count > 0 && entries[0].Side != op.SideHost {
		roof.BoundNS, _ = new(big.Rat).Quo(all, big.NewRat(1000, 1)).Float64()
		roof.ComputeShare, _ = new(big.Rat).Quo(compute, all).Float64()
		if roof.Bound = "memory"; compute.Cmp(new(big.Rat).Sub(all, compute)) > 0 {
			roof.Bound = "compute"
		}
		if roof.SumNS > 0 {
			roof.Share = op.KnownFloat(roof.BoundNS / float64(roof.SumNS))
		}
		w.Roofline = &roof
	}
	return total, w
}

// naivePeaks returns the bytes and FLOPs per second of a device by a table whose patterns end in * or have none, 0 for not known.
func naivePeaks(table *peaks.Table, device string, dtype op.DType) (bandwidth, speed int64) {
	if table == nil {
		return 0, 0
	}
	for _, d := range table.Devices {
		prefix, open := strings.CutSuffix(d.Match, "*")
		if device == d.Match || open && strings.HasPrefix(device, prefix) || d.Match == "" {
			return int64(d.BytesPerSecond), int64(d.FLOPsPerSecond[dtype])
		}
	}
	return 0, 0
}

// randomPeaks returns none, or a table whose first pattern that matches counts.
func randomPeaks(r *rand.Rand) *peaks.Table {
	if r.IntN(4) == 0 {
		return nil
	}
	table := new(peaks.Table)
	for range 1 + r.IntN(4) {
		d := peaks.Device{Match: tracetest.Pick(r, "cuda:*", "cuda:1", "*", "cpu", ""), BytesPerSecond: tracetest.Pick(r, 1e9, 3e9, 7e12)}
		d.FLOPsPerSecond = map[op.DType]float64{op.F32: tracetest.Pick(r, 7e7, 25e7, 11e12), op.F16: tracetest.Pick(r, 1e10, 13e12)}
		table.Devices = append(table.Devices, d)
	}
	return table
}

// setRandomWork makes e one of few different operations, of which some compute for longer than they move.
func setRandomWork(r *rand.Rand, e *op.Entry) {
	e.Operation = tracetest.Pick(r, "add", "mul", "matmul", "relu", "copy", "mystery")
	e.Kind = op.Kind(r.IntN(3))
	e.DType = tracetest.Pick(r, op.F32, op.F16, op.BF16, "", op.C64)
	e.InputShapes = nil
	e.InputDTypes = nil
	dim := func() int64 { return tracetest.Pick[int64](r, 0, 1, 2, 64, 784) }
	shape := func() op.Shape { return tracetest.Pick(r, nil, op.Shape{}, op.Shape{dim(), dim()}, op.Shape{1, 2}) }
	for range r.IntN(4) {
		e.InputShapes = append(e.InputShapes, shape())
		e.InputDTypes = append(e.InputDTypes, tracetest.Pick(r, op.F32, op.F16, ""))
	}
	if e.OutputShape = shape(); r.IntN(2) == 0 {
		m := dim()
		n := dim()
		k := dim()
		e.OutputShape = op.Shape{m, n}
		e.InputShapes = []op.Shape{{m, n}, {m, n}}
		e.InputDTypes = nil
		if e.Operation == "matmul" {
			e.InputShapes = []op.Shape{{m, k}, {k, n}}
		}
	}
}
