package trace

import (
	"iter"
	"strconv"

	"github.com/optrace/optrace/op"
)

// Nodes returns all operations and spans in the order of the input.
func (f *Forest) Nodes() iter.Seq[Node] {
	f.Build()
	return func(yield func(Node) bool) {
		for r := range int32(f.Len()) {
			if !yield(f.Node(r)) {
				return
			}
		}
	}
}

// Stream returns the device's queue that the operation ran on.
func (n Node) Stream() op.Int {
	if n.IsZero() || !n.IsOp() {
		return op.Int{}
	}
	return n.Forest.Names.Lanes.Values[n.Forest.Lane(n.Row)].Stream
}

// Step returns the iteration that the operation belongs to.
func (n Node) Step() op.Int {
	if n.IsZero() || !n.Forest.Has(n.Row, FlagStep) {
		return op.Int{}
	}
	return op.Known(n.Forest.Step(n.Row))
}

// MemoryBytes returns the memory of the operation; 0 is not distinguished from
// unknown.
func (n Node) MemoryBytes() int64 {
	if n.IsZero() {
		return 0
	}
	return n.Forest.Memory(n.Row)
}

// FLOPs returns the floating-point operations of the operation, as recorded or as they
// follow from its shapes; 0 is not distinguished from unknown.
func (n Node) FLOPs() int64 {
	if n.IsZero() {
		return 0
	}
	return n.Forest.Flops(n.Row)
}

// Shapes returns the shapes and the element type of the operation as text, such
// as "64x784, 784x256 → 64x256 f32"; "" where they are not known or the forest
// was not made to keep them.
func (n Node) Shapes() string {
	if n.IsZero() {
		return ""
	}
	return n.Forest.Names.Shapes.Values[n.Forest.Shape(n.Row)]
}

// shapeText returns the text of [Node.Shapes].
func shapeText(e *op.Entry) string {
	if e.InputShapes == nil && e.OutputShape == nil && e.DType == "" {
		return ""
	}
	var b []byte
	for i, s := range e.InputShapes {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = appendShape(b, s)
	}
	if e.OutputShape != nil {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = appendShape(append(b, "→ "...), e.OutputShape)
	}
	if e.DType != "" {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, e.DType...)
	}
	return string(b)
}

func appendShape(b []byte, s op.Shape) []byte {
	switch {
	case s == nil:
		return append(b, '?')
	case len(s) == 0:
		return append(b, "scalar"...)
	}
	for i, d := range s {
		if i > 0 {
			b = append(b, 'x')
		}
		if d == op.Dynamic {
			b = append(b, '?')
			continue
		}
		b = strconv.AppendInt(b, d, 10)
	}
	return b
}
