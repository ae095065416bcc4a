package arrow

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// holds reports whether there is a column that has values in the batch.
func (c *of[T]) holds() bool { return c.array != nil }

// shown returns a column of the window, whose chunks are loaded if it is one that is
// decoded.
func shown[T any](b *block, c *of[T]) op.Column[T] {
	if !c.holds() || b.roles[c.place] != roleDecoded {
		return op.Column[T]{Codes: b.none[:], Values: c.null[:]}
	}
	return op.Column[T]{Codes: c.places[:], Values: c.meanings, Version: c.version}
}

// gaps tells whether some values of a column mean nothing.
type gaps struct {
	version int64
	some    bool
}

// findGaps looks at the values of a column that is loaded.
func findGaps[T comparable](g *gaps, b *block, c *of[T]) {
	shown := shown(b, c)
	if g.version == shown.Version {
		return
	}
	var none T
	*g = gaps{shown.Version, slices.Contains(shown.Values[1:], none)}
}

// names are the kinds that the names of operations tell, and how, by the codes of the
// names.
type names struct {
	version int64
	kinds   []op.Kind
	rules   []op.KindRule
}

// infer adds the kinds of further names.
func (n *names) infer(c *of[string]) {
	if n.version != c.version {
		n.version, n.kinds, n.rules = c.version, n.kinds[:0], n.rules[:0]
	}
	for _, name := range c.meanings[len(n.kinds):] {
		kind, rule := op.InferKind(name)
		n.kinds, n.rules = append(n.kinds, kind), append(n.rules, rule)
	}
}

// outputs are the output shapes, by the codes of their column.
type outputs struct {
	version int64
	shapes  []op.Shape
}

// shown is shown for the column of output shapes.
func (o *outputs) shown(b *block) op.Column[op.Shape] {
	c := shown(b, b.output)
	if o.version != c.Version {
		o.version, o.shapes = c.Version, o.shapes[:0]
	}
	o.shapes = slices.Grow(o.shapes, len(c.Values)-len(o.shapes))
	for _, v := range c.Values[len(o.shapes):] {
		o.shapes = append(o.shapes, v.Shape)
	}
	return op.Column[op.Shape]{Codes: c.Codes, Values: o.shapes, Version: c.Version}
}

// sizes are the elements and bytes of the outputs of a window, where there are no columns
// of both.
type sizes struct {
	codes            [windowRows]uint32
	elements, memory [windowRows + 1]op.Int
	version          int64
}

// load sets those of a chunk, and returns the rows for which there is a warning.
func (s *sizes) load(b *block, chunk int) (warned uint64) {
	output, dtype := shown(b, b.output), shown(b, b.dtype)
	elements, memory := shown(b, b.elements), shown(b, b.memory)
	_, n := b.window.chunk(chunk)
	for i := range n {
		at := chunk*chunkRows + i
		var w op.Warning
		s.codes[at] = uint32(at) + 1
		s.elements[at+1], s.memory[at+1], w = b.table.seen.Sizes(output.At(at), dtype.At(at), elements.At(at), memory.At(at))
		if w != 0 {
			warned |= 1 << i
		}
	}
	return warned
}
