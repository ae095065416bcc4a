package optrace_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// recordSpans returns the spans made by f.
func recordSpans(t *testing.T, f func(tr *optrace.Tracer), opts ...optrace.SetupOption) tracetest.SpanStubs {
	t.Helper()
	exp := tracetest.NewInMemoryExporter()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exp))
	f(optrace.NewTracer(tp, opts...))
	spans := exp.GetSpans()
	shutdown(t, tp)
	return spans
}

// texts returns attributes as sorted texts.
func texts(attrs []attribute.KeyValue) []string {
	var all []string
	for _, kv := range attrs {
		all = append(all, string(kv.Key)+"="+kv.Value.String())
	}
	slices.Sort(all)
	return all
}

// An ended operation does not change the operation that reuses its state.
func TestOpAfterEnd(t *testing.T) {
	spans := recordSpans(t, func(tr *optrace.Tracer) {
		_, old := tr.Start(t.Context(), "old", "")
		old.In(1).End()
		for range 100 {
			_, o := tr.Start(t.Context(), "new", "")
			old.In(6).Out(6).DType(op.I8).Attrs(attribute.Int("old", 1)).Err(errors.New("old"))
			old.End()
			o.In(2).End()
			old.In(7).End()
		}
	})
	if len(spans) != 101 {
		t.Fatalf("%d spans, want 101", len(spans))
	}
	for _, s := range spans[1:] {
		diff := cmp.Diff([]string{"tensor.input.shapes=[[2]]", "tensor.op.name=new"}, texts(s.Attributes))
		if diff != "" {
			t.Fatalf("attributes (-want +got):\n%s", diff)
		}
	}
}

// An operation without a recorded span has no effect.
func TestOpNotRecording(t *testing.T) {
	never := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	for _, tr := range []*optrace.Tracer{optrace.NewTracer(nil, nil),
		optrace.NewTracer(never, optrace.WithStartAttributes())} {
		ctx, o := tr.Start(nil, "a", "cpu") //nolint:staticcheck // a nil context
		o.In(1).Out(2).DType(op.F32).Err(errors.New("x")).Attrs(tensorconv.Step(1)).End()
		_, p := prepare(t, tr, optrace.OpSpec{Name: "a"}).Start(ctx)
		p.Err(errors.New("x")).Attrs(tensorconv.Step(1)).End()
		if o.Span().AddEvent("event"); o.Span().IsRecording() || p.Span().IsRecording() {
			t.Error("an operation is recorded")
		}
	}
}

// spySampler keeps the attributes seen by the sampler.
type spySampler struct{ seen []string }

func (s *spySampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	s.seen = append(s.seen, p.Name+" "+fmt.Sprint(texts(p.Attributes)))
	return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
}

func (*spySampler) Description() string { return "spy" }

func TestWithStartAttributes(t *testing.T) {
	spy := &spySampler{}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(spy))
	for _, opts := range [][]optrace.SetupOption{nil, {optrace.WithStartAttributes()}} {
		_, o := optrace.NewTracer(tp, opts...).Start(t.Context(), "a", "cpu")
		o.End()
	}
	sdk := setup(t, filepath.Join(t.TempDir(), "ops.jsonl"), optrace.WithSampler(spy), optrace.WithStartAttributes())
	_, o := sdk.Tracer().Start(t.Context(), "a", "cpu")
	o.End()
	shutdown(t, sdk)
	want := []string{"a []", "a [tensor.device.id=cpu tensor.op.name=a]", "a [tensor.device.id=cpu tensor.op.name=a]"}
	check.Equal(t, "what samplers see", want, spy.seen)
}

// An unused Tracer is small.
func TestTracerSize(t *testing.T) {
	if n := unsafe.Sizeof(optrace.Tracer{}); n > 256 {
		t.Errorf("a Tracer takes %d bytes", n)
	}
}

// Excess inputs and dimensions are recorded up to one above the readers' limit, so that readers warn. Attributes of the
// conventions come first, because the SDK keeps 128.
func TestTracerLimits(t *testing.T) {
	spans := recordSpans(t, func(tr *optrace.Tracer) {
		_, o := tr.Start(t.Context(), "concat", "")
		for range 3000 {
			o.In(2)
		}
		o.Out(make([]int64, 100)...).End()
		_, o = tr.Start(t.Context(), "custom", "")
		for i := range 200 {
			o.Attrs(attribute.Int(fmt.Sprint("k", i), i))
		}
		o.In(1).Out(2).End()
	})
	rec := optrace.NewTracer(nil).Recorder(t.Context())
	rec.Begin("concat", "").Out(make([]int64, 100)...)
	for range 3000 {
		rec.In(2)
	}
	rec.End()
	entries := spantest.ReadWhole(t, exported(t, optrace.FormatEntries, spans.Snapshots())).Entries
	for _, e := range []*op.Entry{entries[0], &rec.Current()[0]} {
		if len(e.InputShapes) != op.MaxInputs || len(e.OutputShape) != op.MaxRank ||
			e.Warn&op.WarnShapeTruncated == 0 || e.Validate() != nil {
			t.Errorf("%d inputs, an output of rank %d, warnings %b", len(e.InputShapes), len(e.OutputShape), e.Warn)
		}
	}
	e := entries[1]
	if e.Operation != "custom" || len(e.InputShapes) != 1 || e.OutputShape == nil || e.DroppedAttributes == 0 {
		t.Errorf("under the SDK's limit the entry is %+v", e)
	}
}

