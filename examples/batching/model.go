package main

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/internal/completions"
	"github.com/optrace/optrace/op"
)

// Sizes of the network.
const (
	width  = 192
	hidden = 384
)

const tokens = "abcdefghijklmnopqrstuvwxyz " // letters and the space

const device = "cpu"

// model is a network with a state for each sequence: the sum of two layers over the tokens read. The state predicts the
// next token.
type model struct {
	ops                 *optrace.Tracer
	random              *rand.Rand
	vectors             *mat.Dense // one row per token
	first, second, last *mat.Dense
	states              [maxBatch][]float64
}

func newModel(ops *optrace.Tracer) *model {
	r := rand.New(rand.NewPCG(1, 2))
	m := &model{
		ops: ops, random: r, vectors: randomMatrix(r, len(tokens), width), first: randomMatrix(r, width, hidden),
		second: randomMatrix(r, hidden, width), last: randomMatrix(r, width, len(tokens)),
	}
	for slot := range m.states {
		m.states[slot] = make([]float64, width)
	}
	return m
}

func randomMatrix(r *rand.Rand, rows, cols int) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	m.Apply(func(int, int, float64) float64 { return r.NormFloat64() / math.Sqrt(float64(rows)) }, m)
	return m
}

// forward reads the input of every sequence and appends a token to each. The tokens of all sequences are rows of one
// matrix, for efficiency.
func (m *model) forward(ctx context.Context, batch []*completions.Sequence) {
	x := m.embed(ctx, batch)
	h := m.matmul(ctx, x, m.first)
	m.relu(ctx, h)
	states := m.addUp(ctx, batch, m.matmul(ctx, h, m.second))
	m.sample(ctx, batch, m.matmul(ctx, states, m.last))
}

// embed returns the vectors of the tokens, one per row.
func (m *model) embed(ctx context.Context, batch []*completions.Sequence) *mat.Dense {
	rows := 0
	for _, s := range batch {
		rows += len(s.Input)
	}
	_, o := m.ops.Start(ctx, "embed", device)
	defer o.In(int64(rows)).Out(int64(rows), width).DType(op.F64).End()
	x := mat.NewDense(rows, width, nil)
	row := 0
	for _, s := range batch {
		for _, letter := range s.Input {
			x.SetRow(row, m.vectors.RawRowView(int(letter)%len(tokens)))
			row++
		}
	}
	return x
}

func (m *model) matmul(ctx context.Context, a, b *mat.Dense) *mat.Dense {
	_, o := m.ops.Start(ctx, "matmul", device)
	defer o.End()
	var c mat.Dense
	c.Mul(a, b)
	rows, inner := a.Dims()
	_, cols := b.Dims()
	o.In(int64(rows), int64(inner)).In(int64(inner), int64(cols)).Out(int64(rows), int64(cols)).DType(op.F64).
		FLOPs(2 * int64(rows) * int64(inner) * int64(cols))
	return &c
}

func (m *model) relu(ctx context.Context, x *mat.Dense) {
	rows, cols := x.Dims()
	_, o := m.ops.Start(ctx, "relu", device)
	defer o.In(int64(rows), int64(cols)).Out(int64(rows), int64(cols)).DType(op.F64).End()
	x.Apply(func(_, _ int, v float64) float64 { return max(0, v) }, x)
}

// addUp adds the rows of each sequence to its state and returns the states.
func (m *model) addUp(ctx context.Context, batch []*completions.Sequence, rows *mat.Dense) *mat.Dense {
	count, _ := rows.Dims()
	_, o := m.ops.Start(ctx, "add", device)
	defer o.In(int64(count), width).Out(int64(len(batch)), width).DType(op.F64).End()
	states := mat.NewDense(len(batch), width, nil)
	row := 0
	for i, s := range batch {
		state := m.states[s.Slot]
		if len(s.Text) == 0 {
			clear(state)
		}
		floats.Scale(0.5, state)
		for range s.Input {
			floats.AddScaled(state, 1/float64(len(s.Input)), rows.RawRowView(row))
			row++
		}
		states.SetRow(i, state)
	}
	return states
}

// sample appends a likely token of its row to each sequence.
func (m *model) sample(ctx context.Context, batch []*completions.Sequence, scores *mat.Dense) {
	_, o := m.ops.Start(ctx, "sample", device)
	defer o.In(int64(len(batch)), int64(len(tokens))).Out(int64(len(batch))).DType(op.U8).End()
	for i, s := range batch {
		row := scores.RawRowView(i)
		for j := range row {
			row[j] += m.random.Float64()
		}
		s.Add(tokens[floats.MaxIdx(row)])
	}
}
