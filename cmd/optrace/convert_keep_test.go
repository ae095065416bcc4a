package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

// spans makes random spans that hold everything that OTLP has but schema URLs.
type spans struct {
	*rand.Rand
	next byte
}

func (r *spans) maybe() bool { return r.IntN(2) == 0 }

func (r *spans) traces() ptrace.Traces {
	td := ptrace.NewTraces()
	for i := range 1 + r.IntN(3) {
		rs := td.ResourceSpans().AppendEmpty()
		a := rs.Resource().Attributes()
		if r.maybe() {
			a.PutStr("service.name", "svc")
		}
		if r.maybe() {
			a.PutInt("tensor.rank", int64(i))
		}
		a.PutStr("host.name", fmt.Sprint("h", i))
		r.attributes(a)
		for j := range 1 + r.IntN(2) {
			ss := rs.ScopeSpans().AppendEmpty()
			if r.maybe() {
				ss.Scope().SetName(fmt.Sprint("lib", j))
				ss.Scope().SetVersion([]string{"", "1.2"}[r.IntN(2)])
				r.attributes(ss.Scope().Attributes())
			}
			for range 1 + r.IntN(4) {
				r.span(ss.Spans().AppendEmpty())
			}
		}
	}
	return td
}

func (r *spans) span(s ptrace.Span) {
	r.next++
	s.SetTraceID(pcommon.TraceID{1, 15: byte(1 + r.IntN(3))})
	s.SetSpanID(pcommon.SpanID{7: r.next})
	if r.maybe() {
		s.SetParentSpanID(pcommon.SpanID{6: 1, 7: r.next})
	}
	s.SetName([]string{"matmul", "POST /", "größe \"x\"\n"}[r.IntN(3)])
	s.SetKind(ptrace.SpanKind(r.IntN(6)))
	s.SetFlags([]uint32{0, 1, 0x101, 0x301}[r.IntN(4)])
	s.TraceState().FromRaw([]string{"", "a=b", "ot=th:8"}[r.IntN(3)])
	s.SetStartTimestamp(pcommon.Timestamp(1_700_000_000_000_000_000 + r.Int64N(1000)))
	s.SetEndTimestamp(s.StartTimestamp() + pcommon.Timestamp(r.IntN(1000)))
	if r.IntN(3) > 0 {
		r.operation(s.Attributes())
	}
	r.attributes(s.Attributes())
	s.SetDroppedAttributesCount(uint32(r.IntN(2)))
	for range r.IntN(3) {
		e := s.Events().AppendEmpty()
		e.SetName("launch")
		e.SetTimestamp(s.StartTimestamp())
		r.attributes(e.Attributes())
		e.SetDroppedAttributesCount(uint32(r.IntN(2)))
	}
	s.SetDroppedEventsCount(uint32(r.IntN(2)))
	for range r.IntN(3) {
		l := s.Links().AppendEmpty()
		l.SetTraceID(pcommon.TraceID{2})
		l.SetSpanID(pcommon.SpanID{3})
		l.TraceState().FromRaw([]string{"", "a=b"}[r.IntN(2)])
		l.SetFlags([]uint32{0, 0x101}[r.IntN(2)])
		r.attributes(l.Attributes())
		switch r.IntN(4) {
		case 0:
			l.Attributes().PutInt("tensor.link.weight", 12)
		case 1:
			l.Attributes().PutStr("tensor.link.weight", "12")
		}
		l.SetDroppedAttributesCount(uint32(r.IntN(2)))
	}
	s.SetDroppedLinksCount(uint32(r.IntN(2)))
	s.Status().SetCode(ptrace.StatusCode(r.IntN(3)))
	if s.Status().Code() == ptrace.StatusCodeError {
		s.Status().SetMessage([]string{"", "out of memory"}[r.IntN(2)])
	}
}

