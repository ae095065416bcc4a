package kineto

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestParseInputs(t *testing.T) {
	many := strings.Repeat("[1],", op.MaxInputs) + "[1]"
	deep := strings.Repeat("1,", op.MaxRank) + "1"
	for _, test := range []struct {
		name, dims, types string
		shapes            string // joined by blanks
		dtypes            []op.DType
		warn              op.Warning
	}{
		{"tensors", `[[64,784],[784,256]]`, `["float","c10::Half"]`, "64x784 784x256", []op.DType{op.F32, op.F16}, 0},
		{"no inputs", `[]`, `[]`, "", nil, 0},
		{"a scalar tensor", `[[]]`, `["long int"]`, "scalar", []op.DType{op.I64}, 0},
		{"a number by value", `[[2],[]]`, `["float","Scalar"]`, "2 scalar", []op.DType{op.F32, ""}, 0},
		{"no tensor", `[[],[],[]]`, `["","ScalarList","Device"]`, "? ? ?", nil, 0},
		{"no types", `[[2],[]]`, ``, "2 scalar", nil, 0},
		{"types of the wrong type", `[[2],[]]`, `[1,null]`, "2 ?", nil, 0},
		{"fewer types", `[[2],[]]`, `["double"]`, "2 ?", []op.DType{op.F64, ""}, 0},
		{"a list of tensors", `[[[2,3],[4],[]],[5]]`, `["TensorList","float"]`, "2x3 4 scalar 5", []op.DType{"", "", "", op.F32}, 0},
		{"lists of lists", `[[[[2]],[[3],[4]]]]`, `["GenericList"]`, "2 3 4", nil, 0},
		{"a dynamic dimension", `[[-1,3]]`, `["float"]`, "?x3", []op.DType{op.F32}, 0},
		{"a bad dimension", `[[-2,3],[4]]`, `["float","float"]`, "? 4", []op.DType{op.F32, op.F32}, op.WarnBadShape},
		{"a dimension that is none", `[["2"],[2.5],[1e3]]`, `["float","float","float"]`, "? ? 1000", []op.DType{op.F32, op.F32, op.F32},
			op.WarnBadShape},
		{"an input that is no list", `[7,[1]]`, `["float","float"]`, "? 1", []op.DType{"", op.F32}, op.WarnBadShape},
		{"no list", `{"a":1}`, `["float"]`, "", nil, op.WarnBadShape},
		{"too many inputs", "[" + many + "]", ``, strings.TrimSpace(strings.Repeat("1 ", op.MaxInputs)), nil, op.WarnShapeTruncated},
		{"too many dimensions", "[[" + deep + "]]", ``, strings.TrimSuffix(strings.Repeat("1x", op.MaxRank), "x"), nil, op.WarnShapeTruncated},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := parseInputs(string(appendInputsKey(nil, nil, &values{dims: []byte(test.dims), types: []byte(test.types)})))
			var shapes []string
			for _, s := range in.shapes {
				shapes = append(shapes, s.String())
			}
			check.Equal(t, "shapes", test.shapes, strings.Join(shapes, " "))
			if diff := cmp.Diff(test.dtypes, in.dtypes); diff != "" || in.warn != test.warn {
				t.Errorf("warning %v, want %v; types (-want +got):\n%s", in.warn, test.warn, diff)
			}
		})
	}
}
