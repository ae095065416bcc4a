package trace

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// What a forest keeps of shapes and element types is read back as it was, what is empty apart
// from what is not known.
func TestVarietyRoundTrip(t *testing.T) {
	seen := make(map[string]int)
	for i, want := range []op.Entry{
		{},
		{DType: op.F32},
		{InputDTypes: []op.DType{}},
		{InputDTypes: []op.DType{op.F32, "", "odd"}},
		{InputShapes: []op.Shape{}},
		{InputShapes: []op.Shape{{}, nil, {op.Dynamic, 784}}, OutputShape: op.Shape{}, DType: op.BF16, InputDTypes: []op.DType{op.I64}},
		{OutputShape: op.Shape{1 << 40}},
	} {
		text := string(appendVariety(nil, &want))
		check.Equal(t, fmt.Sprintf("%d", i), want, EntryVariety(text))
		if other, ok := seen[text]; ok {
			t.Errorf("%d is the same as %d", i, other)
		}
		seen[text] = i
	}
}
