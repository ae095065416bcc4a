package optest

import (
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// shapes covers every encoding of shapes.
func shapes() []Case {
	two := entry(inputs(op.Shape{64, 784}, op.Shape{784, 256}))
	one := entry(inputs(op.Shape{64, 784}))
	in := func(name string, value any, want *op.Entry) Case {
		return Case{Name: "inputs/" + name, Span: matmul(Attr{attrkey.InputShapes, value}), Want: want}
	}
	out := func(name string, value any, want *op.Entry) Case {
		return Case{Name: "output/" + name, Span: matmul(Attr{attrkey.OutputShape, value}), Want: want}
	}
	nested := func(c Case) Case {
		c.Needs |= NestedLists
		return c
	}
	return []Case{
		nested(in("nested ints", List{[]int64{64, 784}, []int64{784, 256}}, two)),
		nested(in("nested lists", List{List{int64(64), int64(784)}, List{int64(784), int64(256)}}, two)),
		nested(in("nested floats", List{[]float64{64, 784}, []float64{784, 256}}, two)),
		nested(in("nested strings", List{[]string{"64", "784"}, []string{"784", "256"}}, two)),
		nested(in("mixed", List{[]int64{64, 784}, "784x256"}, two)),
		nested(in("scalar among them", List{[]int64{}, []int64{3}}, entry(inputs(op.Shape{}, op.Shape{3})))),
		nested(in("one nested", List{[]int64{64, 784}}, one)),
		in("strings", []string{"64x784", "784x256"}, two),
		in("strings in brackets", []string{"[64, 784]", "(784,256)"}, two),
		in("strings with one dimension", []string{"64", "784"}, entry(inputs(op.Shape{64}, op.Shape{784}))),
		in("flat ints", []int64{64, 784}, one),
		in("flat floats", []float64{64, 784}, one),
		in("JSON text", "[[64,784],[784,256]]", two),
		in("JSON text with spaces", " [ [ 64 , 784 ] , [784, 256]] ", two),
		in("JSON text of floats", "[[64.0,784.0],[784.0,256.0]]", two),
		in("JSON text of strings", `["64x784","784x256"]`, two),
		in("JSON text of one", "[64,784]", one),
		in("JSON text of none", "[]", entry(inputs())),
		in("JSON text with a scalar", "[[],[3]]", entry(inputs(op.Shape{}, op.Shape{3}))),
		in("Python text", "((64, 784), (784, 256,))", two),
		in("text of one", "64x784", one),
		in("text of one with commas", "64, 784", one),
		in("text of two", "64x784,784x256", two),
		in("text of two with semicolons", "64,784;784,256", two),
		in("empty text", "", entry()),
		{Name: "inputs/one attribute each", Span: matmul(Attr{attrkey.InputShape(0), []int64{64, 784}},
			Attr{attrkey.InputShape(1), "784x256"}),
			Want: two},
		{Name: "inputs/one attribute each, backwards", Span: matmul(Attr{attrkey.InputShape(1), "[784,256]"},
			Attr{attrkey.InputShape(0),
				[]float64{64, 784}}), Want: two},
		{Name: "inputs/one attribute each, one missing", Span: matmul(Attr{attrkey.InputShape(1), []int64{3}}),
			Want: entry(inputs(nil,
				op.Shape{3}))},

		out("ints", []int64{64, 256}, entry(output(64*256, 64, 256))),
		out("floats", []float64{64, 256}, entry(output(64*256, 64, 256))),
		out("strings", []string{"64", "256"}, entry(output(64*256, 64, 256))),
		out("text", "64x256", entry(output(64*256, 64, 256))),
		out("JSON text", "[64,256]", entry(output(64*256, 64, 256))),
		out("JSON text of floats", "[64.0,256]", entry(output(64*256, 64, 256))),
		out("text of one dimension", "64", entry(output(64, 64))),
		out("text of a scalar", "[]", entry(output(1))),
		nested(out("list", List{int64(64), float64(256)}, entry(output(64*256, 64, 256)))),
		{Name: "output/scalar", Span: matmul(Attr{attrkey.OutputShape, []int64{}}), Want: entry(output(1))},
		{Name: "output/absent", Span: matmul(), Want: entry()},
		{Name: "output/dtype gives the size", Span: matmul(Attr{attrkey.OutputShape, []int64{64, 256}},
			Attr{attrkey.DType, "torch.bfloat16"}),
			Want: entry(output(64*256, 64, 256), memory(2*64*256), func(e *op.Entry) { e.DType = op.BF16 })},
		{Name: "output/elements alone", Span: matmul(Attr{attrkey.OutputElements, int64(10)}),
			Want: entry(memory(80), func(e *op.Entry) { e.OutputElements = op.Known(10) })},
	}
}

// badShapes covers rows A1 to A6 of docs/faults.md.
func badShapes() []Case {
	bad := entry(warn(op.WarnBadShape))
	in := func(name string, value any, needs Needs, changes ...func(*op.Entry)) Case {
		return Case{Name: "inputs/" + name, Span: matmul(Attr{attrkey.InputShapes, value}), Needs: needs,
			Want: entry(changes...)}
	}
	out := func(name string, value any, needs Needs, changes ...func(*op.Entry)) Case {
		return Case{Name: "output/" + name, Span: matmul(Attr{attrkey.OutputShape, value}), Needs: needs,
			Want: entry(changes...)}
	}
	unknownSize := func(w op.Warning, dims ...int64) func(*op.Entry) {
		return func(e *op.Entry) {
			e.OutputShape = dims
			e.Warn |= w
		}
	}
	const huge = 1 << 62
	var rank65 []int64
	for range 65 {
		rank65 = append(rank65, 1)
	}
	inputs1025 := make([]string, 1025)
	kept := make([]op.Shape, 1024)
	for i := range inputs1025 {
		inputs1025[i] = "2"
	}
	for i := range kept {
		kept[i] = op.Shape{2}
	}
	badShape := warn(op.WarnBadShape)
	return []Case{
		in("text that is none", "float32", 0, badShape),
		in("text cut off", "[[64,784],[784,", 0, badShape),
		in("bool", true, 0, badShape),
		in("float", 2.5, 0, badShape),
		in("map", Map{{"rows", int64(2)}}, NestedLists, badShape),
		in("bools", []bool{true}, 0, badShape),
		in("flat with a fraction", []float64{2.5, 3}, 0, badShape),
		in("flat beyond 2^53", []float64{1e30}, 0, badShape),
		in("flat NaN", []float64{nan()}, NonFinite, badShape),
		in("one of two", []string{"64x784", "float32"}, 0, inputs(op.Shape{64, 784}, nil), badShape),
		in("one of two in text", "[[64,784],[1,[2]]]", 0, inputs(op.Shape{64, 784}, nil), badShape),
		in("one of two nested", List{[]int64{64, 784}, List{[]int64{2}}}, NestedLists, inputs(op.Shape{64, 784}, nil),
			badShape),
		in("one is a bool", List{true, []int64{3}}, NestedLists, inputs(nil, op.Shape{3}), badShape),
		in("one is null in text", "[[64,784],null]", 0, inputs(op.Shape{64, 784}, nil)),
		in("nulls in text", "[null,[64,784],None,?]", 0, inputs(nil, op.Shape{64, 784}, nil, nil)),
		in("nothing but null in text", "[null]", 0, inputs(nil)),
		in("an unknown shape among texts", []string{"64x784", "?"}, 0, inputs(op.Shape{64, 784}, nil)),
		in("an unknown shape in a bare list", "64x784,?", 0, inputs(op.Shape{64, 784}, nil)),
		in("null among dimensions", "[[64,null]]", 0, badShape),
		in("words behind a list", "[[64,784]] x", 0, badShape),
		in("a shape behind a dimension", List{int64(5), []int64{2, 3}}, NestedLists, inputs(nil, op.Shape{2, 3}),
			badShape),
		in("words among dimensions", List{[]string{"64", "many"}, []int64{3}}, NestedLists, inputs(nil, op.Shape{3}),
			badShape),
		in("dynamic", "[[-1,784]]", 0, inputs(op.Shape{-1, 784})),
		in("below -1", []int64{-2, 784}, 0, badShape),
		in("too many", inputs1025, 0, func(e *op.Entry) { e.InputShapes = kept }, warn(op.WarnShapeTruncated)),
		in("rank 65", rank65, 0, inputs(op.Shape(rank65[:64])), warn(op.WarnShapeTruncated)),
		{Name: "inputs/bad index", Span: matmul(Attr{attrkey.InputShape(0), "x"}), Want: bad},
		{Name: "shapes/several bad ones are one warning", Span: matmul(Attr{attrkey.InputShapes, true},
			Attr{attrkey.OutputShape, "x"}),
			Want: bad},

		out("int", int64(5), 0, badShape),
		out("bool", true, 0, badShape),
		out("two shapes", []string{"2x3", "3x4"}, 0, badShape),
		out("fraction", []float64{2.5}, 0, badShape),
		out("infinite", []float64{inf()}, NonFinite, badShape),
		out("below -1", []int64{2, -2}, 0, badShape),
		out("dynamic", []int64{-1, 256}, 0, unknownSize(op.WarnDynamicDim, -1, 256)),
		out("overflow", []int64{huge, 8}, 0, unknownSize(op.WarnOverflow, huge, 8)),
		out("zero before overflow", []int64{0, huge, 8}, 0, output(0, 0, huge, 8)),
		out("overflow before zero", []int64{huge, 8, 0}, 0, output(0, huge, 8, 0)),
		out("bytes overflow", []int64{huge}, 0, func(e *op.Entry) {
			e.OutputShape = op.Shape{huge}
			e.OutputElements = op.Known(huge)
		}, warn(op.WarnOverflow)),
		out("text of rank 65", "1"+strings.Repeat("x1", 64), 0, func(e *op.Entry) { e.OutputShape = rank65[:64] },
			warn(op.WarnShapeTruncated)),
		out("rank 65", rank65, 0, func(e *op.Entry) { e.OutputShape = rank65[:64] }, warn(op.WarnShapeTruncated)),
	}
}
