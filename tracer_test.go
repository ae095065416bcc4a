package optrace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/cases"
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

// Nil pointers and zero values have no effect: every exported method is called with zero arguments.
func TestZeroValuesRecordNothing(t *testing.T) {
	for _, v := range []any{
		(*optrace.Tracer)(nil), new(optrace.Tracer), (*optrace.Prepared)(nil), new(optrace.Prepared),
		(*optrace.Recorder)(nil), new(optrace.Recorder), (*optrace.SDK)(nil), new(optrace.SDK),
		(*optrace.Processor)(nil), new(optrace.Processor),
		(*optrace.Exporter)(nil), new(optrace.Exporter), (*optrace.Queue[*mark])(nil), new(optrace.Queue[*mark]),
		//nolint:staticcheck // a nil context
		optrace.Op{}, new(optrace.SDK).Tracer(), new(optrace.SDK).Processor(), new(optrace.Processor).Recorder(nil),
	} {
		of := reflect.ValueOf(v)
		for i := range of.NumMethod() {
			name := of.Type().Method(i).Name
			t.Run(of.Type().String()+"."+name, func(t *testing.T) {
				method := of.Method(i)
				var args []reflect.Value
				for in := range method.Type().Ins() {
					args = append(args, reflect.Zero(in))
				}
				call := method.Call
				if method.Type().IsVariadic() {
					call = method.CallSlice
				}
				for _, result := range call(args) {
					err, failed := reflect.TypeAssert[error](result)
					if failed && name != "Prepare" && name != "Record" {
						t.Errorf("error %v", err)
					}
				}
			})
		}
	}
	var tr *optrace.Tracer
	prepared := check.Must(tr.Prepare(matmulSpec()))(t)
	now := optrace.Times{Start: 1, End: 2}
	for _, r := range []*optrace.Recorder{nil, new(optrace.Recorder), tr.Recorder(t.Context())} {
		r.Step(1)
		r.Begin("a", "b").In(1).Out(1).DType("f32").Err(errors.New("x")).Attrs(attribute.Int("k", 1)).End()
		r.BeginPrepared(prepared)
		r.Record("a", "b", now)
		r.RecordPrepared(prepared, now).Attrs(attribute.Int("k", 1))
		r.Finish()
	}
	_, o := prepared.Start(t.Context())
	o.End()
	for _, to := range []optrace.Recording{tr, (*optrace.Processor)(nil), new(optrace.Processor)} {
		q := newQueue(t, to)
		q.Launched(q.Begin(t.Context(), prepared), passedAt(1), passedAt(2))
		q.Poll()
		check.Equal(t, fmt.Sprintf("%T", to), optrace.QueueStats{Launched: 1, Skipped: 1}, q.Stats())
		shutdown(t, q)
	}
}

// said is a description of an operation.
type said struct {
	optrace.OpSpec
	step  op.Int
	times optrace.Times
	more  []attribute.KeyValue // in addition to the spec, or replacing it
	err   error
}

func randomSaid(r *rand.Rand) *said {
	s := &said{OpSpec: optrace.OpSpec{Name: "matmul"}, times: optrace.Times{Start: started, End: ended}}
	for _, say := range []func(){
		func() { s.Device = "cuda:0" },
		func() { s.Stream = op.Known(r.Int64N(2)) },
		func() { s.Path = "encoder.0" },
		func() { s.Kind = op.KindCollective },
		func() { s.Inputs = []op.Shape{{64, r.Int64N(3)}, {}, {2}}[r.IntN(3):] },
		func() { s.Output = []op.Shape{{}, {3}, {64, 256}}[r.IntN(3)] },
		func() { s.DType = op.F32 },
		func() { s.FLOPs = op.Known(r.Int64N(2)) },
		func() { s.Attrs = []attribute.KeyValue{attribute.String("k", "v")} },
		func() { s.more = append(s.more, attribute.Int("more", 1), attribute.Int("k", 2)) },
		func() { s.more = append(s.more, tensorconv.DeviceID("cuda:1"), tensorconv.OpFLOPCount(5)) },
		func() { s.more = append(s.more, tensorconv.Step(13)) },
		func() { s.step = op.Known(r.Int64N(2)) },
		func() { s.times.Launch = launched },
		func() { s.err = errors.New("out of memory") },
	} {
		if r.IntN(2) == 0 {
			say()
		}
	}
	return s
}

