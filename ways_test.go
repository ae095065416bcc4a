package optrace_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

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
		a.rec.RecordPrepared(a.prepared,
			a.times).Attrs(a.more...).Err(nil).Err(a.err)
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
			!got.SpanContext.IsValid() ||
			got.SpanKind != trace.SpanKindInternal || scope.Name != optrace.ScopeName ||
			scope.Version != optrace.Version {
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
