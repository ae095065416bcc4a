package op_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/op"
)

func TestAttrJSON(t *testing.T) {
	for _, test := range []struct {
		attr op.Attr
		want string
	}{
		{op.Attr{Value: "4"}, `"4"`},
		{op.Attr{Value: "-4", Type: op.AttrInt}, `-4`},
		{op.FloatAttr("", 4), `4.0`}, {op.FloatAttr("", 2.5), `2.5`}, {op.FloatAttr("", 1e21), `1e+21`},
		{op.FloatAttr("", math.NaN()), `{"doubleValue":"NaN"}`}, {op.FloatAttr("", math.Inf(-1)), `{"doubleValue":"-Infinity"}`},
		{op.Attr{Value: "true", Type: op.AttrBool}, `true`},
		{op.Attr{Value: "AAE=", Type: op.AttrBytes}, `{"bytesValue":"AAE="}`},
		{op.Attr{Value: `[1,{"a":null}]`, Type: op.AttrJSON}, `[1,{"a":null}]`},
		{op.Attr{Value: "null", Type: op.AttrJSON}, `null`},
		// What is none of its type is text, so that the line stays valid.
		{op.Attr{Value: "four", Type: op.AttrInt}, `"four"`},
		{op.Attr{Value: "1.5", Type: op.AttrInt}, `"1.5"`},
		{op.Attr{Value: "x", Type: op.AttrFloat}, `"x"`},
		{op.Attr{Value: "yes", Type: op.AttrBool}, `"yes"`},
		{op.Attr{Value: "[1", Type: op.AttrJSON}, `"[1"`},
		{op.Attr{Value: "[1,\n2]", Type: op.AttrJSON}, `"[1,\n2]"`},
		{op.Attr{Value: "", Type: op.AttrJSON}, `""`},
	} {
		if got := string(test.attr.AppendJSONValue(nil)); got != test.want {
			t.Errorf("%+v is %s, want %s", test.attr, got, test.want)
		}
	}
}

