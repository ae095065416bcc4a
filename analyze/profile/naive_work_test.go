package profile

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// naiveWork returns the work of entries of one side; follow is whether work follows from shapes, as package flops tells for each.
func naiveWork(table *peaks.Table, entries []op.Entry, follow bool) (total int64, w work.Figures) {
	var time, moved, movedFLOPs int64
	var roof work.Roofline
	all, compute := new(big.Rat), new(big.Rat)
	for _, e := range entries {
		var follows flops.Work
		if follow {
			follows = flops.Of(&e)
		}
		n, bytes, dtype := follows.FLOPs, follows.Bytes, follows.DType
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
		bandwidth, speed := naivePeaks(table, e.DeviceID, dtype)
		if bandwidth == 0 || n.V > 0 && speed == 0 {
			continue
		}
		least, busy := big.NewRat(bytes.V, bandwidth), new(big.Rat)
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

// FLOPs, bytes, least times and what most of them is due to, of rows of operations and devices and of all.
func TestWorkAgainstNaive(t *testing.T) {
	bounds := make(map[string]int)
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		opts := Options{By: tracetest.Keys("device"), Peaks: randomPeaks(r), RecordedFLOPs: r.IntN(8) == 0}
		p := New(opts)
		var entries, ofDevices []op.Entry
		for range 1 + r.IntN(40) {
			e := randomWork(r)
			if r.IntN(3) > 0 { // some compute for longer than they move
				dim := func() int64 { return tracetest.Pick[int64](r, 0, 1, 2, 3, 64, 784) }
				m, n, k := dim(), dim(), dim()
				e.Operation, e.OutputShape, e.InputDTypes = tracetest.Pick(r, "matmul", "add", "relu", "copy"), op.Shape{m, n}, nil
				if e.InputShapes = []op.Shape{{m, n}, {m, n}}; e.Operation == "matmul" {
					e.InputShapes = []op.Shape{{m, k}, {k, n}}
				}
			}
			e.DeviceID, e.DType = tracetest.Pick(r, "cuda:0", "cuda:1", "cpu", ""), tracetest.Pick(r, e.DType, op.F32)
			if r.IntN(6) == 0 {
				e.Side = op.SideHost
			} else {
				ofDevices = append(ofDevices, *e)
			}
			entries = append(entries, *e)
			p.Add(e)
		}
		compare := func(what string, of []op.Entry, flops int64, got work.Figures) {
			sum, want := naiveWork(opts.Peaks, of, !opts.RecordedFLOPs)
			where := fmt.Sprintf("seed %d: %s", seed, what)
			check.Equal(t, where, want, got, gocmp.Options{cmpopts.EquateApprox(1e-12, 0)})
			check.Equal(t, where+": FLOPs", sum, flops)
			if want.Roofline != nil {
				bounds[want.Roofline.Bound]++
			}
		}
		sums := p.Sums()
		compare("total", ofDevices, sums.Total.FLOPs, sums.Total.Figures)
		for _, row := range sums.Operations {
			compare(row.Side+" "+row.Operation, slices.DeleteFunc(slices.Clone(entries), func(e op.Entry) bool {
				return e.Operation != row.Operation || e.Side.String() != row.Side
			}), row.FLOPs, row.Figures)
		}
		for _, row := range sums.Groups {
			compare(row.Side+" "+row.Key.String(), slices.DeleteFunc(slices.Clone(entries), func(e op.Entry) bool {
				return e.Side.String() != row.Side || row.Key.String() != e.DeviceID && (e.DeviceID != "" || row.Key.String() != "unknown")
			}), row.FLOPs, row.Figures)
		}
	})
	if bounds["compute"] == 0 || bounds["memory"] == 0 {
		t.Errorf("rows by what bounds them: %v", bounds)
	}
}