// attributes returns the attributes of the operation's span, one per key.
func (s *said) attributes() []string {
	all := make(map[attribute.Key]attribute.KeyValue)
	add := func(known bool, a attribute.KeyValue) {
		if known {
			all[a.Key] = a
		}
	}
	var inputs [][]int64
	for _, in := range s.Inputs {
		inputs = append(inputs, in)
	}
	add(true, tensorconv.OpName(s.Name))
	add(s.Device != "", tensorconv.DeviceID(s.Device))
	add(s.Stream.Known, tensorconv.StreamID(s.Stream.V))
	add(s.Path != "", tensorconv.OpPath(s.Path))
	add(s.Kind != op.KindUnknown, tensorconv.OpKind(s.Kind))
	add(s.Inputs != nil, tensorconv.InputShapes(inputs...))
	add(s.Output != nil, tensorconv.OutputShape(s.Output...))
	add(s.DType != "", tensorconv.DType(s.DType))
	add(s.FLOPs.Known, tensorconv.OpFLOPCount(s.FLOPs.V))
	add(s.step.Known, tensorconv.Step(s.step.V))
	add(s.times.Launch != 0, tensorconv.LaunchTime(s.times.Launch))
	for _, a := range slices.Concat(s.Attrs, s.more) {
		add(true, a)
	}
	return texts(slices.Collect(maps.Values(all)))
}

// describer is a running operation.
type describer[O any] interface {
	In(dims ...int64) O
	Out(dims ...int64) O
	DType(d op.DType) O
	Device(id string) O
	Stream(id int64) O
	Kind(k op.Kind) O
	Path(path string) O
	FLOPs(n int64) O
	Attrs(attrs ...attribute.KeyValue) O
	Err(err error) O
}

// sayAll describes o with s, with some wrong values first.
func sayAll[O describer[O]](o O, s *said) {
	for _, in := range s.Inputs {
		o.In(in...)
	}
	if s.Output != nil {
		o.Out(1, 2).Out(s.Output...)
	}
	if s.DType != "" {
		o.DType(op.I8).DType(s.DType)
	}
	if s.Device != "" {
		o.Device("cpu").Device(s.Device)
	}
	if s.Stream.Known {
		o.Stream(s.Stream.V)
	}
	if s.Kind != op.KindUnknown {
		o.Kind(s.Kind)
	}
	if s.Path != "" {
		o.Path(s.Path)
	}
	if s.FLOPs.Known {
		o.FLOPs(7).FLOPs(s.FLOPs.V)
	}
	o.Attrs(s.Attrs...).Attrs(s.more...).Err(nil).Err(s.err)
}

// attempt holds the parts for recording an operation.
type attempt struct {
	*said
	ctx      context.Context
	tracer   *optrace.Tracer
	rec      *optrace.Recorder
	prepared *optrace.Prepared // from the spec
}

// tracerWays and recorderWays are all ways to record an operation. A way removes from said the values it cannot
// express.
var tracerWays = map[string]func(a *attempt){
	"Start": func(a *attempt) {
		_, o := a.tracer.Start(a.ctx, a.Name, a.Device)
		sayAll(o, a.said)
		o.End()
	},
	"StartAt, deprecated": func(a *attempt) {
		_, o := a.tracer.StartAt(a.ctx, a.Name, "", started)
		if a.times.Launch != 0 {
			o.LaunchedAt(a.times.Launch)
		}
		sayAll(o, a.said)
		o.EndAt(ended)
		o.End()
		o.EndAt(ended + 1)
	},
	"Prepared.Start": func(a *attempt) {
		_, o := a.prepared.Start(a.ctx)
		sayAll(o, a.said)
		o.End()
	},
	"Prepared.StartAt, deprecated": func(a *attempt) {
		a.times.Launch = 0
		_, o := a.prepared.StartAt(a.ctx, started)
		o.Attrs(a.more...).Err(nil).Err(a.err).EndAt(ended)
		o.End()
		o.EndAt(ended + 1)
	},
	"Prepared.Record": func(a *attempt) {
		a.err = nil
		a.prepared.Record(a.ctx, a.times, a.more...)
	},
	"Record, deprecated": func(a *attempt) {
		a.more = nil
		a.err = nil
		_ = a.tracer.Record(a.ctx, a.OpSpec, a.times) // said is valid
	},
}

