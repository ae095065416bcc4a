package op_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestAttrJSON(t *testing.T) {
	for _, test := range []struct {
		attr op.Attr
		want string
	}{
		{op.Attr{Value: "4"}, `"4"`},
		{op.Attr{Value: "-4", Type: op.AttrInt}, `-4`},
		{opmodel.FloatAttr("", 4), `4.0`}, {opmodel.FloatAttr("", 2.5), `2.5`}, {opmodel.FloatAttr("", 1e21), `1e+21`},
		{opmodel.FloatAttr("", math.NaN()), `{"doubleValue":"NaN"}`}, {opmodel.FloatAttr("", math.Inf(-1)),
			`{"doubleValue":"-Infinity"}`},
		{op.Attr{Value: "true", Type: op.AttrBool}, `true`},
		{op.Attr{Value: "AAE=", Type: op.AttrBytes}, `{"bytesValue":"AAE="}`},
		{op.Attr{Value: `[1,{"a":null}]`, Type: op.AttrJSON}, `[1,{"a":null}]`},
		{op.Attr{Value: "null", Type: op.AttrJSON}, `null`},
		// A value that does not fit its type is text: the line stays valid.
		{op.Attr{Value: "four", Type: op.AttrInt}, `"four"`},
		{op.Attr{Value: "1.5", Type: op.AttrInt}, `"1.5"`},
		{op.Attr{Value: "x", Type: op.AttrFloat}, `"x"`},
		{op.Attr{Value: "yes", Type: op.AttrBool}, `"yes"`},
		{op.Attr{Value: "[1", Type: op.AttrJSON}, `"[1"`},
		{op.Attr{Value: "[1,\n2]", Type: op.AttrJSON}, `"[1,\n2]"`},
		{op.Attr{Value: "", Type: op.AttrJSON}, `""`},
	} {
		check.Equal(t, fmt.Sprintf("%+v", test.attr), test.want, string(test.attr.AppendJSONValue(nil)))
	}
}
