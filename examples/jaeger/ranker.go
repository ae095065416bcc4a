package main

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
)

// Sizes of the network.
const (
	features = 64
	hidden   = 128
)

const device = "cpu"

// ranker scores items for a user: one layer of rectified units over the product of the item's and the user's vectors,
// and one output.
type ranker struct {
	ops     *optrace.Tracer
	vectors *vectors
	first   *mat.Dense // features × hidden
	second  *mat.Dense // hidden × 1
}

func newRanker(ops *optrace.Tracer) (*ranker, error) {
	v, err := newVectors(ops)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(1, 2))
	first := randomMatrix(r, features, hidden)
	return &ranker{ops: ops, vectors: v, first: first, second: randomMatrix(r, hidden, 1)}, nil
}

func randomMatrix(r *rand.Rand, rows, cols int) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	m.Apply(func(int, int, float64) float64 { return r.NormFloat64() / math.Sqrt(float64(rows)) }, m)
	return m
}

// rank returns scores of the items. They add up to 1.
func (r *ranker) rank(ctx context.Context, user int, items []int) ([]float64, error) {
	x, err := r.gather(ctx, items)
	if err != nil {
		return nil, err
	}
	r.personalise(ctx, x, user)
	h := r.matmul(ctx, x, r.first)
	r.relu(ctx, h)
	scores := r.matmul(ctx, h, r.second).RawMatrix().Data
	r.softmax(ctx, scores)
	return scores, nil
}

// gather returns the vectors of items, one per row.
func (r *ranker) gather(ctx context.Context, items []int) (*mat.Dense, error) {
	ctx, o := r.ops.Start(ctx, "gather", device)
	defer o.In(int64(len(items))).Out(int64(len(items)), features).DType(op.F64).End()
	x := mat.NewDense(len(items), features, nil)
	for row, item := range items {
		v, err := r.vectors.of(ctx, item)
		if err != nil {
			o.Err(err)
			return nil, err
		}
		x.SetRow(row, v)
	}
	return x, nil
}

// personalise multiplies each row of x by the user's vector.
func (r *ranker) personalise(ctx context.Context, x *mat.Dense, user int) {
	rows, cols := x.Dims()
	_, o := r.ops.Start(ctx, "mul", device)
	defer o.In(int64(rows), int64(cols)).In(int64(cols)).Out(int64(rows), int64(cols)).DType(op.F64).End()
	taste := rand.New(rand.NewPCG(uint64(user), 3))
	u := make([]float64, cols)
	for i := range u {
		u[i] = taste.NormFloat64()
	}
	for row := range rows {
		floats.Mul(x.RawRowView(row), u)
	}
}

func (r *ranker) matmul(ctx context.Context, a, b *mat.Dense) *mat.Dense {
	rows, inner := a.Dims()
	_, cols := b.Dims()
	_, o := r.ops.Start(ctx, "matmul", device)
	defer o.In(int64(rows), int64(inner)).In(int64(inner), int64(cols)).Out(int64(rows), int64(cols)).DType(op.F64).
		FLOPs(2 * int64(rows) * int64(inner) * int64(cols)).End()
	product := mat.NewDense(rows, cols, nil)
	product.Mul(a, b)
	return product
}

func (r *ranker) relu(ctx context.Context, x *mat.Dense) {
	rows, cols := x.Dims()
	_, o := r.ops.Start(ctx, "relu", device)
	defer o.In(int64(rows), int64(cols)).Out(int64(rows), int64(cols)).DType(op.F64).End()
	x.Apply(func(_, _ int, v float64) float64 { return max(v, 0) }, x)
}

func (r *ranker) softmax(ctx context.Context, x []float64) {
	_, o := r.ops.Start(ctx, "softmax", device)
	defer o.In(int64(len(x)), 1).Out(int64(len(x)), 1).DType(op.F64).End()
	floats.AddConst(-floats.Max(x), x)
	for i := range x {
		x[i] = math.Exp(x[i])
	}
	floats.Scale(1/floats.Sum(x), x)
}