func prepare(tb testing.TB, tr *optrace.Tracer, spec optrace.OpSpec) *optrace.Prepared {
	tb.Helper()
	return check.Must(tr.Prepare(spec))(tb)
}

func TestPrepareErrors(t *testing.T) {
	tr := optrace.NewTracer(nil)
	for want, spec := range map[string]optrace.OpSpec{
		"preparing an operation: no name":      {Device: "cpu"},
		"preparing a: shape [-2] has a":        {Name: "a", Inputs: []op.Shape{{1}, {-2}}},
		"preparing a: shape [-7] has a":        {Name: "a", Output: op.Shape{-7}},
		"tensor.op.flop_count is negative: -1": {Name: "a", FLOPs: op.Known(-1)},
		"tensor.stream.id is negative: -2":     {Name: "a", Stream: op.Known(-2)},
		"tensor.memory.size is negative: -3":   {Name: "a", Attrs: []attribute.KeyValue{tensorconv.MemorySize(-3)}},
		"tensor.op.flop_count is negative: -4": {
			Name: "a", FLOPs: op.Known(5), Attrs: []attribute.KeyValue{tensorconv.OpFLOPCount(-4)},
		},
		"preparing matmul: shapes [64 784] and [32 256] cannot be multiplied": {
			Name: "matmul", Inputs: []op.Shape{{64, 784}, {32, 256}},
		},
	} {
		p, err := tr.Prepare(spec)
		check.Says(t, "error", want, err)
		if p != nil {
			t.Errorf("%s: there is an operation", want)
		}
	}
	// Prepare copies its argument.
	inputs := []op.Shape{{2, 3}}
	attrs := []attribute.KeyValue{attribute.Int("k", 1)}
	spans := recordSpans(t, func(tr *optrace.Tracer) {
		p := prepare(t, tr, optrace.OpSpec{Name: "a", Inputs: inputs, Attrs: attrs})
		inputs[0][0] = 99
		attrs[0] = attribute.Int("k", 99)
		preparedOp(p)
	})
	want := []string{"k=1", "tensor.input.shapes=[[2,3]]", "tensor.op.name=a"}
	check.Equal(t, "attributes", want, texts(spans[0].Attributes))
}

// Operations prepared separately share the memory of equal shapes, so that exporters recognize them.
func TestPrepareSharesShapes(t *testing.T) {
	spec := matmulSpec()
	spans := recordSpans(t, func(tr *optrace.Tracer) {
		for i := range 2 {
			spec.Device = fmt.Sprint("cuda:", i)
			preparedOp(prepare(t, tr, spec))
		}
		dynamicOp(tr, 64)
	})
	for _, key := range []attribute.Key{tensorconv.InputShapesKey, tensorconv.OutputShapeKey} {
		var seen []attribute.KeyValue
		for _, s := range spans {
			i := slices.IndexFunc(s.Attributes, func(kv attribute.KeyValue) bool { return kv.Key == key })
			seen = append(seen, s.Attributes[i])
		}
		for _, kv := range seen[1:] {
			if memory(kv) != memory(seen[0]) {
				t.Errorf("%s has been built more than once", key)
			}
		}
	}
}

// Each span has the prepared attributes and its own, with several goroutines recording one prepared operation.
func TestPreparedConcurrentSafe(t *testing.T) {
	const goroutines, each = 4, 400
	spans := recordSpans(t, func(tr *optrace.Tracer) {
		p := prepare(t, tr, optrace.OpSpec{Name: "a", Device: "cpu"})
		atOnce(goroutines, func(g int) {
			for i := range int64(each) {
				n := 1 + int64(g)*each + i
				ctx := t.Context()
				further := []attribute.KeyValue{attribute.Int64("w", n), attribute.Int64("x", n),
					attribute.Int64("y", n)}
				if n%3 > 0 {
					ctx = optrace.ContextWithStep(ctx, n)
				}
				p.Record(ctx, optrace.Times{Start: n, End: n, Launch: n * (n % 2)}, further[:i%4]...)
			}
		})
	})
	if len(spans) != goroutines*each {
		t.Fatalf("%d spans", len(spans))
	}
	for _, s := range spans {
		n := s.StartTime.UnixNano()
		want := []string{"tensor.device.id=cpu", "tensor.op.name=a"}
		add := func(known bool, key string) {
			if known {
				want = append(want, fmt.Sprintf("%s=%d", key, n))
			}
		}
		i := (n - 1) % each
		add(n%2 > 0, string(tensorconv.LaunchTimeKey))
		add(n%3 > 0, string(tensorconv.StepKey))
		for k, key := range []string{"w", "x", "y"} {
			add(int64(k) < i%4, key)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, texts(s.Attributes)); diff != "" {
			t.Fatalf("operation %d (-want +got):\n%s", n, diff)
		}
	}
}

// memory returns the bytes of kv with its pointers.
func memory(kv attribute.KeyValue) [unsafe.Sizeof(attribute.KeyValue{})]byte {
	return *(*[unsafe.Sizeof(attribute.KeyValue{})]byte)(unsafe.Pointer(&kv))
}
