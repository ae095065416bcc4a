package kineto

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

type inputs struct {
	shapes []op.Shape
	dtypes []op.DType
	output op.Shape // of a convolution, nil where it does not follow
	warn   op.Warning
}

// appendInputsKey joins the JSON texts of an operator's shapes and types to one symbol: inputs repeat. For a
// convolution the symbol includes the inputs given by value.
func appendInputsKey(dst, name []byte, v *values) []byte {
	if v.dims == nil {
		return dst
	}
	dst = append(dst, v.dims...)
	dst = append(dst, 0)
	dst = append(dst, v.types...)
	if v.concrete == nil {
		return dst
	}
	if signature, ok := convolutions[string(name)]; ok {
		dst = append(dst, 0, signature)
		dst = append(dst, v.concrete...)
	}
	return dst
}

// parseInputs parses such a symbol. Kineto writes the inputs of an operator as two parallel lists:
//
//	"Input Dims": [[64,784], [], [], [[2,3],[4]]]
//	"Input type": ["float", "Scalar", "", "TensorList"]
//
// A number is a scalar. An input without a tensor, such as None, has no type and an unknown shape. Each tensor of a
// list is an input.
func parseInputs(key string) *inputs {
	dims, types, _ := strings.Cut(key, "\x00")
	types, concrete, _ := strings.Cut(types, "\x00")
	if strings.HasPrefix(dims, `"`) { // torch_npu's "4,8;8,2" of "float;float"
		dims = "[[" + strings.ReplaceAll(strings.Trim(dims, `"`), ";", "],[") + "]]"
		types = "[" + strings.ReplaceAll(types, ";", `","`) + "]"
	}
	names := parseTypes(types)
	in := &inputs{shapes: []op.Shape{}}
	var l lexer.Lexer
	l.Reset([]byte(dims))
	if l.Peek() != '[' {
		return &inputs{warn: op.WarnBadShape}
	}
	i := 0
	for l.Array(); l.More(); i++ {
		name := ""
		if i < len(names) {
			name = names[i]
		}
		in.input(&l, name, names == nil)
	}
	if !slices.ContainsFunc(in.dtypes, func(d op.DType) bool { return d != "" }) {
		in.dtypes = nil // all unknown
	}
	if concrete != "" && 0 < concrete[0] && int(concrete[0]) <= len(signatures) {
		in.output = convolutionOutput(in.shapes, signatures[concrete[0]-1], concrete[1:])
	}
	return in
}

func parseTypes(text string) []string {
	var l lexer.Lexer
	l.Reset([]byte(text))
	if l.Peek() != '[' {
		return nil
	}
	names := []string{}
	for l.Array(); l.More(); {
		names = append(names, strings.ToValidUTF8(string(l.AnyStr()), "\ufffd"))
	}
	return names
}

// input reads one element of the list of shapes, a tensor or a list of tensors. untyped is set if the types are
// unknown.
func (in *inputs) input(l *lexer.Lexer, typeName string, untyped bool) {
	if !l.AnyArray() {
		in.warn |= op.WarnBadShape
		in.add(nil, "")
		return
	}
	dtype, isTensor := op.ParseDType(typeName)
	if !isTensor {
		dtype = ""
	}
	// The content so far of the innermost open list.
	const (
		nothing = iota
		dimensions
		tensors
	)
	holds := nothing
	var shape op.Shape
	for open := 1; open > 0; {
		switch {
		case !l.More():
			open--
			switch {
			case holds == dimensions:
				in.addShape(shape, dtype)
			case holds == nothing && (open > 0 || isTensor || untyped || typeName == "Scalar"):
				in.add(op.Shape{}, dtype)
			case holds == nothing:
				in.add(nil, dtype)
			}
			holds = tensors
		case l.Peek() == '[':
			l.Array()
			open++
			holds = nothing
			shape = nil
		default:
			holds = dimensions
			shape = append(shape, in.dimension(l))
		}
	}
}