// Values of every type read back; of numbers of more than 64 bits the text is left.
func TestAttrsReadBack(t *testing.T) {
	line := `{"operation":"a","duration_ns":1,"attrs":{"t":"4","i":4,"f":4.0,"e":1E2,"b":false,"n":null,"l":[1, 2.0],"m":{"k":{}},` +
		`"y":{"bytesValue":"AAE="},"inf":{"doubleValue":"Infinity"},"like":{"bytesValue":"a","x":1},"odd":{"doubleValue":"x"},` +
		`"big":18446744073709551616,"huge":1e999}}`
	want := []op.Attr{
		{Key: "t", Value: "4"}, {Key: "i", Value: "4", Type: op.AttrInt}, {Key: "f", Value: "4", Type: op.AttrFloat},
		{Key: "e", Value: "100", Type: op.AttrFloat}, {Key: "b", Value: "false", Type: op.AttrBool}, {Key: "n", Value: "null", Type: op.AttrJSON},
		{Key: "l", Value: "[1, 2.0]", Type: op.AttrJSON}, {Key: "m", Value: `{"k":{}}`, Type: op.AttrJSON},
		{Key: "y", Value: "AAE=", Type: op.AttrBytes}, op.FloatAttr("inf", math.Inf(1)),
		{Key: "like", Value: `{"bytesValue":"a","x":1}`, Type: op.AttrJSON}, {Key: "odd", Value: `{"doubleValue":"x"}`, Type: op.AttrJSON},
		{Key: "big", Value: "18446744073709551616"}, {Key: "huge", Value: "1e999"},
	}
	rec, err := op.DecodeLine([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, rec.Entry.Attrs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := op.DecodeLine(rec.Entry.AppendJSON(nil))
	if err != nil || !cmp.Equal(want, again.Entry.Attrs) {
		t.Errorf("read again: %v\n%s", err, cmp.Diff(want, again.Entry.Attrs))
	}
}

// Where everything is kept, an attribute is left out only if a writer gives it back as
// it was.
func TestKeepAll(t *testing.T) {
	m := new(op.Mapping)
	m.Alias("engine.op", op.FieldName)
	m.KeepAll()
	b := op.NewBuilder(m)
	b.Reset()
	b.SetName("span")
	b.Str(op.KeyName, "matmul")
	b.Ints(op.KeyOutputShape, []int64{2, 3})
	b.Str(op.KeyInputShapes, "2x3")
	b.Str(op.KeyDType, "f32")
	b.Float(op.KeyStep, 7)
	b.Int(op.KeyStream, 7)
	b.Str(op.KeyKind, "compute")
	b.Int(op.KeyMemory, 24)
	b.Int(op.KeyRank, 3)
	b.Str("engine.op", "gemm")
	b.Str("model", "m1")
	b.SetResource(&op.Resource{Rank: op.Known(3)})
	b.SetScopeOf(&op.Scope{Name: "lib", Version: "1"})
	e, ok := b.Entry()
	want := []op.Attr{
		{Key: op.KeyInputShapes, Value: "2x3"}, {Key: op.KeyStep, Value: "7", Type: op.AttrFloat}, {Key: op.KeyKind, Value: "compute"},
		{Key: op.KeyRank, Value: "3", Type: op.AttrInt}, {Key: "engine.op", Value: "gemm"}, {Key: "model", Value: "m1"},
	}
	if diff := cmp.Diff(want, e.Attrs); !ok || diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&op.Extra{Name: "span", Scope: op.Scope{Version: "1"}}, e.Extra); diff != "" {
		t.Errorf("extra (-want +got):\n%s", diff)
	}

	b.Reset()
	b.Str("http.route", "/")
	b.Int(op.KeyStep, 7)
	var s op.Span
	if _, ok := b.Entry(); ok {
		t.Fatal("a request is an operation")
	}
	b.FillSpan(&s)
	if diff := cmp.Diff([]op.Attr{{Key: "http.route", Value: "/"}, {Key: op.KeyStep, Value: "7", Type: op.AttrInt}}, s.Attrs); diff != "" {
		t.Errorf("attributes of a span (-want +got):\n%s", diff)
	}
	if s.Extra != nil {
		t.Errorf("extra of a span is %+v", s.Extra)
	}
}

func TestSources(t *testing.T) {
	header := func(host string) string {
		return `{"schema":"optrace.entries/v1","resource":{"attrs":{"host.name":"` + host + `"}}}` + "\n"
	}
	batch := func(writer string) string { return `{"batch":{"writer":"` + writer + `","seq":0,"entries":1}}` + "\n" }
	const entry, nothing = `{"step":1,"operation":"a","duration_us":1}` + "\n", `{"schema":"optrace.entries/v1"}` + "\n"
	for _, test := range []struct{ name, lines, want string }{
		{"nothing", entry, ""},
		{"a header", header("a") + entry, "a"},
		{"the last of two", header("a") + entry + header("b") + entry, "b"},
		{"behind a batch record", batch("v") + header("a") + entry + batch("w") + header("b") + entry + batch("v") + entry, "a"},
		{"in front of a batch record", header("a") + batch("v") + entry + header("b") + batch("w") + entry + batch("v") + entry, "a"},
		{"a writer without one", batch("v") + header("a") + entry + batch("w") + entry, ""},
		{"a change within a batch", batch("v") + header("a") + entry + header("b") + entry + batch("w") + entry + batch("v") + entry, "b"},
		{"a header without a resource", header("a") + entry + nothing + entry, ""},
		{"white space and other order", `{ "resource" : {"attrs":{"host.name":"a"}}, "schema":"optrace.entries/v1"}` + "\n\n" + entry, "a"},
		{"a damaged header", header("a") + `{"schema":"optrace.entries/v1","resource":{"at` + "\n" + entry, "a"},
	} {
		var s op.Sources
		s.Follow([]byte(test.lines))
		got := ""
		if r := s.Resource(); r != nil {
			got = r.Attrs[0].Value
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