// operation adds attributes of the convention, in the usual form or another one.
func (r *spans) operation(a pcommon.Map) {
	switch r.IntN(4) {
	case 0:
		a.PutStr("operation", "matmul")
		a.PutStr("output_shape", "2x3")
		a.PutStr("device", "cpu")
	case 1:
		a.PutStr("pytorch.input_shapes", "[[2, 3], []]")
		a.PutStr("pytorch.device.type", "CUDA")
		a.PutInt("pytorch.device.index", 1)
		a.PutDouble("pytorch.flops", 12)
		a.PutInt("pytorch.device_memory_usage_bytes", 64)
		a.PutStr("pytorch.other", "x")
	default:
		a.PutStr("tensor.op.name", []string{"matmul", "all_reduce"}[r.IntN(2)])
	}
	for _, put := range []func(){
		func() { a.PutStr("tensor.op.kind", []string{"compute", "Compute", "collective"}[r.IntN(3)]) },
		func() { a.PutStr("tensor.op.path", "encoder.0") },
		func() { a.PutStr("tensor.dtype", []string{"f32", "torch.float16", "int4"}[r.IntN(3)]) },
		func() { r.dims(a.PutEmpty("tensor.output.shape")) },
		func() { a.PutStr("tensor.input.shapes", "2x3,3x4") },
		func() {
			list := a.PutEmptySlice("tensor.input.shapes")
			r.dims(list.AppendEmpty())
			r.dims(list.AppendEmpty())
		},
		func() { a.PutStr("tensor.device.id", "cuda:0") },
		func() { a.PutInt("tensor.device.id", 0) },
		func() { a.PutInt("tensor.step", int64(r.IntN(3))) },
		func() { a.PutDouble("tensor.step", 3) },
		func() { a.PutInt("tensor.memory.size", 4096) },
		func() { a.PutInt("tensor.rank", int64(r.IntN(2))) },
		func() { a.PutInt("tensor.stream.id", 7) },
		func() { a.PutStr("tensor.collective.name", "all_reduce") },
		func() { a.PutInt("tensor.collective.sequence", 9) },
		func() { a.PutStr("optrace.root.name", "POST /") },
	} {
		if r.IntN(4) == 0 {
			put()
		}
	}
}

func (r *spans) dims(v pcommon.Value) {
	list := v.SetEmptySlice()
	for range r.IntN(4) {
		list.AppendEmpty().SetInt(int64(r.IntN(9)))
	}
}

func (r *spans) attributes(a pcommon.Map) {
	for range r.IntN(4) {
		r.value(a.PutEmpty([]string{"model", "batch", "a\"b", "", "http.route", "größe"}[r.IntN(6)]), 0)
	}
}

func (r *spans) value(v pcommon.Value, depth int) {
	switch n := r.IntN(8); {
	case n == 0:
		v.SetStr([]string{"", "m1", "4", "true", "[1]", "größe\"\\\n\u2028"}[r.IntN(6)])
	case n == 1:
		v.SetInt([]int64{0, -1, 4, math.MaxInt64, math.MinInt64}[r.IntN(5)])
	case n == 2:
		v.SetDouble([]float64{0, 4, -2.5, 1e21, 1e-7, 5e-324, math.Inf(1), math.Inf(-1), math.NaN()}[r.IntN(9)])
	case n == 3:
		v.SetBool(r.maybe())
	case n == 4:
		v.SetEmptyBytes().FromRaw([]byte{0, 1, byte(r.IntN(256))})
	case n == 5:
		// no value
	case n == 6 && depth < 3:
		list := v.SetEmptySlice()
		for range r.IntN(4) {
			r.value(list.AppendEmpty(), depth+1)
		}
	case depth < 3:
		m := v.SetEmptyMap()
		for i := range r.IntN(3) {
			r.value(m.PutEmpty(fmt.Sprint("k", i)), depth+1)
		}
	}
}

// describeTraces returns a text per span, with its resource and scope, sorted. The
// size of an output is left out: a writer states it where it follows from the shape.
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
				for _, m := range []pcommon.Map{r.Resource().Attributes(), scope.Scope().Attributes(), own.Attributes()} {
					sortMap(m)
				}
				for _, l := range own.Links().All() {
					sortMap(l.Attributes())
				}
				text := check.Must((&ptrace.JSONMarshaler{}).MarshalTraces(one))(t)
				texts = append(texts, string(text))
			}
		}
	}
	slices.Sort(texts)
	return texts
}

func sortMap(m pcommon.Map) {
	var keys []string
	for k := range m.All() {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	sorted := pcommon.NewMap()
	for _, k := range keys {
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

// Spans survive conversions to entries and Parquet, and to OTLP itself, with all that
// they had.
func TestConversionsKeepSpans(t *testing.T) {
	for seed := range cases.Some(t, 10, 500) {
		td := (&spans{Rand: rand.New(rand.NewPCG(uint64(seed), 5))}).traces()
		input := filepath.Join(t.TempDir(), "in.json")
		text := check.Must((&ptrace.JSONMarshaler{}).MarshalTraces(td))(t)
		if seed%2 == 1 {
			proto := check.Must((&ptrace.ProtoMarshaler{}).MarshalTraces(td))(t)
			text = proto
		}
		check.OK(t, os.WriteFile(input, text, 0o600))
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