func (in *inputs) dimension(l *lexer.Lexer) int64 {
	if n, ok := lexer.ParseInt(l.AnyNumber()); ok {
		return n
	}
	return op.Dynamic - 1
}

func (in *inputs) addShape(shape op.Shape, dtype op.DType) {
	for _, d := range shape {
		if d < op.Dynamic {
			in.warn |= op.WarnBadShape
			in.add(nil, dtype)
			return
		}
	}
	if len(shape) > op.MaxRank {
		in.warn |= op.WarnShapeTruncated
		shape = shape[:op.MaxRank]
	}
	in.add(shape, dtype)
}

func (in *inputs) add(shape op.Shape, dtype op.DType) {
	if len(in.shapes) == op.MaxInputs {
		in.warn |= op.WarnShapeTruncated
		return
	}
	in.shapes = append(in.shapes, shape)
	in.dtypes = append(in.dtypes, dtype)
}

// signature has the indexes of a convolution's arguments: stride, padding, dilation, and the transposed flag, 0 if
// it is missing.
type signature struct{ stride, padding, dilation, transposed int }

// signatures of PyTorch's native functions.
var signatures = [...]signature{
	{stride: 3, padding: 4, dilation: 5},
	{stride: 3, padding: 4, dilation: 5, transposed: 6},
	{padding: 2, stride: 3, dilation: 4},
	{padding: 3, stride: 4, dilation: 5},
}

// convolutions maps operator names to indexes of signatures, plus 1.
var convolutions = map[string]byte{
	"aten::conv1d": 1, "aten::conv2d": 1, "aten::conv3d": 1,
	"aten::convolution": 2, "aten::_convolution": 2, "aten::convolution_overrideable": 2,
	"aten::cudnn_convolution":  3,
	"aten::mkldnn_convolution": 4, "aten::miopen_convolution": 4,
}

// convolutionOutput returns the shape of a convolution's output, missing in the trace. It computes it from the shapes
// of input and weights and from the arguments given by value:
//
//	"Concrete Inputs": ["", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "1"]
//
// It returns nil if these are missing or do not fit, or if the padding is a word.
func convolutionOutput(shapes []op.Shape, s signature, concrete string) op.Shape {
	if len(shapes) < 2 {
		return nil
	}
	x, w := shapes[0], shapes[1]
	values := parseTypes(concrete) // a list of texts, like the types
	n := len(x)
	if n < 3 || len(w) != n || len(values) <= max(s.stride, s.padding, s.dilation, s.transposed) {
		return nil
	}
	if s.transposed != 0 && values[s.transposed] != "False" {
		return nil
	}
	stride := parseIntegers(values[s.stride])
	padding := parseIntegers(values[s.padding])
	dilation := parseIntegers(values[s.dilation])
	out := make(op.Shape, n)
	out[0] = x[0]
	out[1] = w[0]
	for i := 2; i < n; i++ {
		step := entryOf(stride, i-2)
		pad := entryOf(padding, i-2)
		spread := entryOf(dilation, i-2)
		if !isExtent(x[i]) || !isExtent(w[i]) || !isExtent(step) || !isExtent(spread) || pad != 0 && !isExtent(pad) {
			return nil
		}
		rest := x[i] + 2*pad - spread*(w[i]-1) - 1
		if rest < 0 {
			return nil
		}
		out[i] = rest/step + 1
	}
	if !isExtent(out[0]) || !isExtent(out[1]) {
		return nil
	}
	return out
}

// isExtent reports whether n can be a dimension or a factor of one.
func isExtent(n int64) bool { return 0 < n && n < 1<<30 }

// parseIntegers returns the integers of a list such as "[1, 1]", nil for any other text.
func parseIntegers(text string) (list []int64) {
	if strings.Contains(text, "null") || json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	return list
}

// entryOf returns the i-th element of a list, -1 if it is missing. A single element applies to every i.
func entryOf(list []int64, i int) int64 {
	switch {
	case len(list) == 1:
		return list[0]
	case i < len(list):
		return list[i]
	}
	return -1
}
