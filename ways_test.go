package optrace_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// said is what is said of an operation.
type said struct {
	optrace.OpSpec
	step  op.Int
	times optrace.Times
	more  []attribute.KeyValue // beside what the spec says, or instead of it
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
		func() { s.Output = []op.Shape{{}, {64, 256}}[r.IntN(2)] },
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

// attributes returns the attributes of the operation's span, of which each key is there once.
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

// describer is an operation of type O under way.
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

// sayAll says what s has, some of it wrong at first.
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

// tracerWays are the ways to record one operation with a Tracer, those whose names end in "At" or "Record" at its times. What
// a way cannot say it takes out of s.
var tracerWays = map[string]func(ctx context.Context, tr *optrace.Tracer, prepared *optrace.Prepared, s *said){
	"Start": func(ctx context.Context, tr *optrace.Tracer, _ *optrace.Prepared, s *said) {
		s.times = optrace.Times{}
		_, o := tr.Start(ctx, s.Name, s.Device)
		sayAll(o, s)
		o.End()
	},
	"StartAt": func(ctx context.Context, tr *optrace.Tracer, _ *optrace.Prepared, s *said) {
		_, o := tr.StartAt(ctx, s.Name, "", s.times.Start)
		if s.times.Launch != 0 {
			o.LaunchedAt(s.times.Launch)
		}
		sayAll(o, s)
		o.EndAt(s.times.End)
		o.End()
		o.EndAt(s.times.End + 1)
	},
	"Prepared.Start": func(ctx context.Context, _ *optrace.Tracer, prepared *optrace.Prepared, s *said) {
		s.times = optrace.Times{}
		_, o := prepared.Start(ctx)
		o.Attrs(s.more...).Err(nil).Err(s.err).End()
	},
	"Prepared.StartAt": func(ctx context.Context, _ *optrace.Tracer, prepared *optrace.Prepared, s *said) {
		s.times.Launch = 0
		_, o := prepared.StartAt(ctx, s.times.Start)
		o.Attrs(s.more...).Err(nil).Err(s.err).EndAt(s.times.End)
		o.End()
		o.EndAt(s.times.End + 1)
	},
	"Prepared.Record": func(ctx context.Context, _ *optrace.Tracer, prepared *optrace.Prepared, s *said) {
		s.err = nil
		prepared.Record(ctx, s.times, s.more...)
	},
	"Record": func(ctx context.Context, tr *optrace.Tracer, _ *optrace.Prepared, s *said) {
		s.more, s.err = nil, nil
		_ = tr.Record(ctx, s.OpSpec, s.times) // which returns an error where the spec is wrong
	},
}

// recorderWays are those with a Recorder.
var recorderWays = map[string]func(rec *optrace.Recorder, prepared *optrace.Prepared, s *said){
	"Begin": func(rec *optrace.Recorder, _ *optrace.Prepared, s *said) {
		s.times = optrace.Times{}
		sayAll(rec.Begin(s.Name, s.Device), s)
	},
	"Begin and End": func(rec *optrace.Recorder, _ *optrace.Prepared, s *said) {
		s.times = optrace.Times{}
		rec.Begin(s.Name, "").End()
		sayAll(rec, s)
	},
	"BeginPrepared": func(rec *optrace.Recorder, prepared *optrace.Prepared, s *said) {
		s.times = optrace.Times{}
		rec.BeginPrepared(prepared).Attrs(s.more...).Err(nil).Err(s.err)
	},
	"BeginPrepared, other than expected": func(rec *optrace.Recorder, prepared *optrace.Prepared, s *said) {
		s.times = optrace.Times{}
		sayAll(rec.BeginPrepared(prepared), s)
	},
	"Record": func(rec *optrace.Recorder, _ *optrace.Prepared, s *said) {
		sayAll(rec.Record(s.Name, "", s.times), s)
	},
	"RecordPrepared": func(rec *optrace.Recorder, prepared *optrace.Prepared, s *said) {
		rec.RecordPrepared(prepared, s.times).Attrs(s.more...).Err(nil).Err(s.err)
	},
}

// Every way to record gives the same span of what is said of an operation, also when its request has ended before.
func TestEveryWay(t *testing.T) {
	for name, record := range tracerWays {
		checkWay(t, name, func(ctx context.Context, tr *optrace.Tracer, _ *optrace.Processor, prepared *optrace.Prepared, s *said) {
			record(ctx, tr, prepared, s)
		})
	}
	for name, record := range recorderWays {
		among := func(rec *optrace.Recorder, prepared *optrace.Prepared, s *said) { // others, of which nothing stays
			rec.In(9).Out(9).DType(op.F32).Device("x").FLOPs(9).Attrs(attribute.Int("k", 9)).Err(errors.New("no operation"))
			rec.Begin("before", "cpu").In(7).Out(7).Path("before")
			record(rec, prepared, s)
			rec.Begin("after", "cpu").In(7).Out(7).Path("after").Err(errors.New("boom"))
			rec.Finish()
		}
		checkWay(t, "Tracer.Recorder, "+name,
			func(ctx context.Context, tr *optrace.Tracer, _ *optrace.Processor, prepared *optrace.Prepared, s *said) {
				among(tr.Recorder(ctx), prepared, s)
			})
		checkWay(t, "Processor.Recorder, "+name,
			func(ctx context.Context, _ *optrace.Tracer, p *optrace.Processor, prepared *optrace.Prepared, s *said) {
				among(p.Recorder(ctx), prepared, s)
			})
	}
}

func checkWay(
	t *testing.T, name string, record func(ctx context.Context, tr *optrace.Tracer, p *optrace.Processor, prepared *optrace.Prepared, s *said),
) {
	t.Run(name, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for range cases.Count(t, 50, 300) {
			s := randomSaid(r)
			spans := &spantest.Exporter{}
			p := newForwarder(t, spans)
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p))
			tr := optrace.NewTracer(tp)
			ctx, request := tp.Tracer("app").Start(t.Context(), "request")
			request.End()
			if s.step.Known {
				ctx = optrace.ContextWithStep(ctx, s.step.V)
			}
			record(ctx, tr, p, prepare(t, tr, s.OpSpec), s)
			shutdown(t, tp)
			stubs := spans.Stubs()
			got := stubs[slices.IndexFunc(stubs, func(span tracetest.SpanStub) bool { return span.Name == s.Name })]
			check.Equal(t, "attributes", s.attributes(), texts(got.Attributes))
			want := sdktrace.Status{}
			if s.err != nil {
				want = sdktrace.Status{Code: codes.Error, Description: s.err.Error()}
			}
			check.Equal(t, "status", want, got.Status)
			if s.times.Start != 0 && (got.StartTime.UnixNano() != started || got.EndTime.UnixNano() != ended) || got.EndTime.Before(got.StartTime) {
				t.Errorf("it lasts from %v to %v", got.StartTime, got.EndTime)
			}
			if got.Parent.SpanID() != trace.SpanContextFromContext(ctx).SpanID() || !got.SpanContext.IsValid() ||
				got.SpanKind != trace.SpanKindInternal || got.InstrumentationScope.Name != optrace.ScopeName ||
				got.InstrumentationScope.Version != optrace.Version {
				t.Errorf("span %+v", got)
			}
		}
	})
}
