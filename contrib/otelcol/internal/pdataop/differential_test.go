package pdataop

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// The records are those that the reader of OTLP has of the same spans in protobuf.
func TestAgainstProtobuf(t *testing.T) {
	m := new(attr.Mapping)
	for _, key := range keys {
		m.Keep(key)
	}
	for _, mapping := range []*attr.Mapping{nil, m} {
		for _, td := range pdatatest.Training(1, 3, 2) {
			compare(t, mapping, td)
		}
		empty := ptrace.NewTraces()
		empty.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().Attributes().PutEmpty("key")
		compare(t, mapping, empty)
		rng := rand.New(rand.NewPCG(1, 2))
		spans, n := 0, cases.Count(t, 50, 1000)
		for range n {
			r := spantest.Random{Data: make([]byte, 1500), Keys: keys}
			for i := range r.Data {
				r.Data[i] = byte(rng.Uint32())
			}
			td := received(t, r.Span().Snapshot(), r.Operation().Snapshot())
			spans += td.SpanCount()
			compare(t, mapping, td)
		}
		if spans < n {
			t.Errorf("only %d spans were compared", spans)
		}
	}
}

// keys are keys that matter, and some that do not.
var keys = []string{
	attrkey.Name, attrkey.Kind, attrkey.Device, attrkey.InputShapes, attrkey.OutputShape, attrkey.DType, attrkey.InputDTypes,
	attrkey.Memory, attrkey.FLOPs,
	attrkey.Step, attrkey.Collective, attrkey.GroupSize, attrkey.Rank, "pytorch.input_shapes", "operation", "key",
}

// received returns the operations among spans as a Collector receives them, with texts
// that are UTF-8.
func received(t *testing.T, spans ...sdktrace.ReadOnlySpan) ptrace.Traces {
	t.Helper()
	var out bytes.Buffer
	exp := check.Must(optrace.NewExporter(&out, optrace.WithFormat(optrace.FormatOTLPProto)))(t)
	check.OK(t, exp.ExportSpans(t.Context(), spans))
	const prefix = 4 // the length of the one message
	var u ptrace.ProtoUnmarshaler
	return check.Must(u.UnmarshalTraces(out.Bytes()[prefix:]))(t)
}

// compare compares the records of td with those of its protobuf.
func compare(t *testing.T, m *attr.Mapping, td ptrace.Traces) {
	t.Helper()
	text := check.Must(pdatatest.Proto(td))(t)
	var want, got []op.Record
	for rec, err := range otlp.ProtoRecords(bytes.NewReader(text), "spans", m) {
		check.OK(t, err)
		switch {
		case rec.Entry != nil:
			want = append(want, op.Record{Entry: rec.Entry.Clone()})
		case rec.Span != nil:
			want = append(want, op.Record{Span: rec.Span.Clone()})
		case rec.Resource != nil:
			want = append(want, op.Record{Resource: rec.Resource.Clone()})
		}
	}
	r := NewReader(m)
	for _, rs := range td.ResourceSpans().All() {
		res := Resource(rs.Resource())
		got = append(got, op.Record{Resource: res})
		r.SetResource(res)
		for _, ss := range rs.ScopeSpans().All() {
			r.SetScope(ss.Scope())
			for _, s := range ss.Spans().All() {
				e, ok := r.Entry(s)
				if ok {
					got = append(got, op.Record{Entry: e.Clone()})
				} else {
					got = append(got, op.Record{Span: r.Span(s).Clone()})
				}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("records (-protobuf +pdata):\n%s", diff)
	}
}

// FuzzAgainstProtobuf compares the records of any spans with those of the reader of OTLP.
func FuzzAgainstProtobuf(f *testing.F) {
	for _, td := range pdatatest.Training(1, 1, 2) {
		text := check.Must(pdatatest.Proto(td))(f)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var u ptrace.ProtoUnmarshaler
		td, err := u.UnmarshalTraces(text)
		if err != nil {
			return
		}
		compare(t, nil, td)
	})
}
