package traces

import (
	"encoding/binary"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/op"
)

// spanContext returns the context of a span in a trace of the first shard.
func spanContext(traceNumber, number int, remote bool) trace.SpanContext {
	var id trace.TraceID
	binary.BigEndian.PutUint64(id[:], uint64(traceNumber))
	binary.BigEndian.PutUint32(id[8:], uint32(traceNumber)*0x9e3779b9)
	var spanID trace.SpanID
	binary.BigEndian.PutUint64(spanID[:], uint64(number))
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: spanID, Remote: remote})
}

func start(r *Roots, name string, traceNumber, number, parent int, remote bool) {
	stub := tracetest.SpanStub{Name: name, SpanContext: spanContext(traceNumber, number, false)}
	if parent > 0 {
		stub.Parent = spanContext(traceNumber, parent, remote)
	}
	r.Started(stub.Snapshot())
}

func end(r *Roots, traceNumber, number, parent int, remote bool) span.Root {
	return r.Ended(spanContext(traceNumber, number, false), spanContext(traceNumber, parent, remote))
}

// A root opening in a trace with a forgotten first root is not the root of the first one's spans.
func TestRootAfterEviction(t *testing.T) {
	var r Roots
	start(&r, "first", 1, 1, 0, false)
	start(&r, "below first", 1, 2, 1, false)
	for n := 0; !r.evicted.Has(op.TraceID(spanContext(1, 1, false).TraceID())); n++ {
		if n > 100_000 {
			t.Fatal("nothing is evicted")
		}
		start(&r, "never ends", 2+n, 1, 0, false)
	}
	if r.Forgotten() == 0 {
		t.Error("what is forgotten is not counted")
	}
	start(&r, "second", 1, 3, 2, true)
	start(&r, "below second", 1, 4, 3, false)
	start(&r, "deep below second", 1, 5, 4, false)
	start(&r, "also below first", 1, 6, 1, false)
	for _, tt := range []struct {
		number, parent int
		want           string
	}{
		{2, 1, ""}, {5, 4, "second"}, {4, 3, "second"}, {6, 1, ""},
	} {
		if got := end(&r, 1, tt.number, tt.parent, false); got.Name != tt.want {
			t.Errorf("span %d is below %q, want %q", tt.number, got.Name, tt.want)
		}
	}
	end(&r, 1, 3, 2, true)
	if sh := r.shard(spanContext(1, 1, false).TraceID()); sh.traces.Find(spanContext(1, 1, false).TraceID()) != nil ||
		sh.multi.Load() != 0 {
		t.Error("the trace is still there")
	}
}

// A repeated span id in a trace, the mark of a broken program, does no harm.
func TestRootsOfEqualIDs(t *testing.T) {
	var r Roots
	start(&r, "first", 1, 1, 0, false)
	start(&r, "second", 1, 2, 1, true)
	for range 3 {
		start(&r, "again", 1, 2, 1, true)
	}
	if got := r.At(spanContext(1, 2, false).TraceID(),
		op.SpanID(spanContext(1, 2, false).SpanID())); got.Name != "again" {
		t.Errorf("the root is %q", got.Name)
	}
	end(&r, 1, 2, 1, true)
	r.Ended(spanContext(1, 1, false), trace.SpanContext{})
	if sh := &r.shards[0]; sh.traces.Len() != 0 || sh.multi.Load() != 0 {
		t.Errorf("%d traces are left", sh.traces.Len())
	}
}

func BenchmarkRootOfEndedSpan(b *testing.B) {
	var r Roots
	start(&r, "request", 1, 1, 0, false)
	ended := spanContext(1, 2, false)
	parent := spanContext(1, 1, false)
	for b.Loop() {
		if r.Ended(ended, parent).Name == "" {
			b.Fatal("no root")
		}
	}
}

func BenchmarkAddTraceWithOperations(b *testing.B) {
	var w WithOps
	n := uint64(0)
	for b.Loop() {
		n++
		var id op.TraceID
		binary.BigEndian.PutUint64(id[8:], n*0x9e3779b97f4a7c15)
		if w.Add(id); !w.Has(id) {
			b.Fatal("not found")
		}
	}
}