var recorderWays = map[string]func(a *attempt){
	"Begin":         func(a *attempt) { sayAll(a.rec.Begin(a.Name, a.Device), a.said) },
	"BeginPrepared": func(a *attempt) { a.rec.BeginPrepared(a.prepared).Attrs(a.more...).Err(nil).Err(a.err) },
	"Record":        func(a *attempt) { sayAll(a.rec.Record(a.Name, "", a.times), a.said) },
	"BeginPrepared, other than expected": func(a *attempt) {
		expected := a.OpSpec
		if expected.Inputs != nil {
			expected.Inputs = []op.Shape{{8}}
		}
		if expected.Device != "" && expected.DType != "" {
			expected.Device = "cuda:9"
			expected.DType = op.F16
		}
		if expected.Output != nil && expected.FLOPs.Known {
			expected.Output = op.Shape{8}
			expected.FLOPs = op.Known(9)
		}
		prepared, _ := a.tracer.Prepare(expected) // the spec is valid
		sayAll(a.rec.BeginPrepared(prepared), a.said)
	},
	"Begin and End": func(a *attempt) {
		a.rec.Begin(a.Name, "").End()
		sayAll(a.rec, a.said)
	},
	"RecordPrepared": func(a *attempt) {
		a.rec.RecordPrepared(a.prepared, a.times).Attrs(a.more...).Err(nil).Err(a.err)
	},
}

// Every way to record gives the same span for the same description, even after the end of its request.
func TestEveryWay(t *testing.T) {
	for name, record := range tracerWays {
		checkWay(t, name, func(a *attempt, _ *optrace.Processor) { record(a) })
	}
	for name, record := range recorderWays {
		among := func(a *attempt, rec *optrace.Recorder) { // neighbors leave no trace
			a.rec = rec
			a.rec.In(9).Out(9).DType(op.F32).Device("x").FLOPs(9).Attrs(attribute.Int("k",
				9)).Err(errors.New("no operation"))
			a.rec.Begin("before", "cpu").In(7).Out(7).Path("before")
			record(a)
			a.rec.Begin("after", "cpu").In(7).Out(7).Path("after").Err(errors.New("boom"))
			a.rec.Finish()
		}
		checkWay(t, name+" of a Tracer", func(a *attempt, _ *optrace.Processor) { among(a, a.tracer.Recorder(a.ctx)) })
		checkWay(t, name+" of a Processor", func(a *attempt, p *optrace.Processor) { among(a, p.Recorder(a.ctx)) })
	}
}

func checkWay(t *testing.T, name string, record func(a *attempt, p *optrace.Processor)) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for range cases.Count(t, 50, 300) {
		spans := &spantest.Exporter{}
		p := newForwarder(t, spans)
		tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
		ctx, request := tp.Tracer("app").Start(t.Context(), "request")
		request.End()
		a := &attempt{said: randomSaid(r), ctx: ctx, tracer: optrace.NewTracer(tp)}
		if !strings.Contains(name, "At") && !strings.Contains(name, "Record") {
			a.times = optrace.Times{}
		}
		if a.step.Known {
			a.ctx = optrace.ContextWithStep(ctx, a.step.V)
		}
		a.prepared = prepare(t, a.tracer, a.OpSpec)
		record(a, p)
		shutdown(t, tp)

		stubs := spans.Stubs()
		got := stubs[slices.IndexFunc(stubs, func(s tracetest.SpanStub) bool { return s.Name == a.Name })]
		check.Equal(t, name+": attributes", a.attributes(), texts(got.Attributes))
		status := sdktrace.Status{}
		if a.err != nil {
			status = sdktrace.Status{Code: codes.Error, Description: a.err.Error()}
		}
		check.Equal(t, name+": status", status, got.Status)
		begin := got.StartTime.UnixNano()
		end := got.EndTime.UnixNano()
		if end < begin || a.times.Start != 0 && (begin != started || end != ended) {
			t.Errorf("%s: from %d to %d", name, begin, end)
		}
		if scope := got.InstrumentationScope; got.Parent.SpanID() != request.SpanContext().SpanID() ||
			!got.SpanContext.IsValid() || got.SpanKind != trace.SpanKindInternal ||
			scope.Name != optrace.ScopeName || scope.Version != optrace.Version {
			t.Errorf("%s: span %+v", name, got)
		}
	}
}

// Deprecated names still compile and work.
func TestDeprecatedNames(t *testing.T) {
	proc := newProcessor(t, newExporter(t, io.Discard), optrace.WithBufferBytes(leastBytes))
	func(_ optrace.CacheOption, _ optrace.TracerOption, _ optrace.PreparedOp, f *optrace.FlightRecorder) {
		f.Expect(t.Context())
	}(optrace.WithCacheBytes(0), optrace.WithStartAttributes(), optrace.Op{}, proc)
	q := newQueue(t, proc, []optrace.QueueOption{optrace.WithQueuePolicy(optrace.PolicyBlock)}...)
	shutdown(t, q)
	shutdown(t, proc)
}
