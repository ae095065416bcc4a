package trace

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Distinct shapes and element types get distinct numbers. Empty differs from unknown.
func TestVarieties(t *testing.T) {
	var table Varieties
	dims := op.Shape{op.Dynamic, 784}
	all := []Variety{
		{},
		{DType: op.F32},
		{InputDTypes: []op.DType{}},
		{InputDTypes: []op.DType{op.F32, "", "odd"}},
		{InputShapes: []op.Shape{}},
		{InputShapes: []op.Shape{{}, nil, dims}, OutputShape: op.Shape{}, DType: op.BF16,
			InputDTypes: []op.DType{op.I64}},
		{OutputShape: op.Shape{1 << 40}},
	}
	for i, v := range append(all, all...) {
		check.Equal(t, fmt.Sprintf("number of %+v", v), int32(i%len(all)), table.id(v))
	}
	dims[1] = 5 // readers reuse memory
	all[5].InputShapes = []op.Shape{{}, nil, {op.Dynamic, 784}}
	check.Equal(t, "values", all, table.Values)
}
