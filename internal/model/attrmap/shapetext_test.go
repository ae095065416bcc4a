package attrmap_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

var shapeTexts = []struct {
	text string
	want op.Shape // nil: not a shape
}{
	{"64x784", op.Shape{64, 784}}, {"64X784", op.Shape{64, 784}}, {" 64 x 784 ", op.Shape{64, 784}},
	{"64", op.Shape{64}}, {"0", op.Shape{0}},
	{"[64,784]", op.Shape{64, 784}}, {"[ 64 , 784 ]", op.Shape{64, 784}}, {"(64, 784)", op.Shape{64, 784}},
	{"64,784", op.Shape{64, 784}},
	{"[]", op.Shape{}}, {"()", op.Shape{}}, {" [ ] ", op.Shape{}}, {"(3,)", op.Shape{3}}, {"[3,]", op.Shape{3}},
	{"-1x2", op.Shape{-1, 2}}, {"[-1]", op.Shape{-1}}, {"[2.0, 3e0]", op.Shape{2, 3}},
	{"9223372036854775807", op.Shape{1<<63 - 1}},
	{strings.Repeat("1,", 63) + "1", op.Shape(slices.Repeat([]int64{1}, 64))},

	{"", nil}, {" ", nil}, {"x", nil}, {"2x", nil}, {"x2", nil}, {"2xx3", nil}, {"2,", nil}, {",2", nil}, {"2 3", nil},
	{"2x3,4",
		nil}, {"2,3x4", nil},
	{"[", nil}, {"]", nil}, {"[2", nil}, {"2]", nil}, {"[2)", nil}, {"[2x3]", nil}, {"[2,,3]", nil}, {"[,]", nil},
	{"[2] ]",
		nil}, {"[[2]]", nil}, {"[2]x", nil},
	{"-2", nil}, {"--1", nil}, {"2.5", nil}, {"1e400", nil}, {"9223372036854775808", nil}, {"NaN", nil},
	{"float32", nil}, {"2\x003",
		nil}, {"２", nil},
	{strings.Repeat("1,", 64) + "1", nil},
}

func TestParseShape(t *testing.T) {
	for _, test := range shapeTexts {
		got, ok := attrmap.ParseShape(test.text)
		check.Equal(t, fmt.Sprintf("ParseShape(%q) = %v", test.text, got), (test.want != nil), ok)
		check.Equal(t, fmt.Sprintf("ParseShape(%q)", test.text), test.want, got)
	}
}

func FuzzParseShape(f *testing.F) {
	for _, test := range shapeTexts {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := attrmap.ParseShape(text)
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
		if back, ok := attrmap.ParseShape(s.String()); !ok || !cmp.Equal(s, back) {
			t.Fatalf("%q is %v, which prints as %s and reads as %v", text, s, s, back)
		}
	})
}
