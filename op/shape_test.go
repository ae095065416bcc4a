package op_test

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/op"
)

var shapeTexts = []struct {
	text string
	want op.Shape // nil: not a shape
}{
	{"64x784", op.Shape{64, 784}}, {"64X784", op.Shape{64, 784}}, {" 64 x 784 ", op.Shape{64, 784}}, {"64", op.Shape{64}}, {"0", op.Shape{0}},
	{"[64,784]", op.Shape{64, 784}}, {"[ 64 , 784 ]", op.Shape{64, 784}}, {"(64, 784)", op.Shape{64, 784}}, {"64,784", op.Shape{64, 784}},
	{"[]", op.Shape{}}, {"()", op.Shape{}}, {" [ ] ", op.Shape{}}, {"(3,)", op.Shape{3}}, {"[3,]", op.Shape{3}},
	{"-1x2", op.Shape{-1, 2}}, {"[-1]", op.Shape{-1}}, {"[2.0, 3e0]", op.Shape{2, 3}},
	{"9223372036854775807", op.Shape{1<<63 - 1}},
	{strings.Repeat("1,", 63) + "1", op.Shape(slicesRepeat(1, 64))},

	{"", nil}, {" ", nil}, {"x", nil}, {"2x", nil}, {"x2", nil}, {"2xx3", nil}, {"2,", nil}, {",2", nil}, {"2 3", nil}, {"2x3,4",
		nil}, {"2,3x4", nil},
	{"[", nil}, {"]", nil}, {"[2", nil}, {"2]", nil}, {"[2)", nil}, {"[2x3]", nil}, {"[2,,3]", nil}, {"[,]", nil}, {"[2] ]",
		nil}, {"[[2]]", nil}, {"[2]x", nil},
	{"-2", nil}, {"--1", nil}, {"2.5", nil}, {"1e400", nil}, {"9223372036854775808", nil}, {"NaN", nil}, {"float32", nil}, {"2\x003",
		nil}, {"２", nil},
	{strings.Repeat("1,", 64) + "1", nil},
}

func slicesRepeat(v int64, n int) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = v
	}
	return s
}

func TestParseShape(t *testing.T) {
	for _, test := range shapeTexts {
		got, ok := op.ParseShape(test.text)
		if ok != (test.want != nil) {
			t.Errorf("ParseShape(%q) = %v, %v", test.text, got, ok)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("ParseShape(%q) (-want +got):\n%s", test.text, diff)
		}
	}
}

func FuzzParseShape(f *testing.F) {
	for _, test := range shapeTexts {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := op.ParseShape(text)
		if !ok {
			if s != nil {
				t.Fatalf("ParseShape(%q) = %v, false", text, s)
			}
			return
		}
		if s == nil || len(s) > op.MaxRank {
			t.Fatalf("ParseShape(%q) = %#v", text, s)
		}
		for _, d := range s {
			if d < op.Dynamic {
				t.Fatalf("ParseShape(%q) has a dimension of %d", text, d)
			}
			if d == op.Dynamic {
				return // prints as ?
			}
		}
		if len(s) == 0 {
			return // prints as a word
		}
		if back, ok := op.ParseShape(s.String()); !ok || !cmp.Equal(s, back) {
			t.Fatalf("%q is %v, which prints as %s and reads as %v", text, s, s, back)
		}
	})
}

func TestShapeElements(t *testing.T) {
	const huge = 1 << 62
	for _, test := range []struct {
		shape op.Shape
		want  op.Int
		warn  op.Warning
	}{
		{nil, op.Int{}, 0},
		{op.Shape{}, op.Known(1), 0},
		{op.Shape{5}, op.Known(5), 0},
		{op.Shape{2, 3, 4}, op.Known(24), 0},
		{op.Shape{0}, op.Known(0), 0},
		{op.Shape{2, 0}, op.Known(0), 0},
		{op.Shape{huge, 1}, op.Known(huge), 0},
		{op.Shape{1<<63 - 1}, op.Known(1<<63 - 1), 0},
		{op.Shape{huge, 2}, op.Int{}, op.WarnOverflow}, // 2^63: one too many
		{op.Shape{huge, 8}, op.Int{}, op.WarnOverflow},
		{op.Shape{1 << 32, 1 << 32}, op.Int{}, op.WarnOverflow}, // wraps to 0
		{op.Shape{huge, 8, 3}, op.Int{}, op.WarnOverflow},
		{op.Shape{0, huge, 8}, op.Known(0), 0},
		{op.Shape{huge, 0, 8}, op.Known(0), 0},
		{op.Shape{huge, 8, 0}, op.Known(0), 0},
		{op.Shape{-1}, op.Int{}, op.WarnDynamicDim},
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
		if got := s.String(); got != want {
			t.Errorf("%#v.String() = %q, want %q", s, got, want)
		}
	}
}
