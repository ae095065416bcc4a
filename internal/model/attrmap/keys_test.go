package attrmap

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Readers know every attribute of the conventions, except of links, of recordings and of annotations.
func TestConventionsAreRead(t *testing.T) {
	f := check.Must(parser.ParseFile(token.NewFileSet(), "../attrkey/names.go", nil, 0))(t)
	n := 0
	ast.Inspect(f, func(node ast.Node) bool {
		text, ok := node.(*ast.BasicLit)
		if !ok {
			return true
		}
		key := check.Must(strconv.Unquote(text.Value))(t)
		if key != attrkey.Sampler && !strings.HasPrefix(key, "optrace.request.") && (strings.HasPrefix(key, "tensor.") || strings.HasPrefix(key, "optrace.")) {
			n++
			if opmodel.LinkWeight(&op.Link{}, key) == nil && conventional.table.find(key) == nil {
				t.Errorf("no reader knows %s", key)
			}
		}
		return true
	})
	if n < 30 {
		t.Errorf("%d attributes", n)
	}
}

// Attrs leaves out attributes that a reader derives, and writes all others.
func TestWriteAttrsLeavesOutWhatFollows(t *testing.T) {
	for _, tt := range []struct {
		name  string
		entry op.Entry
		want  map[string]string
	}{
		{"nothing is known", op.Entry{}, map[string]string{}},
		{"no inputs", op.Entry{InputShapes: []op.Shape{}, InputDTypes: []op.DType{}},
			map[string]string{attrkey.InputShapes: "[]", attrkey.InputDTypes: "[]"}},
		{
			"a shape", op.Entry{OutputShape: op.Shape{2, 3}, OutputElements: op.Known(6)},
			map[string]string{attrkey.OutputShape: "[2,3]", attrkey.Unknown: "memory_bytes"},
		},
		{"unknown elements", op.Entry{OutputShape: op.Shape{2, 3}},
			map[string]string{attrkey.OutputShape: "[2,3]", attrkey.Unknown: "output_elements"}},
		{
			"other elements", op.Entry{OutputShape: op.Shape{2, 3}, OutputElements: op.Known(5), DType: op.BF16},
			map[string]string{
				attrkey.OutputShape: "[2,3]", attrkey.OutputElements: "5", attrkey.DType: "bf16",
				attrkey.Unknown: "memory_bytes",
			},
		},
		{"elements without a shape", op.Entry{OutputElements: op.Known(5), MemoryBytes: op.Known(40)},
			map[string]string{attrkey.OutputElements: "5", attrkey.Memory: "40"}},
		{"a warning that follows", op.Entry{DroppedAttributes: 1, Warn: op.WarnDroppedAttributes}, map[string]string{}},
		{
			"a warning that does not follow", op.Entry{Warn: op.WarnDroppedAttributes},
			map[string]string{attrkey.Warnings: op.WarnDroppedAttributes.String()},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.entry.KindRule = op.RuleDefault
			got := map[string]string{}
			for _, a := range Attrs(&tt.entry) {
				got[a.Key] = a.Value
			}
			delete(got, attrkey.Kind)
			delete(got, attrkey.KindRule)
			check.Equal(t, "attributes", tt.want, got)
			b := NewBuilder(nil)
			b.SetAttr(op.Attr{Key: attrkey.Name, Value: "op"})
			for _, a := range Attrs(&tt.entry) {
				b.SetAttr(a)
			}
			back, _ := b.Entry()
			check.Equal(t, "elements and memory read back", [2]op.Int{tt.entry.OutputElements, tt.entry.MemoryBytes},
				[2]op.Int{back.OutputElements, back.MemoryBytes})
		})
	}
}
