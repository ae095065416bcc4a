package profile

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

func TestRoofline(t *testing.T) {
	p := New(Options{Peaks: &peaks.Table{Devices: []peaks.Device{
		{Match: "cuda:*", BytesPerSecond: 2e12, FLOPsPerSecond: map[op.DType]float64{op.F32: 2e13}},
	}}})
	matmul := op.Entry{
		Operation: "matmul", Kind: op.KindCompute, Duration: 2569, DType: op.F32, DeviceID: "cuda:0",
		InputShapes: []op.Shape{{64, 784}, {784, 256}}, OutputShape: op.Shape{64, 256},
	}
	p.Add(&matmul) // 25,690,112 / 2e13 = 1284.5 ns; 1,069,056 / 2e12 = 534.5 ns
	elsewhere := matmul
	elsewhere.DeviceID = "cpu"
	p.Add(&elsewhere)
	host := matmul
	host.Side = op.SideHost
	p.Add(&host)
	add := op.Entry{
		Operation: "add", Kind: op.KindCompute, Duration: 420, DType: op.F32, DeviceID: "cuda:1",
		InputShapes: []op.Shape{{1000, 100}, {1000, 100}}, OutputShape: op.Shape{1000, 100},
	}
	p.Add(&add) // 1,200,000 / 2e12 = 600 ns: more than it took, as from a cache
	halves := add
	halves.DType = op.BF16
	p.Add(&halves) // whose peak is not known
	r := p.Sums()
	near := cmpopts.EquateApprox(1e-9, 0)
	want := map[string]*work.Roofline{
		"matmul": {
			Count: 1, SumNS: 2569, FLOPs: 25_690_112, MovedBytes: 1_069_056,
			BoundNS: 1284.506, Share: op.KnownFloat(1284.506 / 2569), ComputeShare: 1, Bound: work.BoundCompute,
		},
		"add": {
			Count: 1, SumNS: 420, FLOPs: 100_000, MovedBytes: 1_200_000,
			BoundNS: 600, Share: op.KnownFloat(600.0 / 420), Bound: work.BoundMemory,
		},
	}
	for _, row := range r.Operations {
		w := want[row.Operation]
		if row.Side == op.SideHost.String() {
			w = nil
		}
		check.Equal(t, fmt.Sprintf("%s %s", row.Side, row.Operation), w, row.Roofline, near)
	}
	total := &work.Roofline{
		Count: 2, SumNS: 2989, FLOPs: 25_790_112, MovedBytes: 2_269_056,
		BoundNS: 1884.506, Share: op.KnownFloat(1884.506 / 2989), ComputeShare: 1284.506 / 1884.506, Bound: work.BoundCompute,
	}
	check.Equal(t, "total", total, r.Total.Roofline, near)
}
