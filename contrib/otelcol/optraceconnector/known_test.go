package optraceconnector

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/internal/attrkey"
)

// Operations that never come again are not looked up for long, nor do they take memory.
func TestKnownOperationsAreBounded(t *testing.T) {
	c := newTestConnector(nil)
	td := ptrace.NewTraces()
	s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetStartTimestamp(1)
	s.SetEndTimestamp(2)
	s.Attributes().PutStr(attrkey.Name, "matmul")
	for i := range reviewAfter + 100 {
		s.Attributes().PutInt(attrkey.FLOPs, int64(i))
		consume(t, c, td)
		if n := len(c.operations.byPrint); n > maxKnown {
			t.Fatalf("%d operations are known", n)
		}
	}
	if o := c.operations; o.pause == 0 || len(o.byPrint) != 0 {
		t.Errorf("the pause is %d, %d operations are known", o.pause, len(o.byPrint))
	}
	n := float64(reviewAfter + 100)
	for _, f := range figuresOf(c.take()) {
		if float64(f.Count) != n || f.FLOPs != n*(n-1)/2 {
			t.Errorf("%+v of %v operations", f, n)
		}
	}
}
