package serving

import (
	"cmp"
	"math"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/symbols"
)

// Kinds tells the operations of executions apart by their work: by name, place in a layer, and size relative to the
// smallest of these in the execution. All products may have one name.
type Kinds struct {
	of    []int32 // by row
	kinds symbols.Table[kind]
}

// kind is a kind of operation. size is in eighths of a power of two, 0 if sizes do not tell kinds.
type kind struct{ name, place, size int32 }

// Of returns the kind of an operation.
func (k *Kinds) Of(r int32) int32 { return k.of[r] }

// Name returns the name of the operations of a kind.
func (k *Kinds) Name(kind int32) int32 { return k.kinds.Values[kind].name }

// NewKinds finds the kinds of operations. Names with many sizes in an execution, such as those of experts, are one
// kind.
func NewKinds(rows *Rows) *Kinds {
	const many = 8
	f := rows.Forest
	type inStep struct {
		execution, name, place int32
		step                   int64
	}
	k := &Kinds{of: make([]int32, f.Len())}
	smallest := make(map[inStep]int64)
	each := func(visit func(r int32, in inStep, size int64)) {
		for r := range f.Rows() {
			x := rows.ExecutionOf(r)
			if !f.Has(r, trace.FlagOp) || x == trace.NoExecution {
				continue
			}
			in := inStep{execution: x, name: f.Name(r), place: f.PlaceInLayer(r)}
			if f.Has(r, trace.FlagStep) {
				in.step = f.Step(r)
			}
			visit(r, in, cmp.Or(f.Flops(r), f.Elements(r)))
		}
	}
	each(func(_ int32, in inStep, size int64) {
		if least, known := smallest[in]; size > 0 && (!known || size < least) {
			smallest[in] = size
		}
	})
	kindOf := func(in inStep, size int64) kind {
		of := kind{name: in.name, place: in.place}
		if least := smallest[in]; size > 0 && least > 0 {
			const eighths = 8
			of.size = 1 + int32(math.Round(eighths*math.Log2(float64(size)/float64(least))))
		}
		return of
	}
	sizes := make(map[kind]map[int32]bool) // by kind without a size
	each(func(_ int32, in inStep, size int64) {
		of := kindOf(in, size)
		all := kind{name: of.name, place: of.place}
		if sizes[all] == nil {
			sizes[all] = make(map[int32]bool)
		}
		sizes[all][of.size] = true
	})
	each(func(r int32, in inStep, size int64) {
		of := kindOf(in, size)
		if all := (kind{name: of.name, place: of.place}); len(sizes[all]) > many {
			of = all
		}
		k.of[r] = k.kinds.ID(of)
	})
	return k
}
