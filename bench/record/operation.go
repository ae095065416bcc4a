package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// The sides of the suites on single operations.
const (
	sdkSpan     = "SDK span"
	prepared    = "prepared op"
	dynamic     = "dynamic op"
	recorder    = "Recorder"
	recorderAll = "Recorder with encoding"

	// Recording after the fact, with the times of a device and of the launch.
	sdkAfter      = "SDK span with timestamps"
	preparedAfter = "prepared op, recorded"
	recorderAfter = "Recorder, recorded"
)

// operationSuite compares the cost of one operation to the application. All spans
// are sampled, and each provider has a processor that does nothing.
func operationSuite() []measure.Measure {
	cases := measure.Over(measure.Suite{Name: "recording", Unit: "op", Rounds: 61, QuickRounds: 15}, sets, openOperations)
	of := func(name string, target float64, peer, ours, limit string, allocs *measure.AllocTarget) measure.Measure {
		return measure.Measure{Name: name, Target: target, Cases: cases(peer, ours), Limit: limit, Allocs: allocs}
	}
	none := func(extra bool) *measure.AllocTarget {
		return &measure.AllocTarget{Per: 1, PerName: "op", Extra: extra}
	}
	const limitPeer = "the SDK's span: 1 is the limit"
	return []measure.Measure{
		of("start_end_vs_sdk", 0.95, sdkSpan, prepared, limitPeer, none(true)),
		of("start_end_dynamic_vs_sdk", 0.87, sdkSpan, dynamic, "the SDK's span; collecting attributes, finding shapes in a cache", nil),
		of("recorder_vs_sdk", 10, sdkSpan, recorder, "two readings of the clock", none(false)),
		of("recorder_total_vs_sdk", 3, sdkSpan, recorderAll, "encoding: ids, numbers, copying text", nil),
		of("record_after_vs_sdk", 1, sdkAfter, preparedAfter, limitPeer, none(true)),
		of("record_after_recorder_vs_sdk", 15, sdkAfter, recorderAfter, "memory for the operation", none(false)),
	}
}

const opsPerRound = 10_000

// operations records the operations of a set in different ways.
type operations struct {
	set       *set
	ops       []operation
	byHand    trace.Tracer
	ours      *optrace.Tracer
	preps     []*optrace.Prepared
	nothing   *optrace.Processor // without an exporter
	processor *optrace.Processor
}

func openOperations(_ context.Context, env *measure.Env, s *set) (*measure.Opened, error) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(noopProcessor{}))
	w := &operations{set: s, ops: s.ops(), byHand: provider.Tracer("by hand"), ours: optrace.NewTracer(provider)}
	var errs [3]error
	w.preps, errs[0] = prepareAll(w.ours, w.ops)
	w.nothing, errs[1] = newProcessor(optrace.WithPolicy(optrace.PolicyBlock))
	w.processor, errs[2] = newProcessor(optrace.WithPolicy(optrace.PolicyBlock)) // encoding waits for the writer if that is slower
	err := errors.Join(errs[:]...)
	if err == nil {
		err = w.nothing.Shutdown(context.Background()) // then it takes nothing
	}
	if err != nil {
		return nil, fmt.Errorf("making the providers: %w", err)
	}
	open := &measure.Opened{
		Sides: map[string]measure.Side{},
		After: func(context.Context) (map[string]float64, error) { return nil, w.lossless() },
		Close: func() error {
			return errors.Join(w.processor.Shutdown(context.Background()), provider.Shutdown(context.Background()))
		},
	}
	n := env.Size(opsPerRound, opsPerRound)
	for name, work := range w.sides() {
		open.Sides[name] = func(ctx context.Context) (measure.Sample, error) {
			return measure.Timed(int64(n), func() error { return work(ctx, n) })
		}
	}
	return open, nil
}

// newProcessor returns a Processor in front of an Exporter to nowhere.
func newProcessor(opts ...optrace.ProcessorOption) (*optrace.Processor, error) {
	exp, err := optrace.NewExporter(io.Discard)
	if err != nil {
		return nil, err
	}
	return optrace.NewProcessor(exp, opts...)
}

func prepareAll(t *optrace.Tracer, ops []operation) ([]*optrace.Prepared, error) {
	preps := make([]*optrace.Prepared, len(ops))
	for i, o := range ops {
		var err error
		if preps[i], err = t.Prepare(o.OpSpec); err != nil {
			return nil, err
		}
	}
	return preps, nil
}

