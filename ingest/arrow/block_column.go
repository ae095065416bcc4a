package arrow

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// holds reports whether there is a column that has values in the batch.
func (c *of[T]) holds() bool { return c.array != nil }

// isEncoded reports whether the column is dictionary-encoded, so that codes keep their
// values in the batch.
func (c *of[T]) isEncoded() bool { return !c.holds() || c.array.dictionary != nil }

// shown returns a column of the window, whose chunks are loaded if it is one that is
// decoded.
func shown[T any](b *block, c *of[T]) op.Column[T] {
	if !c.holds() || b.roles[c.place] != roleDecoded {
		return op.Column[T]{Codes: b.none[:], Values: c.null[:]}
	}
	return op.Column[T]{Codes: c.places[:], Values: c.meanings, Version: c.version}
}

// onDemand is a column whose values are translated one by one, when they are asked for.
// Its codes are indexes into the dictionary or, without one, into the array, and 1 more.
type onDemand[T any] struct {
	of    *of[T]
	codes [windowRows]uint32
	set   bool // codes may have other values than 0
	one   single[T]
}

// bind finds the column of a field.
func (l *onDemand[T]) bind(r *reader, name string) { l.of = columnOf[T](r, name) }

// load sets the codes of the window, and reports whether there is a value for each of
// them.
func (l *onDemand[T]) load(w *window) bool {
	switch {
	case !l.of.holds() && !l.set:
		return true
	case !l.of.holds():
		clear(l.codes[:])
		l.set = false
		return true
	}
	l.set = true
	if a := l.of.array; a.hasShortIndexes() {
		if n, known := a.dictionary.len(); known && a.shortPlaces(l.codes[:w.n], w.first, int(min(n, mixed-1))) {
			return true
		}
	}
	for chunk := range w.chunks() {
		if !l.loadChunk(w, chunk) {
			return false
		}
	}
	return true
}

// loadChunk is load for a chunk.
func (l *onDemand[T]) loadChunk(w *window, chunk int) bool {
	first, n := w.chunk(chunk)
	codes := l.codes[chunk*chunkRows:][:n]
	a := l.of.array
	needed := w.of[chunk][l.of.scope]
	present := a.notNull(first, n) & needed
	if a.dictionary != nil {
		n, known := a.dictionary.len()
		if !known || n >= mixed {
			return false
		}
		_, err := a.codes(codes, first, present, needed, int(n)+1)
		return err == nil
	}
	for i := range codes {
		if codes[i] = 0; present>>i&1 != 0 {
			codes[i] = uint32(first+i) + 1
		}
	}
	return true
}

// value returns the value of a code, the zero value where it means nothing.
func (l *onDemand[T]) value(r *reader, code uint32) (t T) {
	if code == 0 || !l.of.holds() {
		return t
	}
	index := int64(code) - 1
	var a *array
	var at int
	var ok bool
	if f := l.of.array.field; f.Dictionary != nil {
		a, at, ok = r.dictionaries.value(f, index)
	} else if r.open(l.of.place) == nil {
		a, at, ok = l.of.array.at(int(index))
	}
	if ok {
		t, _, _ = l.one.read(l.of, &r.x, a, at)
	}
	return t
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
	kinds []op.Kind
	rules []op.KindRule
}

// infer adds the kinds of further names.
func (n *names) infer(all []string) {
	for _, name := range all[len(n.kinds):] {
		kind, rule := op.InferKind(name)
		n.kinds, n.rules = append(n.kinds, kind), append(n.rules, rule)
	}
}

func (n *names) clear() { n.kinds, n.rules = n.kinds[:0], n.rules[:0] }

// sizes are the elements and bytes of the outputs of a window, where there are no columns
// of both.
type sizes struct {
	codes            [windowRows]uint32
	elements, memory [windowRows + 1]op.Int
	version          int64
}

// load sets those of a chunk, and returns the rows for which there is a warning.
func (s *sizes) load(b *block, chunk int) (warned uint64) {
	output, dtype := shown(b, b.output.of), shown(b, b.dtype.of)
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
