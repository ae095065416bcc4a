package operators_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/operators"
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Kernels of an unnumbered graph get one row, and further kernel names share one.
func TestManyKernelsOfGraph(t *testing.T) {
	f := trace.New()
	sum := int64(0)
	for i := range int64(30) {
		e := tracetest.OpAt(fmt.Sprint("k", i), uint64(1+i), 0, 100*i, 101*i).Entry()
		e.Attrs = []op.Attr{{Key: "tensor.launch.call", Value: "cudaGraphLaunch"}}
		sum += e.Duration
		f.Add(op.Record{Entry: e})
	}
	rows := operators.Find(f, 10).Rows
	if len(rows) != 1 || rows[0].Operator != "CUDA graph" || rows[0].DeviceSelfNS != sum || rows[0].Calls != 0 ||
		len(rows[0].Below) != 11 {
		t.Fatalf("%+v", rows)
	}
	last := rows[0].Below[10]
	if want := (operators.Below{Operation: "(other)", Count: 20, SumNS: 19 * 20 / 2}); last != want {
		t.Errorf("%+v, want %+v", last, want)
	}
}

// The roofline compares a call's least time with the time of its launched operations. It needs the call's shapes and
// a single kind of device.
func TestRoofline(t *testing.T) {
	host := func(name string, id, parent uint64, start, end int64) *op.Entry {
		return tracetest.OpAt(name, id, parent, start, end).On("cpu").FromHost().Entry()
	}
	mm := host("aten::mm", 2, 1, 1, 8)
	mm.InputShapes = []op.Shape{{2, 3}, {3, 4}}
	mm.InputDTypes = []op.DType{op.F32, op.F32}
	entries := []*op.Entry{
		host("aten::linear", 1, 0, 0, 9), mm, host("aten::mm", 3, 0, 10, 19),
		tracetest.OpAt("gemm", 11, 0, 20, 180).LaunchedBy("aten::mm", 2).Entry(),
		tracetest.OpAt("reduce", 12, 0, 180, 228).LaunchedBy("aten::mm", 2).Entry(),
		tracetest.OpAt("gemm", 13, 0, 300, 400).LaunchedBy("aten::mm", 3).Entry(),
	}
	cuda := peaks.Device{Match: "cuda:*", BytesPerSecond: 1e9, FLOPsPerSecond: map[op.DType]float64{op.F32: 1e9}}
	cpu := peaks.Device{Match: "cpu*", BytesPerSecond: 1}
	other := peaks.Device{BytesPerSecond: 2e9}
	for _, tt := range []struct {
		devices []peaks.Device
		want    *work.Roofline
	}{
		// 2·3·4 products of 2 FLOPs take 48 ns, and 6 + 12 + 8 numbers of 4 bytes 104 ns.
		{[]peaks.Device{cpu, cuda}, &work.Roofline{
			Count: 1, SumNS: 160 + 48, FLOPs: 48, MovedBytes: 104, BoundNS: 104, Share: op.KnownFloat(0.5),
			Bound: work.BoundMemory,
		}},
		{[]peaks.Device{cuda, other}, nil},
		{[]peaks.Device{cpu}, nil},
	} {
		f := trace.New()
		finder := work.NewFinder(false, &peaks.Table{Devices: tt.devices})
		for _, e := range entries {
			f.AddOp(e, finder.Entry(e))
		}
		for _, row := range operators.Find(f, 10).Rows {
			want := tt.want
			if row.Operator != "aten::mm" {
				want = nil // launches no operation itself
			}
			check.Equal(t, row.Operator, want, row.Roofline)
		}
	}
}

