package attrmap

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
)

// Readers know every attribute of the conventions, that of links aside.
func TestConventionsAreRead(t *testing.T) {
	f := check.Must(parser.ParseFile(token.NewFileSet(), "../../internal/attrkey/names.go", nil, 0))(t)
	n := 0
	ast.Inspect(f, func(node ast.Node) bool {
		text, ok := node.(*ast.BasicLit)
		if !ok {
			return true
		}
		key := check.Must(strconv.Unquote(text.Value))(t)
		if strings.HasPrefix(key, "tensor.") || strings.HasPrefix(key, "optrace.") {
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

func TestAdjustedCount(t *testing.T) {
	for _, test := range []struct {
		state string
		want  float64
	}{
		{"", 0}, {"vendor=1", 0}, {"ot=", 0}, {"ot=rv:1a2b", 0}, {"xot=th:8", 0},
		{"ot=th:0", 1}, {"ot=th:8", 2}, {"ot=th:c", 4}, {"ot=th:C", 4}, {"ot=th:80000000000000", 2}, {"ot=th:fff", 4096},
		{"ot=th:ffffffffffffff", 1 << 56}, {"ot=th:fffffffffffffe", 1 << 55},
		{"ot=rv:1a;th:8", 2}, {"ot=th:8;rv:1a", 2}, {"a=b,ot=th:8", 2}, {"a=b, ot=th:8 ,c=d", 2},
		{"ot=th:", 0}, {"ot=th:800000000000000", 0}, {"ot=th:xyz", 0}, {"ot=th:-8", 0}, {"ot=th:+8", 0}, {"ot=th:0x8", 0}, {"ot=th:8_0", 0},
	} {
		check.Equal(t, fmt.Sprintf("adjustedCount(%q)", test.state), test.want, adjustedCount(test.state))
	}
}
