package parquet

import (
	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/op"
)

// passingSink adds a warning where there is a value.
type passingSink op.Warning

func (s passingSink) add(r *rows.Row, _, def int32, _ *meaning[struct{}]) {
	if def > 0 {
		r.Warn |= op.Warning(s)
	}
}

func (passingSink) end(*rows.Row) {}

// eachSink takes the elements of a list that is not nested.
type eachSink[T any] struct {
	listDef int32             // definition level of an element
	empty   func(r *rows.Row) // is called for a list without elements
	element func(r *rows.Row, i int, v T)
	i       int
}

func (s *eachSink[T]) add(r *rows.Row, rep, def int32, v *meaning[T]) {
	if rep == 0 {
		s.i = 0
		if def == s.listDef-1 {
			s.empty(r)
		}
	}
	if def < s.listDef {
		return
	}
	var t T
	if v != nil {
		t = v.v
		r.Warn |= v.warning
	}
	s.element(r, s.i, t)
	s.i++
}

func (*eachSink[T]) end(*rows.Row) {}

// collectiveSink takes a value of the group of a collective.
type collectiveSink[T any] struct {
	maxDef int32
	wrong  op.Warning // where the column holds lists
	set    func(*op.Collective, T)
}

func (s *collectiveSink[T]) add(r *rows.Row, rep, def int32, v *meaning[T]) {
	if rep == 0 && (def > 0 || s.maxDef == 0) {
		r.Collective = &r.More().Collective
	}
	switch {
	case s.wrong != 0:
		if def > 0 {
			r.Warn |= s.wrong
		}
	case v != nil:
		if v.ok {
			s.set(r.Collective, v.v)
		}
		r.Warn |= v.warning
	}
}

func (*collectiveSink[T]) end(*rows.Row) {}

// shapeSink takes the dimensions of a shape.
type shapeSink struct {
	*rows.Batch
	lists []int32 // of the leaf
	start int     // in Batch.Dims
	// known tells that the shape is not null, bad that it has something else than
	// dimensions, and cut that it has more than are read.
	known, bad, cut bool
}

// begin starts a shape.
func (s *shapeSink) begin() {
	s.start, s.known, s.bad, s.cut = len(s.Dims), false, false, false
}

// dimension adds an element of the list whose elements are at level listDef.
func (s *shapeSink) dimension(def, listDef int32, v *meaning[op.Int]) {
	s.known = s.known || def >= listDef-1 // there, or empty
	switch {
	case def < listDef:
	case v == nil || !v.ok:
		s.bad = true
	case len(s.Dims)-s.start == op.MaxRank:
		s.cut = true
	default:
		s.Dims = append(s.Dims, v.v.V)
	}
}

// shape ends a shape.
func (s *shapeSink) shape(r *rows.Row) op.Shape {
	switch {
	case !s.known:
		return nil
	case s.bad:
		r.Warn |= op.WarnBadShape
		return nil
	case s.cut:
		r.Warn |= op.WarnShapeTruncated
	}
	// Where dims grows later, this shape keeps the memory it had.
	return op.Shape(s.Dims[s.start:len(s.Dims):len(s.Dims)])
}

func (s *shapeSink) add(_ *rows.Row, rep, def int32, v *meaning[op.Int]) {
	if rep == 0 {
		s.begin()
	}
	s.dimension(def, s.lists[0], v)
}

func (s *shapeSink) end(r *rows.Row) {
	r.OutputShape = s.shape(r)
	r.OutputCut = s.cut
}

// shapesSink takes the dimensions of the shapes of all inputs.
type shapesSink struct {
	shapeSink
	first int  // in Batch.Inputs
	some  bool // whether the list has elements
}

func (s *shapesSink) add(r *rows.Row, rep, def int32, v *meaning[op.Int]) {
	switch rep {
	case 0:
		s.first, s.some = len(s.Inputs), def >= s.lists[0]
		if def == s.lists[0]-1 {
			r.InputShapes = s.Inputs[s.first:s.first] // empty
		}
		s.begin()
	case 1:
		s.endInput(r)
		s.begin()
	}
	s.dimension(def, s.lists[1], v)
}

func (s *shapesSink) endInput(r *rows.Row) {
	shape := s.shape(r)
	if len(s.Inputs)-s.first == op.MaxInputs {
		r.Warn |= op.WarnShapeTruncated
		return
	}
	s.Inputs = append(s.Inputs, shape)
}

func (s *shapesSink) end(r *rows.Row) {
	if s.some {
		s.endInput(r)
		r.InputShapes = s.Inputs[s.first:len(s.Inputs):len(s.Inputs)]
	}
}

// shapeTextsSink takes the shapes of the inputs as texts.
type shapeTextsSink struct {
	texts   *op.Builder
	listDef int32
	list    op.List
	known   bool
}

func (s *shapeTextsSink) add(r *rows.Row, rep, def int32, v *meaning[string]) {
	if rep == 0 {
		s.texts.Reset()
		s.texts.Str(op.KeyName, "shapes")
		s.list = s.texts.BeginList(op.KeyInputShapes)
		s.known = def >= s.listDef-1
	}
	switch {
	case def < s.listDef:
	case v == nil:
		s.list.Null()
	default:
		s.list.Str(v.v)
		r.Warn |= v.warning
	}
}

func (s *shapeTextsSink) end(r *rows.Row) {
	s.list.End()
	if s.known {
		e, _ := s.texts.Entry()
		r.Warn |= e.Warn
		r.InputShapes = e.Clone().InputShapes
	}
}
