package layers_test

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/analyze/findings/internal/layers"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// A slow layer is slow in its small kernels, too, and in templates with commas in their names. Kernels as fast as in
// other layers are no part of it.
func TestASlowLayerHasAllOfItsKernels(t *testing.T) {
	const us = 1_000
	for _, test := range []struct {
		slow   int64 // times as long
		most   int
		paths  string
		suffix string
		want   []string
	}{
		{5, 8, "layer_%02d", "", []string{
			"operation=gemm,path=layer_03", "operation=flash<64* 128>(float*),path=layer_03",
			"operation=add,path=layer_03",
		}},
		{3, 2, "model.layers.%d.mlp", "backward", []string{
			"operation=gemm,path=model.layers.3.mlp,phase=backward",
			"operation=flash<64* 128>(float*),path=model.layers.3.mlp,phase=backward",
		}},
		{1, 8, "layer_%02d", "", nil},
	} {
		f := trace.New()
		at := int64(1e18)
		for i := range int64(6 * 12) {
			for _, k := range []struct {
				name   string
				ns     int64
				isSlow bool
			}{
				{"gemm", 400 * us, true}, {"flash<64, 128>(float*)", 30 * us, true}, {"norm", 50 * us, false},
				{"add", 5 * us, true},
			} {
				e := op.Entry{
					Operation: k.name, Kind: op.KindCompute, DeviceID: "cuda:0", Path: fmt.Sprintf(test.paths, i%6),
					Phase: test.suffix, Start: op.Known(at), Duration: k.ns + i%5*k.ns/100,
				}
				if k.isSlow && i%6 == 3 {
					e.Duration *= test.slow
				}
				at += e.Duration + us
				f.Add(op.Record{Entry: &e})
			}
		}
		f.Build()
		var got []string
		for n, of := range layers.Together(layers.Slower(nil, f), test.most) {
			for _, l := range of {
				got = append(got, l.Selects())
			}
			check.Equal(t, "number", 0, n)
		}
		check.Equal(t, fmt.Sprint(test.slow, " times as long"), test.want, got)
	}
}

// A layer with other types of elements has another least time: it is no slower than its like.
func TestALayerOfAnotherTypeIsNotAlike(t *testing.T) {
	const us = 1_000
	for _, test := range []struct {
		path  string
		least int64 // ps, of the slow layer
		want  int   // slow operations
	}{
		{"layers.%d.conv1", 10_000_000, 1},
		{"layers.%d.conv1", 160_000_000, 0},
	} {
		f := trace.New()
		for i := range int64(6 * 12) {
			e := op.Entry{
				Operation: "gemm", Kind: op.KindCompute, DeviceID: "cuda:0", Path: fmt.Sprintf(test.path, i%6),
				Start: op.Known(int64(1e18) + i*1000*us), Duration: 20 * us,
			}
			least := int64(10_000_000)
			if i%6 == 3 {
				e.Duration *= 10
				least = test.least
			}
			f.AddOp(&e, work.Work{Flops: 1e9, Bound: least})
		}
		f.Build()
		check.Equal(t, fmt.Sprint("slow at ", test.least), test.want, len(layers.Slower(nil, f)))
	}
}
