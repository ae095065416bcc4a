package attrmap_test

import (
	"testing"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// A field that is left out is not set, and a value that is none of the field's gives no
// warning; the key counts all the same.
func TestNewOmittingBuilder(t *testing.T) {
	m := new(attrmap.Mapping)
	m.Alias("iteration", attrkey.Step)
	m.Keep(attrkey.Path)
	fields := attrmap.FieldsOf(attrmap.FieldStep, attrmap.FieldPath, attrmap.FieldScope, attrmap.FieldRoot, attrmap.FieldName)
	omitted := attrmap.Without(m, fields)
	build := func(b *attrmap.Builder) *op.Entry {
		b.Reset()
		b.SetName("span")
		b.SetScopeOf(&op.Scope{Name: "scope"})
		b.Str(attrkey.Name, "matmul")
		b.Int("iteration", -7)
		b.Str(attrkey.Step, "seven")
		b.Str(attrkey.Path, "layer")
		b.Str(attrkey.Root, "GET /")
		b.Str(attrkey.RootSpan, "none")
		e, ok := b.Entry()
		if !ok {
			t.Fatal("no operation")
		}
		return e.Clone()
	}
	want := &op.Entry{
		Operation: "matmul", Kind: op.KindCompute, KindRule: op.RuleDefault, Path: "layer", Scope: "scope", Root: "GET /",
		Step: op.Known(-7), Attrs: []op.Attr{{Key: attrkey.Path, Value: "layer"}}, Warn: op.WarnBadValue,
	}
	for _, mapping := range []*attrmap.Mapping{m, omitted} {
		check.Equal(t, "NewBuilder(mapping)", want, build(attrmap.NewBuilder(mapping)))
	}
	want = &op.Entry{Operation: "span", Kind: op.KindCompute, KindRule: op.RuleDefault, Attrs: want.Attrs}
	check.Equal(t, "NewOmittingBuilder", want, build(attrmap.NewOmittingBuilder(omitted)))
}
