package opmodel

import (
	"testing"

	"github.com/optrace/optrace/op"
)

func TestKindCache(t *testing.T) {
	var c KindCache
	for range 2 {
		for _, name := range []string{"", "matmul", "allreduce", "ncclKernel", "Memcpy", "a", "b"} {
			kind, rule := c.Infer(name)
			if wantKind, wantRule := op.InferKind(name); kind != wantKind || rule != wantRule {
				t.Errorf("infer(%q) = %s by %s, want %s by %s", name, kind, rule, wantKind, wantRule)
			}
		}
	}
}