// sides returns functions that record n operations.
func (w *operations) sides() map[string]func(ctx context.Context, n int) error {
	// spans records operations as spans.
	spans := func(record func(ctx context.Context, r *run, i int)) func(context.Context, int) error {
		r := newRun(w.set, w.ops, w.byHand, 0)
		return func(ctx context.Context, n int) error {
			r.each(ctx, n, func(ctx context.Context, i int) { record(ctx, r, i) })
			return nil
		}
	}
	after := func(record func(ctx context.Context, r *run, i int, t optrace.Times)) func(context.Context, int) error {
		r := newRun(w.set, w.ops, w.byHand, 0)
		at := time.Now().UnixNano() // times that count up, as those of a device do
		return func(ctx context.Context, n int) error {
			r.each(ctx, n, func(ctx context.Context, i int) {
				at += 10_000
				record(ctx, r, i, optrace.Times{Start: at, End: at + 9_000, Launch: at - 50_000})
			})
			return nil
		}
	}
	attrs := make([][]attribute.KeyValue, len(w.ops))
	afterwards := w.nothing.Recorder(context.Background())
	recordAfter := after(func(_ context.Context, r *run, i int, t optrace.Times) {
		r.turn(afterwards)
		afterwards.RecordPrepared(w.preps[i], t)
	})
	encoded := w.recorded(w.processor, len(w.ops) > 1)
	return map[string]func(context.Context, int) error{
		// The cheapest span by hand: attributes made before, set with one call.
		sdkSpan: spans(func(ctx context.Context, r *run, i int) {
			_, span := w.byHand.Start(ctx, w.ops[i].Name)
			span.SetAttributes(r.attrs(i)...)
			span.End()
		}),
		prepared: spans(func(ctx context.Context, _ *run, i int) {
			_, o := w.preps[i].Start(ctx)
			o.End()
		}),
		dynamic: spans(func(ctx context.Context, r *run, i int) { w.dynamic(ctx, r.inStep, i) }),
		// The launch time takes a place of its own in the attributes made before.
		sdkAfter: after(func(ctx context.Context, r *run, i int, t optrace.Times) {
			attrs[i] = append(append(attrs[i][:0], r.attrs(i)...), tensorconv.LaunchTime(t.Launch))
			_, span := w.byHand.Start(ctx, w.ops[i].Name, trace.WithTimestamp(time.Unix(0, t.Start)))
			span.SetAttributes(attrs[i]...)
			span.End(trace.WithTimestamp(time.Unix(0, t.End)))
		}),
		preparedAfter: after(func(ctx context.Context, _ *run, i int, t optrace.Times) { w.preps[i].Record(ctx, t) }),
		recorderAfter: func(ctx context.Context, n int) error {
			defer afterwards.Finish()
			return recordAfter(ctx, n)
		},
		recorder: w.recorded(w.nothing, len(w.ops) > 1),
		recorderAll: func(ctx context.Context, n int) error {
			return errors.Join(encoded(ctx, n), w.processor.ForceFlush(ctx)) // the last entry is with the writer
		},
	}
}

// batchSizes is how many sizes of its first dimension a single operation comes with
// where shapes are known at run time only.
const batchSizes = 64

func (w *operations) dynamic(ctx context.Context, n, i int) {
	s := &w.ops[i]
	_, o := w.ours.Start(ctx, s.Name, s.Device)
	if len(w.ops) == 1 {
		rows := int64(1 + n%batchSizes)
		o.DType(op.F32).In(rows, inner).In(inner, columns).Out(rows, columns).End()
		return
	}
	o.DType(s.DType).Attrs(s.extra...)
	for _, shape := range s.Inputs {
		o.In(shape...)
	}
	o.Out(s.Output...).End()
}

// recorded returns a function that records with a Recorder of p. Where operations
// are not prepared, each states its shapes.
func (w *operations) recorded(p *optrace.Processor, prepared bool) func(context.Context, int) error {
	r := newRun(w.set, w.ops, w.byHand, 0)
	rec := p.Recorder(context.Background())
	return func(ctx context.Context, n int) error {
		r.each(ctx, n, func(_ context.Context, i int) {
			r.turn(rec)
			if prepared {
				rec.BeginPrepared(w.preps[i])
				return
			}
			s := &w.ops[i]
			rec.Begin(s.Name, s.Device).DType(s.DType)
			if s.Path != "" {
				rec.Attrs(tensorconv.StreamID(s.Stream.V), tensorconv.OpPath(s.Path), tensorconv.OpKind(s.Kind))
			}
			for _, shape := range s.Inputs {
				rec.In(shape...)
			}
			rec.Out(s.Output...).End()
		})
		rec.Finish()
		return nil
	}
}

// lossless returns an error if an operation that was to be encoded is not.
func (w *operations) lossless() error {
	if st := w.processor.Stats(); st.Dropped > 0 || st.Written != st.Recorded {
		return fmt.Errorf("of %d operations of the Recorder %d were written and %d dropped", st.Recorded, st.Written, st.Dropped)
	}
	return nil
}

type noopProcessor struct{}

func (noopProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (noopProcessor) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (noopProcessor) Shutdown(context.Context) error                  { return nil }
func (noopProcessor) ForceFlush(context.Context) error                { return nil }
