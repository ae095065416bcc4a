package op_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestShapeElements(t *testing.T) {
	const huge = 1 << 62
	for _, test := range []struct {
		shape op.Shape
		want  op.Int
		warn  op.Warning
	}{
		{nil, op.Int{}, 0}, {op.Shape{}, op.Known(1), 0}, {op.Shape{5}, op.Known(5), 0},
		{op.Shape{2, 3, 4}, op.Known(24), 0}, {op.Shape{0}, op.Known(0), 0}, {op.Shape{2, 0}, op.Known(0), 0},
		{op.Shape{huge, 1}, op.Known(huge), 0},
		{op.Shape{1<<63 - 1}, op.Known(1<<63 - 1), 0},
		{op.Shape{huge, 2}, op.Int{}, op.WarnOverflow}, // 2^63: one too many
		{op.Shape{huge, 8}, op.Int{}, op.WarnOverflow},
		{op.Shape{1 << 32, 1 << 32}, op.Int{}, op.WarnOverflow}, // wraps to 0
		{op.Shape{huge, 8, 3}, op.Int{}, op.WarnOverflow},
		{op.Shape{0, huge, 8}, op.Known(0), 0}, {op.Shape{huge, 0, 8}, op.Known(0), 0},
		{op.Shape{huge, 8, 0}, op.Known(0), 0}, {op.Shape{-1}, op.Int{}, op.WarnDynamicDim},
		{op.Shape{-1, 0}, op.Int{}, op.WarnDynamicDim},
		{op.Shape{0, -1}, op.Int{}, op.WarnDynamicDim},
		{op.Shape{huge, 8, -1}, op.Int{}, op.WarnDynamicDim},
		{op.Shape{-2}, op.Int{}, op.WarnBadShape},
		{op.Shape{-1, -2}, op.Int{}, op.WarnBadShape},
		{op.Shape{-2, -1}, op.Int{}, op.WarnBadShape},
	} {
		got, warn := test.shape.Elements()
		if got != test.want || warn != test.warn {
			t.Errorf("%v.Elements() = %v, %q, want %v, %q", test.shape, got, warn, test.want, test.warn)
		}
	}
}

// The product is exact or unknown, never wrapped, against big integers.
func TestShapeElementsAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		s := op.Shape{}
		want := big.NewInt(1)
		for range r.IntN(6) {
			d := int64(r.Uint64() >> (1 + r.IntN(63)))
			s = append(s, d)
			want.Mul(want, big.NewInt(d))
		}
		got, warn := s.Elements()
		if got.Known != want.IsInt64() || got.Known && got.V != want.Int64() || (warn == op.WarnOverflow) == got.Known {
			t.Fatalf("%v.Elements() = %v, %q, exactly %v", s, got, warn, want)
		}
	}
}

func TestShapeString(t *testing.T) {
	for want, s := range map[string]op.Shape{"?": nil, "scalar": {}, "5": {5}, "64x784": {64, 784}, "?x2": {-1, 2}} {
		check.Equal(t, fmt.Sprintf("%#v.String()", s), want, s.String())
	}
	for want, s := range map[string]op.Shape{"null": nil, "[]": {}, "[2,-1]": {2, -1}} {
		check.Equal(t, fmt.Sprintf("%#v", s), want, string(s.AppendJSON(nil)))
	}
}
