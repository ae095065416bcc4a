package profile

import (
	"cmp"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
)

// The cache of derived work has no effect but on time, however many entries differ in a
// name, a dimension, its place or an element type only.
func TestWorkIsThatOfEachEntry(t *testing.T) {
	cases.Seeds(t, 20, func(seed uint64, r *rand.Rand) {
		var f work.Finder
		for range 5000 {
			e := randomWork(r)
			follows := flops.Of(e)
			want := work.Work{Flops: cmp.Or(e.FLOPs, follows.FLOPs).V, Bytes: follows.Bytes.V}
			for fact, holds := range map[work.Facts]bool{
				work.Known: e.FLOPs.Known || follows.FLOPs.Known, work.Derived: !e.FLOPs.Known && follows.FLOPs.Known, work.Moved: follows.Bytes.Known,
			} {
				if holds {
					want.Facts |= fact
				}
			}
			if got := f.Entry(e); got != want {
				t.Fatalf("seed %d: %+v: %+v, want %+v", seed, e, got, want)
			}
		}
	})
}

// randomWork returns an entry of few different ones.
func randomWork(r *rand.Rand) *op.Entry {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	e := &op.Entry{
		Operation: pick("add", "mul", "matmul", "relu", "copy", "mystery"), Kind: op.Kind(r.IntN(3)),
		DType: op.DType(pick("f32", "f16", "bf16", "", "c64")), Duration: r.Int64N(100),
	}
	shape := func() op.Shape {
		switch r.IntN(8) {
		case 0:
			return nil
		case 1:
			return op.Shape{}
		}
		return op.Shape{int64(1 + r.IntN(2)), int64(1 + r.IntN(2))}
	}
	if r.IntN(10) > 0 {
		e.InputShapes = make([]op.Shape, r.IntN(4))
		for i := range e.InputShapes {
			e.InputShapes[i] = shape()
		}
	}
	if r.IntN(2) == 0 {
		e.InputDTypes = make([]op.DType, len(e.InputShapes))
		for i := range e.InputDTypes {
			e.InputDTypes[i] = op.DType(pick("f32", "f16", ""))
		}
	}
	if e.OutputShape = shape(); r.IntN(3) == 0 {
		e.FLOPs = op.Known(r.Int64N(3))
	}
	return e
}
