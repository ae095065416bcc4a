package findings_test

import (
	"strings"
	"testing"

	"github.com/optrace/optrace/op"
)

// agents returns programs that call a model twice, with a tool between, and run code of their own before each call.
func agents(own int64) (records []op.Record) {
	for i := range byte(30) {
		id := op.TraceID{8, i}
		begin := (1_000 + 200*int64(i)) * ms
		at := begin
		child := func(name, service string, span byte, ns int64) {
			at += own
			r := spanAt(name, service, id, at, ns)
			r.Span.SpanID = op.SpanID{span}
			r.Span.ParentSpanID = op.SpanID{1}
			records = append(records, r)
			if service == "llm" {
				r.Span.RemoteParent = true
				work := matmulAt("llm", id, at, ns)
				work.Entry.SpanID = op.SpanID{span, 1}
				work.Entry.ParentSpanID = op.SpanID{span}
				records = append(records, work)
			}
			at += ns
		}
		child("POST /messages", "llm", 2, 20*ms)
		child("tool", "agent", 3, 10*ms)
		child("POST /messages", "llm", 4, 20*ms)
		records = append(records, spanAt("run", "agent", id, begin, at-begin))
	}
	return records
}

// The code of a program between its calls is a finding if it takes time.
func TestCodeBetweenCalls(t *testing.T) {
	f := only(found(t, agents(10*ms)...), "before_operations")
	const want = "30 requests run spend 900 ms (37.5 %) outside of the calls below them, 30.0 ms each."
	if !strings.Contains(f.Text, want) || f.SavedNS.V != 900*ms {
		t.Errorf("%q saves %d, want %q", f.Text, f.SavedNS.V, want)
	}
	if f := only(found(t, agents(ms/10)...), "before_operations"); f.Text != "" {
		t.Errorf("little code: %s", f.Text)
	}
}
