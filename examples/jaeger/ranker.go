package main

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
)

// The sizes of the network, and of the shards of the items' vectors.
const (
	features   = 64
	hidden     = 128
	shards     = 8
	shardItems = 2000
)

const device = "cpu"

// ranker scores items: one layer of rectified units over the vectors of the items, and one output. It makes the vectors
// of a shard on first use. It is safe for concurrent use.
type ranker struct {
	ops           *optrace.Tracer
	first, second *mat.Dense

	mu     sync.Mutex
	shards [shards]*mat.Dense
}

func newRanker(ops *optrace.Tracer) *ranker {
	return &ranker{ops: ops, first: randomMatrix(1, features, hidden), second: randomMatrix(2, hidden, 1)}
}

func randomMatrix(seed uint64, rows, cols int) *mat.Dense {
	r := rand.New(rand.NewPCG(seed, 0))
	m := mat.NewDense(rows, cols, nil)
	m.Apply(func(int, int, float64) float64 { return r.NormFloat64() / math.Sqrt(float64(rows)) }, m)
	return m
}

// rank returns scores of the items. They add up to 1.
func (r *ranker) rank(ctx context.Context, items []int) []float64 {
	h := r.matmul(ctx, r.gather(ctx, items), r.first)
	_, o := r.ops.Start(ctx, "relu", device)
	h.Apply(func(_, _ int, v float64) float64 { return max(v, 0) }, h)
	o.In(int64(len(items)), hidden).Out(int64(len(items)), hidden).DType(op.F64).End()

	scores := r.matmul(ctx, h, r.second).RawMatrix().Data
	_, o = r.ops.Start(ctx, "softmax", device)
	floats.AddConst(-floats.Max(scores), scores)
	for i := range scores {
		scores[i] = math.Exp(scores[i])
	}
	floats.Scale(1/floats.Sum(scores), scores)
	o.In(int64(len(items)), 1).Out(int64(len(items)), 1).DType(op.F64).End()
	return scores
}

// gather returns the vectors of items, one per row.
func (r *ranker) gather(ctx context.Context, items []int) *mat.Dense {
	ctx, o := r.ops.Start(ctx, "gather", device)
	defer o.In(int64(len(items))).Out(int64(len(items)), features).DType(op.F64).End()
	x := mat.NewDense(len(items), features, nil)
	for row, item := range items {
		x.SetRow(row, r.shard(ctx, item/shardItems).RawRowView(item%shardItems))
	}
	return x
}

// shard makes the first request of a shard slow.
func (r *ranker) shard(ctx context.Context, i int) *mat.Dense {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shards[i] == nil {
		_, o := r.ops.Start(ctx, "make_shard", device)
		r.shards[i] = randomMatrix(uint64(3+i), shardItems, features)
		o.Out(shardItems, features).DType(op.F64).Kind(op.KindIO).End()
	}
	return r.shards[i]
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
