package kineto

import (
	"encoding/json"
	"strings"

	"github.com/optrace/optrace/op"
)

// signature tells which arguments of a convolution are its stride, padding and dilation, and whether it is a transposed
// one, which is 0 where it cannot be.
type signature struct{ stride, padding, dilation, transposed int }

// signatures are those of PyTorch's native functions.
var signatures = [...]signature{
	{stride: 3, padding: 4, dilation: 5},
	{stride: 3, padding: 4, dilation: 5, transposed: 6},
	{padding: 2, stride: 3, dilation: 4},
	{padding: 3, stride: 4, dilation: 5},
}

// convolutions are the signatures of operators by name, each its index and 1 more.
var convolutions = map[string]byte{
	"aten::conv1d": 1, "aten::conv2d": 1, "aten::conv3d": 1,
	"aten::convolution": 2, "aten::_convolution": 2, "aten::convolution_overrideable": 2,
	"aten::cudnn_convolution":  3,
	"aten::mkldnn_convolution": 4, "aten::miopen_convolution": 4,
}

// convolutionOutput returns the shape of a convolution's output, which Kineto does not state. It follows from the
// shapes of the input and the weights and from the arguments that are given by value:
//
//	"Concrete Inputs": ["", "", "", "[2, 2]", "[3, 3]", "[1, 1]", "1"]
//
// It is nil where these are missing, or do not fit, and where padding is a word.
func convolutionOutput(shapes []op.Shape, s signature, concrete string) op.Shape {
	if len(shapes) < 2 {
		return nil
	}
	x, w := shapes[0], shapes[1]
	values := parseTypes(concrete) // a list of texts, as that of types is
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

// isExtent reports whether n is a dimension, or another size that is multiplied with one.
func isExtent(n int64) bool { return 0 < n && n < 1<<30 }

// parseIntegers returns the integers of a list such as "[1, 1]"; nil where it is none.
func parseIntegers(text string) (list []int64) {
	if strings.Contains(text, "null") || json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	return list
}

// entryOf returns the i-th of a list, of which a single one stands for all; -1 where there is none.
func entryOf(list []int64, i int) int64 {
	switch {
	case len(list) == 1:
		return list[0]
	case i < len(list):
		return list[i]
	}
	return -1
}
