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

// Readers know every attribute of the conventions, except of links and of recordings.
func TestConventionsAreRead(t *testing.T) {
	f := check.Must(parser.ParseFile(token.NewFileSet(), "../attrkey/names.go", nil, 0))(t)
	n := 0
	ast.Inspect(f, func(node ast.Node) bool {
		text, ok := node.(*ast.BasicLit)
		if !ok {
			return true
		}
		key := check.Must(strconv.Unquote(text.Value))(t)
		if key != attrkey.Sampler && (strings.HasPrefix(key, "tensor.") || strings.HasPrefix(key, "optrace.")) {
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
