package attrmap_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Where everything is kept, an attribute is left out only if a writer gives it back as it was.
func TestKeepAll(t *testing.T) {
	m := new(attrmap.Mapping)
	m.Alias("engine.op", attrkey.Name)
	m.KeepAll()
	b := attrmap.NewBuilder(m)
	b.Reset()
	b.SetName("span")
	b.Str(attrkey.Name, "matmul")
	b.SetInts(b.Target(attrkey.OutputShape), []int64{2, 3})
	b.Str(attrkey.InputShapes, "2x3")
	b.Str(attrkey.DType, "f32")
	b.SetFloat(b.Target(attrkey.Step), 7)
	b.Int(attrkey.Stream, 7)
	b.Str(attrkey.Kind, "compute")
	b.Int(attrkey.Memory, 24)
	b.Int(attrkey.Rank, 3)
	b.Str("engine.op", "gemm")
	b.Str("model", "m1")
	b.SetResource(&op.Resource{Rank: op.Known(3)})
	b.SetScopeOf(&op.Scope{Name: "lib", Version: "1"})
	e, ok := b.Entry()
	want := []op.Attr{
		{Key: attrkey.InputShapes, Value: "2x3"}, {Key: attrkey.Step, Value: "7", Type: op.AttrFloat},
		{Key: attrkey.Kind, Value: "compute"},
		{Key: attrkey.Rank, Value: "3", Type: op.AttrInt}, {Key: "engine.op", Value: "gemm"},
		{Key: "model", Value: "m1"},
	}
	if diff := cmp.Diff(want, e.Attrs); !ok || diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	check.Equal(t, "extra", &op.Extra{Name: "span", Scope: op.Scope{Version: "1"}}, e.Extra)

	b.Reset()
	b.Str("http.route", "/")
	b.Int(attrkey.Step, 7)
	var s op.Span
	if _, ok := b.Entry(); ok {
		t.Fatal("a request is an operation")
	}
	b.FillSpan(&s)
	check.Equal(t, "attributes of a span",
		[]op.Attr{{Key: "http.route", Value: "/"}, {Key: attrkey.Step, Value: "7", Type: op.AttrInt}}, s.Attrs)
	if s.Extra != nil {
		t.Errorf("extra of a span is %+v", s.Extra)
	}
}
