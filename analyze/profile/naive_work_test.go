package profile

import (
	"math/big"
	"strings"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/op"
)

// naiveWork sums up the work of entries of one side, recorded or as given by package flops.
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
		least.SetString(least.Mul(least, big.NewRat(1e12, 1)).FloatString(0)) // the peaks avoid halves
		if least.Sign() == 0 {
			continue // neither computes nor moves
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

// naivePeaks returns the bytes and FLOPs per second of a device, 0 if unknown. Patterns may only end in *.
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
