package optrace_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

func prepare(tb testing.TB, tr *optrace.Tracer, spec optrace.OpSpec) *optrace.Prepared {
	tb.Helper()
	p, err := tr.Prepare(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestPrepareErrors(t *testing.T) {
	tr := optrace.NewTracer(nil)
	for name, spec := range map[string]optrace.OpSpec{
		"no name":         {Device: "cpu"},
		"negative input":  {Name: "a", Inputs: []op.Shape{{1}, {-2}}},
		"negative output": {Name: "a", Output: op.Shape{-7}},
	} {
		if p, err := tr.Prepare(spec); err == nil || p != nil {
			t.Errorf("%s: Prepare succeeds", name)
		}
	}
	// What it was made of may change afterwards.
	inputs, attrs := []op.Shape{{2, 3}}, []attribute.KeyValue{attribute.Int("k", 1)}
	spans := recordSpans(t, func(tr *optrace.Tracer) {
		p := prepare(t, tr, optrace.OpSpec{Name: "a", Inputs: inputs, Attrs: attrs})
		inputs[0][0], attrs[0] = 99, attribute.Int("k", 99)
		_, o := p.Start(t.Context())
		o.End()
	})
	want := []string{"k=1", "tensor.input.shapes=[[2,3]]", "tensor.op.name=a"}
	if diff := cmp.Diff(want, texts(spans[0].Attributes)); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

// Operations that are prepared separately share the memory of equal shapes, by which exporters know them again.
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

// Whatever several goroutines add to the prepared attributes of one operation at once, each of
// its spans has the prepared ones and its own.
func TestPreparedConcurrentSafe(t *testing.T) {
	const goroutines, each = 4, 400
	spans := recordSpans(t, func(tr *optrace.Tracer) {
		p := prepare(t, tr, optrace.OpSpec{Name: "a", Device: "cpu"})
		var wg sync.WaitGroup
		for g := range int64(goroutines) {
			wg.Go(func() {
				for i := range int64(each) {
					n := 1 + g*each + i
					ctx, further := t.Context(), []attribute.KeyValue{attribute.Int64("w", n), attribute.Int64("x", n), attribute.Int64("y", n)}
					if n%3 > 0 {
						ctx = optrace.ContextWithStep(ctx, n)
					}
					p.Record(ctx, optrace.Times{Start: n, End: n, Launch: n * (n % 2)}, further[:i%4]...)
				}
			})
		}
		wg.Wait()
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

// memory returns the bytes of kv, pointers included.
func memory(kv attribute.KeyValue) [unsafe.Sizeof(attribute.KeyValue{})]byte {
	return *(*[unsafe.Sizeof(attribute.KeyValue{})]byte)(unsafe.Pointer(&kv))
}

// Prepare returns nil with an error, which must not end the program when it is ignored.
func TestPreparedNil(t *testing.T) {
	var none *optrace.Prepared
	ctx, o := none.Start(t.Context())
	o.Attrs(attribute.Int("k", 1)).End()
	if ctx == nil {
		t.Error("Start returns no context")
	}
	rec := optrace.NewTracer(nil).Recorder(t.Context())
	rec.BeginPrepared(none).Out(2).End()
	if e := rec.Current().Entries[0]; e.Operation != "unknown" {
		t.Errorf("the operation is called %q", e.Operation)
	}
}
