package main

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
)

// randomTraces returns random spans with valid times and keys, kept by all formats.
func randomTraces(t *testing.T, r *rand.Rand) ptrace.Traces {
	t.Helper()
	text := check.Must(proto.Marshal(otlptest.RandomTraces(r, 1+r.IntN(3), 5)))(t)
	td := check.Must((&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(text))(t)
	for _, rs := range td.ResourceSpans().All() {
		rs.Resource().SetDroppedAttributesCount(0)
		rs.Resource().Attributes().PutStr("service.name", "svc")
		distinct(rs.Resource().Attributes(), 0)
		for _, ss := range rs.ScopeSpans().All() {
			ss.Scope().SetDroppedAttributesCount(0)
			distinct(ss.Scope().Attributes(), 0)
			for _, s := range ss.Spans().All() {
				s.SetTraceID(pcommon.TraceID{1, 15: byte(1 + r.IntN(3))})
				s.SetSpanID(pcommon.SpanID{6: byte(r.IntN(256)), 7: 1})
				s.SetName("a" + s.Name())
				s.SetKind(ptrace.SpanKind(r.IntN(6)))
				s.SetStartTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + r.Int64N(1000)))
				s.SetEndTimestamp(s.StartTimestamp() + pcommon.Timestamp(r.IntN(1000)))
				s.SetDroppedEventsCount(uint32(r.IntN(2)))
				if s.Status().Code() != ptrace.StatusCodeError {
					s.Status().SetMessage("")
				}
				distinct(s.Attributes(), 0)
				for _, e := range s.Events().All() {
					e.SetTimestamp(s.StartTimestamp())
					e.SetDroppedAttributesCount(uint32(r.IntN(2)))
					distinct(e.Attributes(), 0)
				}
				for _, l := range s.Links().All() {
					l.SetTraceID(pcommon.TraceID{2})
					l.SetSpanID(pcommon.SpanID{3})
					l.SetDroppedAttributesCount(uint32(r.IntN(2)))
					distinct(l.Attributes(), 0)
				}
			}
		}
	}
	return td
}

// distinct removes repeated attributes and deeply nested values.
func distinct(m pcommon.Map, depth int) {
	seen := map[string]bool{"op": true} // writers also state the name
	m.RemoveIf(func(key string, v pcommon.Value) bool {
		if strings.HasPrefix(key, "tensor.input.") && strings.HasSuffix(key, ".shape") {
			return true // writers also state all shapes in one attribute
		}
		shallow(v, depth)
		switch key {
		case "tensor.rank":
			v.SetInt(7)
		case "pytorch.device.type":
			key = "tensor.device.id"
		}
		before := seen[key]
		seen[key] = true
		return before
	})
}

// shallow removes values nested deeper than all formats keep.
func shallow(v pcommon.Value, depth int) {
	switch {
	case v.Type() != pcommon.ValueTypeMap && v.Type() != pcommon.ValueTypeSlice:
	case depth > 3:
		v.SetBool(true)
	case v.Type() == pcommon.ValueTypeMap:
		distinct(v.Map(), depth+1)
	default:
		for _, e := range v.Slice().All() {
			shallow(e, depth+1)
		}
	}
}

// describeTraces returns a text per span, with its resource and scope, sorted. It omits the size of an output, because
// writers derive it from the shape.
func describeTraces(t *testing.T, td ptrace.Traces) (texts []string) {
	t.Helper()
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				one := ptrace.NewTraces()
				r := one.ResourceSpans().AppendEmpty()
				rs.Resource().CopyTo(r.Resource())
				scope := r.ScopeSpans().AppendEmpty()
				ss.Scope().CopyTo(scope.Scope())
				own := scope.Spans().AppendEmpty()
				s.CopyTo(own)
				own.Attributes().Remove("tensor.memory.size")
				own.Attributes().Remove("optrace.warnings")
				for _, m := range []pcommon.Map{r.Resource().Attributes(), scope.Scope().Attributes(),
					own.Attributes()} {
					sortMap(m)
				}
				for _, l := range own.Links().All() {
					sortMap(l.Attributes())
				}
				texts = append(texts, string(check.Must((&ptrace.JSONMarshaler{}).MarshalTraces(one))(t)))
			}
		}
	}
	slices.Sort(texts)
	return texts
}

func sortMap(m pcommon.Map) {
	sorted := pcommon.NewMap()
	for _, k := range slices.Sorted(maps.Keys(maps.Collect(m.All()))) {
		v, _ := m.Get(k)
		v.CopyTo(sorted.PutEmpty(k))
	}
	sorted.CopyTo(m)
}

func readTraces(t *testing.T, text []byte) ptrace.Traces {
	t.Helper()
	all := ptrace.NewTraces()
	for line := range bytes.Lines(text) {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
		if err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		td.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
	}
	return all
}

// Spans survive conversions to entries, Parquet and OTLP unchanged.
func TestConversionsKeepSpans(t *testing.T) {
	for seed := range cases.Some(t, 25, 500) {
		td := randomTraces(t, rand.New(rand.NewPCG(uint64(seed), 5)))
		text := check.Must((&ptrace.JSONMarshaler{}).MarshalTraces(td))(t)
		if seed%2 == 1 {
			text = check.Must((&ptrace.ProtoMarshaler{}).MarshalTraces(td))(t)
		}
		input := tempInput(t, "in", string(text))
		want := describeTraces(t, td)
		for _, way := range []string{"otlp", "entries", "parquet", "entries parquet entries", "otlp entries"} {
			file := input
			for format := range strings.FieldsSeq(way) {
				_, file = converted(t, format, file)
			}
			back, _ := converted(t, "otlp", file)
			if diff := cmp.Diff(want, describeTraces(t, readTraces(t, back))); diff != "" {
				t.Fatalf("seed %d by %s (-want +got):\n%s", seed, way, diff)
			}
		}
	}
}