// Rows match a naive reference that examines each operation and nanosecond, and they add up.
func TestOperatorsAgainstNaive(t *testing.T) {
	cases.Inputs(t, 50, 500, func(seed uint64, r *rand.Rand) {
		specs := tracetest.RandomSpecs(r, r.IntN(30))
		for i := range specs {
			specs[i].Phase = tracetest.Pick(r, "", "decode", "decode")
		}
		got := operators.Find(tracetest.AddTo(trace.New(), specs...), 1000)
		n := tracetest.NewNaiveTree(specs)
		want := make(map[string]*operators.Row)
		row := func(name string) *operators.Row {
			if want[name] == nil {
				want[name] = &operators.Row{Operator: name}
			}
			return want[name]
		}
		var sum, all int64
		bare := operators.Unattributed{}
		for i, s := range specs {
			if !s.IsOp || n.Repeat[i] {
				continue
			}
			time := s.End - s.Start
			if s.DeviceSide() {
				all += time
				name := n.LaunchName(i)
				if name == "" {
					bare.Count++
					bare.SumNS += time
					continue
				}
				w := row(name)
				w.Kernels++
				w.DeviceSelfNS += time
				w.MemoryBytes = op.Known(w.MemoryBytes.V + s.Memory)
				seen := []string{name}
				w.DeviceTotalNS += time
				if s.Graph != "" {
					addBelow(w, s.Name, s.CapturedIn, time)
					again := !s.Launch.Known
					for j, o := range specs[:i] {
						again = again || o.Graph == s.Graph && o.DeviceSide() && !n.Repeat[j] &&
							o.Launch == s.Launch && o.Trace == s.Trace &&
							o.Service == s.Service && o.Rank == s.Rank
					}
					if !again {
						w.Calls++
					}
				}
				for at := n.Launcher(i); at >= 0; at = n.Parent[at] {
					if above := specs[at]; above.IsOp && !above.DeviceSide() && !slices.Contains(seen, above.Name) {
						seen = append(seen, above.Name)
						row(above.Name).DeviceTotalNS += time
					}
				}
				continue
			}
			if n.Duplicate[i] {
				continue
			}
			w := row(s.Name)
			w.Calls++
			w.HostSelfNS = op.Known(w.HostSelfNS.V + n.Self(i))
			w.HostTotalNS.Known = true
			w.DeviceIdleNS.Known = true
			inside := false
			for at := n.Parent[i]; at >= 0; at = n.Parent[at] {
				inside = inside || specs[at].IsOp && !specs[at].DeviceSide() && specs[at].Name == s.Name
			}
			if inside {
				continue
			}
			w.HostTotalNS.V += time
			for at := s.Start; at < s.End; at++ {
				busy := false
				for j, o := range specs {
					busy = busy || !s.Timeless && o.DeviceSide() && !n.Repeat[j] && o.RunsAt(at) &&
						o.Service == s.Service && o.Rank == s.Rank
				}
				if !busy {
					w.DeviceIdleNS.V++
				}
			}
		}
		if got == nil {
			if len(want) > 0 {
				t.Errorf("seed %d: no operators, want %d", seed, len(want))
			}
			return
		}
		for _, g := range got.Rows {
			sum += g.DeviceSelfNS
			if inside := int64(0); g.Below != nil {
				for _, b := range g.Below {
					inside += b.SumNS
				}
				if inside != g.DeviceSelfNS {
					t.Errorf("seed %d: %s has %d ns and %d ns below it", seed, g.Operator, g.DeviceSelfNS, inside)
				}
			}
			check.Equal(t, fmt.Sprintf("seed %d: %s", seed, g.Operator), want[g.Operator], &g)
		}
		if len(got.Rows) != len(want) || got.Unattributed != bare || sum+bare.SumNS != all {
			t.Errorf("seed %d: %d rows, %v, a sum of %d; want %d, %v, %d", seed, len(got.Rows), got.Unattributed,
				sum+bare.SumNS, len(want),
				bare, all)
		}
	})
}

// addBelow adds an operation of a CUDA graph to its row and keeps the row sorted.
func addBelow(row *operators.Row, operation, capturedIn string, ns int64) {
	i := slices.IndexFunc(row.Below, func(b operators.Below) bool {
		return b.Operation == operation &&
			b.CapturedIn == capturedIn
	})
	if i < 0 {
		i = len(row.Below)
		row.Below = append(row.Below, operators.Below{Operation: operation, CapturedIn: capturedIn})
	}
	row.Below[i].Count++
	row.Below[i].SumNS += ns
	slices.SortFunc(row.Below, func(a, b operators.Below) int {
		if a.SumNS != b.SumNS {
			return int(b.SumNS - a.SumNS)
		}
		return strings.Compare(a.Operation+"\x00"+a.CapturedIn, b.Operation+"\x00"+b.CapturedIn)
	})
}
